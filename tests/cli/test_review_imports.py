"""What `trainform review` imports, and when: it waits for nothing that the engine's start does not need."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.reviewing import RECORDED
from tests.support.repository import ROOT


def imported_by(script: str) -> set[str]:
    """The modules of a process after the script."""
    script += "\nimport sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, cwd=ROOT, timeout=60, check=True, capture_output=True, text=True)
    return set(done.stderr.split())


def of_review(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("trainform.review")}


CHECK = """
from trainform.cli.main import main
try:
    main(["check", "hello", "-e", "dev"])
except SystemExit as end:
    assert not end.code
"""


def test_other_commands_do_not_import_the_review() -> None:
    assert of_review(imported_by(CHECK)) == set()
    assert of_review(imported_by("import trainform.cli.review")) == set()


def test_the_engine_does_not_wait_for_the_models() -> None:
    """What is imported before the engine starts; all else is imported while it works."""
    early = imported_by("import trainform.cli.main, trainform.cli.review, trainform.cli.review_reading")
    assert early & {"pydantic", "httpx2", "lightkube", "rich", "yaml"} == set()


def test_the_review_imports_neither_the_cluster_nor_builds_its_models() -> None:
    script = """
import trainform.review.report, trainform.review.forms.terminal
from trainform.report_part import Part
waiting = [Part]
while waiting:
    part = waiting.pop()
    assert not part.__pydantic_complete__, part
    waiting += part.__subclasses__()
"""
    assert imported_by(script) & {"httpx2", "lightkube", "rich", "pulumi", "cryptography"} == set()


def test_a_report_without_the_cluster_needs_no_client_and_no_colours() -> None:
    words = ["review", "--no-cluster", "--preview-json", str(RECORDED), "--format", "markdown"]
    script = CHECK.replace('["check", "hello", "-e", "dev"]', repr(words))
    assert imported_by(script) & {"httpx2", "lightkube", "rich", "pulumi"} == set()
