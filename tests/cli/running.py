"""The command line, called in this process."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest

from trainform.cli.main import main


def run(*words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(list(words))
    code = end.value.code
    return code if isinstance(code, int) else 0, out.getvalue(), err.getvalue()


def error_of(*words: str, code: int) -> dict[str, Any]:
    """Return the error of a command with `--output json` and this exit code: one document, no text."""
    found, out, err = run(*words, "--output", "json")
    document: dict[str, Any] = json.loads(out)
    assert (found, err, document["ok"]) == (code, "", False)
    error: dict[str, Any] = document["error"]
    assert list(error) == ["message", "fix", "details", "findings", "problems"]
    return error
