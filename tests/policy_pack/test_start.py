"""The program of the pack, as the engine starts it."""

import os
import subprocess
import sys
import threading

from tests.support.repository import ROOT


def test_port_is_told_without_a_variable_that_unbuffers_python() -> None:
    """The engine waits for the first line without a bound."""
    assert "PYTHONUNBUFFERED" not in os.environ, "the tests' own settings leave it out, as a user's shell does"
    program = subprocess.Popen(
        [sys.executable, ROOT / "policy", "127.0.0.1:1"],
        env={**os.environ, "TRAINFORM_ENVIRONMENT": "dev"},
        stdout=subprocess.PIPE,
        text=True,
    )
    bound = threading.Timer(30, program.kill)
    bound.start()
    try:
        assert program.stdout is not None
        assert program.stdout.readline().strip().isdigit()
    finally:
        bound.cancel()
        program.kill()
        program.communicate()
