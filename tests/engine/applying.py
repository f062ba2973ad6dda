"""`trainform review --save` and `trainform apply` of a project's stacks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from tests.engine.project import Project
from tests.support.leaks import leaks

MOVED = 4


@dataclasses.dataclass(frozen=True)
class Applied:
    """An `apply` that has ended, and what it says."""

    code: int
    output: str
    verdict: dict[str, Any]

    @property
    def moved(self) -> set[tuple[str, str]]:
        """What has moved, and where."""
        return {(each["what"], each["path"]) for each in self.verdict["moved"]}


def save(project: Project, stack: str, **environ: Any) -> Path:
    """Save a review of the stack. Fails the test where the file holds a secret of this project."""
    file = project.folder / f"{stack}.saved.json"
    project.trainform("review", stack, "--save", str(file), **environ).succeeded()
    assert leaks({"saved": file.read_text()}, project.secrets) == []
    return file


def apply(project: Project, file: Path, *words: str, **environ: Any) -> Applied:
    """Apply it, or only check it."""
    ran = project.trainform("apply", str(file), "--output", "json", *words, **environ)
    assert "Traceback" not in ran.output, ran.output
    assert leaks({"shown": ran.output}, project.secrets) == []
    start = ran.output.find('{\n  "version"')
    verdict, _ = json.JSONDecoder().raw_decode(ran.output[start:]) if start >= 0 else ({"moved": []}, 0)
    return Applied(ran.code, ran.output, verdict)


def check(project: Project, file: Path, **environ: Any) -> Applied:
    """Only check it."""
    return apply(project, file, "--check", **environ)


def reviewed_and_applied(project: Project, stack: str) -> None:
    """Save a review and apply it, with nothing between them. Fails the test with what has moved."""
    found = apply(project, save(project, stack))
    assert (found.code, found.moved) == (0, set()), found.output
    assert (found.verdict["result"], found.verdict["not_compared"]) == ("applied", [])


def refused(found: Applied, *expected: tuple[str, str]) -> None:
    """It names these, and has changed nothing."""
    assert found.code == MOVED, found.output
    assert {*expected} <= found.moved, found.output
    assert found.verdict["result"] == "moved"


def failed(ran: Applied, code: int, *shown: str) -> None:
    """It ends with this code and says these."""
    assert ran.code == code, ran.output
    for text in shown:
        assert text in ran.output, ran.output
