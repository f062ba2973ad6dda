"""Whole manifests of every teaching experiment, as `trainform render` prints them. A change of a file here is reviewed like code."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.conftest import ROOT, Golden
from tests.repository import names
from trainform.backends import job_manifests, plan_job, platform_manifests
from trainform.backends.job import BACKENDS, job_problems
from trainform.cli.main import main
from trainform.examine import examine, examine_environment
from trainform.manifests.documents import to_yaml

EXPERIMENTS = names("experiments")
ENVIRONMENTS = names("environments")
GOLDEN = ROOT / "tests" / "golden"


def rendered(name: str, backend: str) -> str:
    """All objects, or the problems that keep the operator from running the experiment."""
    examined = examine(name, "dev")
    experiment, environment = examined.checked()
    on_it = experiment.model_copy(update={"backend": backend})
    problems = job_problems(on_it, environment)
    if problems:
        return "\n".join(f"# {problem}" for problem in problems) + "\n"
    return to_yaml(job_manifests(plan_job(on_it, environment)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str, backend: str, golden: Golden) -> None:
    golden(GOLDEN / name / f"{backend}.yaml", rendered(name, backend))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_render_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["render", name, "-e", "dev"])
    assert exit_.value.code in (0, None)
    printed = capsys.readouterr().out
    assert printed == rendered(name, "volcano")
    assert list(yaml.safe_load_all(printed)) == [
        manifest.body for manifest in job_manifests(examine(name, "dev").plan())
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments(name: str, golden: Golden) -> None:
    golden(GOLDEN / name / "platform.yaml", to_yaml(platform_manifests(examine_environment(name).checked())))


@pytest.mark.parametrize("document", ["README.md", "docs/how-it-works.md"])
def test_documents_show_the_revision(document: str, golden: Golden) -> None:
    """Names of objects in them are those that a reader gets."""
    path = ROOT / document
    written = path.read_text(encoding="utf-8")
    pattern = r"\b(resnet(?:-launch-script)?)-[0-9a-f]{6}\b"
    shown, count = re.subn(pattern, rf"\1-{examine('resnet', 'dev').plan().revision}", written)
    assert count
    golden(path, shown)


def test_no_file_is_left_over() -> None:
    expected = {f"{name}/{backend}.yaml" for name in EXPERIMENTS for backend in BACKENDS} | {
        f"{name}/platform.yaml" for name in ENVIRONMENTS
    }
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.yaml")} == expected
