"""The program of the pack where the policy SDK is missing."""

from __future__ import annotations

import subprocess
import sys

from tests.support.repository import ROOT

WITHOUT_SDK = "import runpy, sys; sys.modules['pulumi_policy'] = None; runpy.run_path('policy', run_name='__main__')"


def test_a_missing_sdk_is_said_with_what_to_install() -> None:
    words = [sys.executable, "-c", WITHOUT_SDK, "127.0.0.1:1"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "trainform[policy]" in done.stderr
    assert sys.executable in done.stderr
    assert "Traceback" not in done.stderr
