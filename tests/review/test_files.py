"""Where a field of a stack stands: also one that the experiment sets for an environment alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import ROOT
from trainform.review.files import stack_files
from trainform.review.forms.document import located
from trainform.review.model import Place
from trainform.spec.stack import Stack

EXPERIMENT = """\
name: resnet
image: registry.example.com/ai/pytorch-training:2.8
launcher: {command: [python, /app/train.py]}
roles: {node: {replicas: 2}}
environments:
  dev: {roles: {node: {replicas: 4}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("experiments", "environments"):
        (tmp_path / "stacks" / folder).mkdir(parents=True)
    (tmp_path / "stacks/experiments/resnet.yaml").write_text(EXPERIMENT)
    (tmp_path / "stacks/environments/dev.yaml").write_bytes((ROOT / "stacks/environments/dev.yaml").read_bytes())
    return tmp_path


def test_a_field_of_an_overlay_has_its_path_there_and_its_line(project: Path) -> None:
    files = stack_files(Stack("resnet", "dev", 1), project)
    file = "stacks/experiments/resnet.yaml"
    place = Place(path="roles.node.replicas", file=file, line=6, origin="environments.dev.roles.node.replicas")
    assert files.locate("roles.node.replicas") == place
    assert located(place) == f"roles.node.replicas (environments.dev.roles.node.replicas, {file}:6)"
    assert files.locate("image") == Place(path="image", file=file, line=2)


@pytest.mark.parametrize(("written", "line"), [("  trainform:run: 2\n", 4), ("", 1)])
def test_the_run_stands_in_the_file_of_the_stack(project: Path, written: str, line: int) -> None:
    config = f"config:\n  trainform:environment: dev\n  trainform:experiment: resnet\n{written}"
    (project / "stacks/Pulumi.resnet.dev.yaml").write_text(config)
    files = stack_files(Stack("resnet", "dev", 2), project, "resnet.dev")
    expected = Place(path="run", file="stacks/Pulumi.resnet.dev.yaml", line=line, origin="trainform:run")
    assert files.locate("run") == expected
