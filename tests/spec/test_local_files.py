"""Local files of an experiment: read from the project's folder, also for overlays, models and `--set`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.rendering import plan_job
from tests.support.samples import JOB, environment
from trainform.errors import InputError
from trainform.job.check import check_experiment, load_experiment
from trainform.job.render import render_job
from trainform.plan.inputs import job_inputs
from trainform.spec.experiment import Experiment
from trainform.spec.load import Text
from trainform.spec.storage import File
from trainform.spec.trial import read_assignments

SCRIPT, TUNING = "#!/bin/sh\nexec torchrun train.py\n", "NCCL_DEBUG=INFO\n"
FILES: dict[str, Any] = {"/workload/launch.sh": {"file": "scripts/launch.sh"}, "/etc/nccl.conf": {"text": TUNING}}
FIX = (
    "write the path of a text file (UTF-8, at most 1 MiB) from the project's folder on; what is larger or binary "
    "belongs into the image, or on a volume"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    (project / "Pulumi.yaml").touch()
    (project / "scripts" / "launch.sh").write_text(SCRIPT)
    (project / "scripts" / "prod.conf").write_text("NCCL_DEBUG=WARN\n")
    return project


def texts(experiment: Experiment | None) -> dict[str, str | None]:
    assert experiment is not None
    return {path: file.text for path, file in experiment.files.items()}


def in_yaml(**parts: Any) -> Text:
    return Text("sdxl-lora.yaml", yaml.safe_dump({**JOB, **parts}, sort_keys=False))


@pytest.mark.parametrize("kind", ["file", "model"])
def test_the_text_takes_the_place_of_the_name(kind: str, root: Path) -> None:
    """Records, releases and reviews have the content, and no path of one machine."""
    given = in_yaml(files=FILES) if kind == "file" else Experiment.model_validate({**JOB, "files": FILES})
    job = check_experiment(given, environment(), root=root).or_raise()
    assert texts(job.experiment) == {"/workload/launch.sh": SCRIPT, "/etc/nccl.conf": TUNING}
    assert job.plan.record is not None
    assert job.plan.record.experiment["files"]["/workload/launch.sh"] == {"text": SCRIPT}
    inputs = job_inputs(job.experiment, job.environment, job.plan)
    assert inputs.job["files"]["/workload/launch.sh"] == {"text": SCRIPT}
    assert load_experiment(given, root).local_files == {"scripts/launch.sh"}


def test_another_content_is_another_revision(root: Path) -> None:
    def revision() -> str:
        return check_experiment(in_yaml(files=FILES), environment(), root=root).or_raise().plan.revision

    before = revision()
    assert (
        before
        == plan_job(
            Experiment.model_validate({**JOB, "files": {**FILES, "/workload/launch.sh": {"text": SCRIPT}}}),
            environment(),
        ).revision
    )
    (root / "scripts" / "launch.sh").write_text(f"{SCRIPT}# another line\n")
    assert revision() != before


def test_overlays_name_files_too(root: Path) -> None:
    """Null removes what the other has, as in every merge patch. The record has the texts of all environments."""
    overlays: dict[str, Any] = {
        "dev": {
            "files": {
                "/etc/nccl.conf": {"file": "scripts/prod.conf", "text": None},
                "/workload/launch.sh": {"text": "dev", "file": None},
            }
        },
        "prod": {"files": {"/more.sh": {"file": "scripts/launch.sh"}, "/etc/nccl.conf": None}},
    }
    given = in_yaml(files=FILES, environments=overlays)
    job = check_experiment(given, environment(), root=root).or_raise()
    assert texts(job.experiment) == {"/workload/launch.sh": "dev", "/etc/nccl.conf": "NCCL_DEBUG=WARN\n"}
    assert job.plan.record is not None
    whole = job.plan.record.whole
    assert whole["files"]["/workload/launch.sh"] == {"text": SCRIPT}
    assert whole["environments"]["prod"]["files"] == {"/more.sh": {"text": SCRIPT}, "/etc/nccl.conf": None}
    again = Experiment.model_validate(whole)
    assert render_job(again, environment()).plan.revision == job.plan.revision
    assert load_experiment(given, root).local_files == {"scripts/launch.sh", "scripts/prod.conf"}


def test_a_tried_file_is_read(root: Path) -> None:
    tried = read_assignments(["files.'/workload/launch.sh'.file=scripts/prod.conf"])
    loaded = load_experiment(in_yaml(files=FILES), root, "dev", tried)
    assert texts(loaded.model)["/workload/launch.sh"] == "NCCL_DEBUG=WARN\n"
    assert loaded.local_files == {"scripts/launch.sh", "scripts/prod.conf"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.sh", None, "the file cannot be read: no such file or directory"),
        ("scripts", None, "the path leads to a directory, not to a file"),
        ("../outside", b"secret", "the file is outside of the project's folder"),
        ("/etc/passwd", None, "the file is outside of the project's folder"),
        ("model.bin", b"\x80", "the file is not UTF-8 (byte 0x80 at offset 0)"),
        ("model.bin", b"a\0b", "the file is binary: it holds a NUL character"),
        ("model.bin", b"a" * (2**20 + 1), "the file is 1.0 MB long, and at most 1 MiB are read"),
    ],
)
def test_what_is_no_text_of_the_project(name: str, content: bytes | None, reason: str, root: Path) -> None:
    if content is not None:
        (root / name).write_bytes(content)
    loaded = load_experiment(in_yaml(files={"/a": {"file": name}, "/b": {"text": "b"}}), root)
    (problem,) = loaded.problems
    assert (problem.path, problem.value, problem.reason, problem.fix) == ("files./a.file", name, reason, FIX)
    assert (problem.source, problem.line) == ("sdxl-lora.yaml", 12)
    assert loaded.local_files == {name}, "so that a review sees that it changes"


def test_a_link_does_not_lead_out_of_the_project(root: Path) -> None:
    """A pull request could print files of the machine that reviews it."""
    (root / "link").symlink_to("/etc/passwd")
    (problem,) = load_experiment(in_yaml(files={"/a": {"file": "link"}}), root).problems
    assert problem.reason == "the file is outside of the project's folder"


def test_the_files_together_have_a_limit(root: Path) -> None:
    files = {f"/part-{number}": {"text": "a" * 400_000} for number in range(3)}
    (problem,) = render_job(Experiment.model_validate({**JOB, "files": files}), environment()).problems
    assert problem.path == "files"
    assert problem.fix == "put large files into the image, or on a volume"


def test_a_model_that_is_rendered_directly_reads_no_files() -> None:
    model = Experiment.model_validate({**JOB, "files": {"/a": File(file="a.txt")}})
    (problem,) = render_job(model, environment()).problems
    assert (problem.path, problem.fix) == ("files./a.file", "write `text`, or call `check_experiment`")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"relative": {"text": ""}}, "the key is not an absolute path of a file"),
        ({"/folder/": {"text": ""}}, "the key is not an absolute path of a file"),
        ({"/a": {}}, "the mapping has none of file, text"),
        ({"/a": {"file": "a", "text": "a"}}, "the mapping has file and text together"),
        ({"/a": {"text": "a\0"}}, "the text holds a NUL character, which no process can be given"),
    ],
)
def test_what_is_no_file(files: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as raised:
        Experiment.model_validate({**JOB, "files": files})
    assert [problem.reason for problem in raised.value.problems] == [reason]
