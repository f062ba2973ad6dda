"""For tests of `trainform review`: a preview that was made elsewhere, and programs in the engine's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.review.screen import reviewed
from tests.support import previews
from tests.support.repository import ROOT
from trainform.review.model import Report, Review
from trainform.review.preview import State


def events() -> list[previews.Data]:
    """A running job whose variable changes, as the engine tells it."""
    context = reviewed()
    [job] = context.jobs
    assert job.component is not None
    above = job.component.urn

    def state(side: State | None, parent: str) -> previews.Data | None:
        if side is None:
            return None
        return previews.state(side.inputs, parent=parent, retainOnDelete=side.keep, id="1" if parent == above else "")

    found = []
    for step in context.preview.steps:
        parent = previews.root() if step is job.component else above
        sides = state(step.old, parent), state(step.new, parent)
        found.append(previews.step_event(step.operation, step.urn, *sides, step.detail, keys=list(step.keys)))
    return found


@pytest.fixture
def preview(tmp_path: Path) -> str:
    file = tmp_path / "preview.json"
    file.write_text(f"Previewing update (dev):\n{previews.stream(*events())}", encoding="utf-8")
    return str(file)


def review(*words: str) -> tuple[int, str, str]:
    return run("review", "--no-cluster", *words)


def read(*words: str) -> Review:
    code, out, err = review("--output", "json", *words)
    assert (code, err) == (0, "")
    return Review.model_validate_json(out)


def report_of(preview: str, *words: str) -> Report:
    [report] = read("--preview-json", preview, *words).stacks
    return report


RECORDED = ROOT / "tests" / "review" / "recorded" / "replace.jsonl"


def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program in the place of Pulumi."""
    path = tmp_path / "bin" / "pulumi"
    path.parent.mkdir()
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")


def other(preview: str, stack: str) -> str:
    """The same preview as one of another stack."""
    file = Path(preview).with_name(f"{stack}.json")
    file.write_text(Path(preview).read_text(encoding="utf-8").replace("urn:pulumi:dev::", f"urn:pulumi:{stack}::"))
    return str(file)
