from __future__ import annotations

import signal
import subprocess
import sys

from tests.support.repository import ROOT

INTERRUPTED_PROGRAM = """
import contextlib, signal
from pulumi import ConfigMissingError
from trainform.resources.program import run

with contextlib.suppress(ConfigMissingError):
    run()
signal.raise_signal(signal.SIGINT)
"""


def test_an_interrupted_program_ends_without_a_traceback() -> None:
    """The engine interrupts it when an update fails, and prints what it writes next to the error."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED_PROGRAM], cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
