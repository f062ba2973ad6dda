"""Whole manifests of every teaching experiment, as `trainform render` prints them, and differences of one on each other
admission. A change of a file here is reviewed like code."""

from __future__ import annotations

import difflib
import re
import textwrap
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, Golden
from tests.support.documents import README, write_readme_files
from tests.support.repository import copy_stacks, names
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cli.main import main
from trainform.job.check import check_environment, check_experiment
from trainform.job.render import RenderedJob, render_job
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import to_yaml

EXPERIMENTS = names("experiments")
ENVIRONMENTS = names("environments")
GOLDEN = ROOT / "tests" / "golden"
REFUSALS = GOLDEN / "refusals.txt"
V2BETA1 = "allreduce/kubeflow-v2beta1.yaml"
WITHOUT_GANG = [
    (backend, admission)
    for backend, made in BACKENDS.items()
    for admission in made.ADMISSIONS
    if admission != defaults.VOLCANO
]


def of_admissions(backend: str) -> str:
    """Return the experiment of `test_other_admissions`."""
    return "hello" if BACKENDS[backend].ONE_ROLE else "sdxl-lora"


def rendered(name: str, backend: str, mpi_job: str = "v1") -> RenderedJob:
    """The experiment on the backend, or the problems that keep the operator from running it."""
    job = check_experiment(name, "dev").or_raise()
    # the environment's own backend is not written in the experiment, whose record would then differ from that of
    # `render`
    update = {} if backend == job.plan.backend else {"backend": backend}
    environment = job.environment.model_copy(update={"mpi_job": mpi_job})
    return render_job(job.experiment.model_copy(update=update), environment)


def refusals(backend: str) -> dict[str, str]:
    """The problems of each teaching experiment that the backend refuses, by the experiment's name."""
    jobs = {name: rendered(name, backend) for name in EXPERIMENTS}
    return {name: "\n".join(map(str, job.problems)) for name, job in jobs.items() if job.problems}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str, backend: str, golden: Golden) -> None:
    """The objects where the backend runs the experiment; where it refuses it, only `test_refusals` has a text of it."""
    job, path = rendered(name, backend), GOLDEN / name / f"{backend}.yaml"
    if job.problems:
        assert not path.exists()
    else:
        golden(path, to_yaml(job.manifests))


@pytest.mark.parametrize(("backend", "admission"), WITHOUT_GANG)
def test_other_admissions(backend: str, admission: str, golden: Golden) -> None:
    """One experiment on each backend that needs no gang of Volcano, compared with Volcano's admission. The diff has the
    other revision in its head alone."""
    name = of_admissions(backend)
    job, base = check_experiment(name, "dev").or_raise(), rendered(name, backend)
    environment = job.environment.model_copy(update={"admission": admission, "queues": {}})
    found = render_job(job.experiment.model_copy(update={"backend": backend}), environment)
    assert not found.problems
    text = to_yaml(found.manifests).replace(found.plan.revision, base.plan.revision)
    head, other_head = (f"{each.plan.admission} {each.plan.revision}" for each in (base, found))
    before, after = to_yaml(base.manifests).splitlines(True), text.splitlines(True)
    lines = difflib.unified_diff(before, after, head, other_head, n=2)
    golden(GOLDEN / name / f"{backend}-{admission}.diff", "".join(lines))


def test_the_mpi_job_of_mpi_operator(golden: Golden) -> None:
    found = rendered("allreduce", "kubeflow", "v2beta1")
    assert not found.problems
    golden(GOLDEN / V2BETA1, to_yaml(found.manifests))


def test_refusals(golden: Golden) -> None:
    found = {f"{name} on {backend}": text for backend in BACKENDS for name, text in refusals(backend).items()}
    golden(REFUSALS, "\n".join(f"{title}\n{textwrap.indent(text, '  ')}\n" for title, text in sorted(found.items())))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_output_of_render(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["render", name, "-e", "dev"])
    assert exit_.value.code in (0, None)
    printed = capsys.readouterr().out
    assert printed == to_yaml(rendered(name, "volcano").manifests)
    assert list(yaml.safe_load_all(printed)) == [
        manifest.body for manifest in check_experiment(name, "dev").or_raise().manifests
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments(name: str, golden: Golden) -> None:
    golden(GOLDEN / name / "platform.yaml", to_yaml(platform_manifests(check_environment(name).or_raise())))


@pytest.mark.parametrize("document", ["README.md", "docs/explanation/revisions.md"])
def test_documents_show_the_revision(document: str, golden: Golden, tmp_path: Path) -> None:
    """Names of objects in them are those that a reader gets."""
    path = ROOT / document
    copy_stacks(tmp_path / "stacks")
    name = write_readme_files(tmp_path / "stacks") if path == README else "resnet"
    revision = check_experiment(name, "dev", root=tmp_path).or_raise().plan.revision
    written = path.read_text(encoding="utf-8")
    shown, count = re.subn(rf"\b({name}(?:-launch-script)?)-[0-9a-f]{{6}}\b", rf"\1-{revision}", written)
    assert count
    golden(path, shown)


def test_no_file_is_left_over() -> None:
    refused = {f"{name}/{backend}.yaml" for backend in BACKENDS for name in refusals(backend)}
    expected = {f"{name}/{backend}.yaml" for name in EXPERIMENTS for backend in BACKENDS} - refused
    expected |= {f"{name}/platform.yaml" for name in ENVIRONMENTS} | {REFUSALS.name}
    expected.add(V2BETA1)
    expected |= {f"{of_admissions(backend)}/{backend}-{admission}.diff" for backend, admission in WITHOUT_GANG}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()} == expected
