"""The author of a release, as git writes it into a commit, or the name of the account."""

from __future__ import annotations

import getpass
import subprocess
from pathlib import Path

from trainform.console.lines import strip_invisible
from trainform.console.secrets import masked_line
from trainform.errors import TrainformError


def author(root: Path) -> str:
    """Return `NAME <EMAIL>` as git has it here, or the name of the account."""
    found = (git_line(root, "config", "--get", f"user.{part}") for part in ("name", "email"))
    name, email = (" ".join(strip_invisible(text).split()) for text in found)
    return masked_line((f"{name} <{email}>" if name and email else name or email) or _account())


def git_line(root: Path, *words: str) -> str:
    """Return what git prints, on one line; "" if it fails, or if there is no git."""
    try:
        ran = subprocess.run(
            ["git", *words],
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return " ".join(ran.stdout.split())


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        raise TrainformError("your name is unknown", "`git config user.name NAME`") from None
