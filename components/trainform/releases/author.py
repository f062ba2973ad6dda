"""Who does something to a release, and when. Never a token: only what git writes into a commit too, or the name of the account."""

from __future__ import annotations

import datetime
import getpass
import subprocess
from pathlib import Path

from trainform.errors import TrainformError
from trainform.escaping import without_invisible
from trainform.secrets import masked_line


def author(root: Path) -> str:
    """`NAME <EMAIL>` as git has it here, or the name of the account."""
    name, email = (_of_git(f"user.{part}", root) for part in ("name", "email"))
    found = f"{name} <{email}>" if name and email else name if name else email
    return masked_line(found if found else _account())


def _of_git(key: str, root: Path) -> str:
    """The setting on one line, as people see it; "" if there is none, or no git."""
    try:
        ran = subprocess.run(
            ["git", "config", "--get", key],
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError:
        return ""
    return " ".join(without_invisible(" ".join(ran.stdout.split())).split())


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        raise TrainformError("nobody knows who you are", "`git config user.name NAME`") from None


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
