"""The program of a stack, as the engine runs it, and with every version of Pulumi's SDK that pip may take."""

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


# What a version of the SDK does not have.
OLDER_SDK = """
import pulumi.runtime.stack
vars(pulumi.runtime.stack).pop("ResourceRegistrationFailed", None)
from trainform import TrainingJob
from trainform.resources.apply import REGISTRATION_FAILED
print(TrainingJob.__name__, REGISTRATION_FAILED)
"""


def test_an_sdk_without_an_error_of_its_own_for_resources_that_failed() -> None:
    """`tests/wheel` has the newest version of the SDK."""
    ran = subprocess.run([sys.executable, "-c", OLDER_SDK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("TrainingJob ()\n", "")
