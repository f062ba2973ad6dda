"""The author of a release, as git writes it into a commit, or the name of the account."""

from __future__ import annotations

import getpass
import subprocess
from pathlib import Path

from trainform.errors import TrainformError
from trainform.escaping import without_invisible
from trainform.secrets import masked_line


def author(root: Path) -> str:
    """`NAME <EMAIL>` as git has it here, or the name of the account."""
    name, email = (_on_one_line(_setting(f"user.{part}", root)) for part in ("name", "email"))
    found = f"{name} <{email}>" if name and email else name if name else email
    return masked_line(found if found else _account())


def _setting(key: str, root: Path) -> str:
    """Return the setting of git; "" if it is not set, or if there is no git."""
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
    return ran.stdout


def _on_one_line(text: str) -> str:
    return " ".join(without_invisible(" ".join(text.split())).split())


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        raise TrainformError("your name is unknown", "`git config user.name NAME`") from None
