"""The program of the pack, as the engine starts it, and where the policy SDK is missing."""

from __future__ import annotations

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


WITHOUT_SDK = "import runpy, sys; sys.modules['pulumi_policy'] = None; runpy.run_path('policy', run_name='__main__')"


def test_a_missing_sdk_is_said_with_what_to_install() -> None:
    words = [sys.executable, "-c", WITHOUT_SDK, "127.0.0.1:1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "trainform[policy]" in done.stderr
    assert sys.executable in done.stderr
    assert "Traceback" not in done.stderr
