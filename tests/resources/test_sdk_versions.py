"""The components work with every version of Pulumi's SDK that pip may take: `tests/wheel` has the newest one."""

from __future__ import annotations

import subprocess
import sys

from tests.support.repository import ROOT

# What a version of the SDK does not have.
PROGRAM = """
import pulumi.runtime.stack
vars(pulumi.runtime.stack).pop("ResourceRegistrationFailed", None)
from trainform import TrainingJob
from trainform.resources.apply import REGISTRATION_FAILED
print(TrainingJob.__name__, REGISTRATION_FAILED)
"""


def test_an_sdk_without_an_error_of_its_own_for_resources_that_failed() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("TrainingJob ()\n", "")
