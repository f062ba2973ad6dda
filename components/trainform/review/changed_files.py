"""The files that differ between the working tree and the commit from which the change began."""

from __future__ import annotations

import os
import posixpath
import subprocess
from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, Problem, without_credentials

OPTION = "--changed-since"
# Without what a repository's configuration would make git run: a monitor of files, hooks, other programs for
# differences. A branch may also have a bare repository among its files, which would answer for the real one.
CONFIG = ("core.fsmonitor=", "core.hooksPath=/dev/null", "safe.bareRepository=explicit")
DIFFERENCE = ("diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
UNTRACKED = ("ls-files", "--others", "--exclude-standard", "-z")
SUBMODULE = "160000"
"""The mode of a submodule, which is a folder of another repository."""
WHOLE_HISTORY = (
    "get the whole history: `git fetch --unshallow`, or `fetch-depth: 0` where actions/checkout made the clone"
)
BY_NAME = "or name the stacks"


class ChangedFiles(Struct, frozen=True):
    """The files of a change."""

    base: str
    """The commit from which it began."""
    paths: tuple[str, ...]
    """From the project's folder on; that of another repository's folder ends with `/`."""


def changed_files(root: Path, since: str) -> ChangedFiles:
    """Return the differences between the working tree of the project in `root` and the merge base of `since` and HEAD:
    both names of a renamed file, and files that git does not track and does not ignore. InputError if git cannot say
    it."""
    git = _Git(root, since)
    if not since or since.startswith("-"):
        raise git.refused("is no name of a commit", "give a branch, a tag or a commit: origin/main")
    top, prefix = git.place()
    base = git.base(top)
    parts = _names(git.out(top, *DIFFERENCE, base, "--"))  # for each path the modes before it
    changed = {*_names(git.out(top, *UNTRACKED))}
    for modes, path in zip(parts[::2], parts[1::2], strict=True):
        changed.add(f"{path}/" if SUBMODULE in modes.lstrip(":").split(" ")[:2] else path)
    from_project = {path: posixpath.relpath(path, prefix or ".") for path in changed}
    return ChangedFiles(base, tuple(sorted(f"{name}{'/' * path.endswith('/')}" for path, name in from_project.items())))


def text_before(root: Path, base: str, path: str) -> str | None:
    """Return the text of a file of the project at the commit; None if it was not there, or is not text."""
    ran = _Git(root, base).run(root, "cat-file", "blob", f"{base}:./{path}")
    try:
        return None if ran.returncode else ran.stdout.decode()
    except UnicodeDecodeError:
        return None


def _names(answer: bytes) -> list[str]:
    return [os.fsdecode(name) for name in answer.split(b"\0") if name]


class _Git(Struct, frozen=True):
    """git in the repository of a project. since: for messages."""

    root: Path
    since: str

    def place(self) -> tuple[Path, str]:
        """Return the top of the repository, and the project's folder from there on."""
        ran = self.run(self.root, "rev-parse", "--show-toplevel")
        if ran.returncode:
            reason = f"git finds no repository with files of this project ({_said(ran)})"
            raise self.refused(reason, f"run it in a clone of the project's repository, {BY_NAME}")
        prefix = self.out(self.root, "rev-parse", "--show-prefix")
        return Path(os.fsdecode(ran.stdout.removesuffix(b"\n"))), os.fsdecode(prefix.removesuffix(b"\n"))

    def base(self, top: Path) -> str:
        """Return the commit from which the change began."""
        found = self.run(top, "rev-parse", "--verify", "--quiet", f"{self.since}^{{commit}}")
        if found.returncode:
            fix = WHOLE_HISTORY if self._is_shallow(top) else "give one that `git log` shows: main, origin/main"
            raise self.refused("git knows no such branch, tag or commit", fix)
        ran = self.run(top, "merge-base", _line(found.stdout), "HEAD")
        if ran.returncode == 0:
            return _line(ran.stdout)
        if self._is_shallow(top):
            raise self.refused("the clone is shallow and lacks the commit from which the change began", WHOLE_HISTORY)
        raise self.refused("it has no commit in common with HEAD", f"give a branch from which HEAD began, {BY_NAME}")

    def out(self, folder: Path, *words: str) -> bytes:
        ran = self.run(folder, *words)
        if ran.returncode:
            reason = f"`git {words[0]}` ended with exit code {ran.returncode} ({_said(ran)})"
            raise self.refused(reason, "mend what git says")
        return ran.stdout

    def _is_shallow(self, top: Path) -> bool:
        return _line(self.out(top, "rev-parse", "--is-shallow-repository")) == "true"

    def run(self, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Return the result of git in the folder, whatever its exit code is."""
        command = ["git", "--no-pager", *(word for setting in CONFIG for word in ("-c", setting)), *words]
        try:
            return subprocess.run(
                command, cwd=folder, env=_environ(), stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
        except FileNotFoundError:
            raise self.refused("there is no git on this machine", f"install git, {BY_NAME}") from None

    def refused(self, reason: str, fix: str) -> InputError:
        return InputError([Problem(OPTION, self.since, reason, fix)])


def _environ() -> dict[str, str]:
    """Return the variables without git's own, which may name another repository, but with its configuration."""
    own = {name for name in os.environ if name.startswith("GIT_") and not name.startswith("GIT_CONFIG")}
    kept = {name: value for name, value in os.environ.items() if name not in own}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _line(answer: bytes) -> str:
    return os.fsdecode(answer).strip()


def _said(ran: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line of what git said."""
    lines = [line for line in ran.stderr.decode(errors="replace").splitlines() if line.strip()]
    return without_credentials(lines[0]) if lines else f"exit code {ran.returncode}"
