"""The tests see what a user has: no settings of Python's from the shell or the CI that runs them."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import NOT_A_USERS, ROOT


def test_no_setting_of_pythons_reaches_a_program() -> None:
    assert not os.environ.keys() & NOT_A_USERS


def test_they_are_left_out_where_the_shell_has_them() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            f"{__file__}::{test_no_setting_of_pythons_reaches_a_program.__name__}"],
        cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
