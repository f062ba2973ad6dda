"""docs/reference/components.md: every component with a text for all that goes in and comes out, and an example that
runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import trainform
from tests.support.repository import ROOT
from tools.docs.components import EXAMPLES, TEST_EXAMPLE, components_page, input_texts, outputs, parameters

# As the page says: mocks in the place of an engine and a cluster, and a secret of the stack.
MOCKED = """\
import json
import sys

import pulumi


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return [f"{args.name}-id", args.inputs]

    def call(self, args):
        return {}


pulumi.runtime.set_mocks(Mocks(), project="trainform", stack="dev", preview=False)
pulumi.runtime.set_all_config({"trainform:sshSecret": "a secret of thirty-two characters"}, ["trainform:sshSecret"])
exported = {}
pulumi.export = exported.__setitem__


@pulumi.runtime.test
def run():
    for example in json.load(sys.stdin):
        exec(compile(example, "example", "exec"), {})
    return pulumi.Output.all(**exported).apply(lambda values: print(json.dumps(values)))


run()
"""


def test_every_component_is_on_the_page() -> None:
    assert set(EXAMPLES) == {name for name in trainform.__all__ if hasattr(getattr(trainform, name), "urn")}
    assert all(f"## {name}\n" in components_page() for name in EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_input_and_output_has_a_text(name: str) -> None:
    kind = getattr(trainform, name)
    assert input_texts(kind).keys() == parameters(kind).keys()
    assert outputs(kind)
    assert all(
        text.endswith(".") for text in [*input_texts(kind).values(), *(text for _, text in outputs(kind).values())]
    )
    assert outputs(kind).keys() == set(kind.__annotations__)


def test_every_example_runs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(MOCKED)
    words = [sys.executable, str(program)]
    examples = json.dumps([*EXAMPLES.values()])
    ran = subprocess.run(words, input=examples, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    exported = json.loads(ran.stdout)
    assert exported.pop("master").endswith(".resnet:29500")
    assert exported.pop("template")["spec"]["containers"][0]["image"].startswith("registry.example.com/")
    assert exported == {
        "queue": "team-nlp",
        "claim": "wiki",
        "service": "bert-peers",
        "secret": "bert-keys",
        "replicas": 2,
        "queues": ["default"],
    }


@pytest.mark.parametrize(("accelerators", "code"), [("16", 0), ("24", 1)], ids=["right", "wrong"])
def test_the_example_of_a_unit_test_runs(accelerators: str, code: int, tmp_path: Path) -> None:
    """It passes, and fails where it expects another number."""
    (tmp_path / "test_jobs.py").write_text(TEST_EXAMPLE.replace("16", accelerators))
    words = [sys.executable, "-m", "unittest", "test_jobs"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == code, ran.stderr
    assert "Ran 1 test" in ran.stderr
