"""The files that differ between the working tree and the commit from which the change began, as git tells them. Nothing
else here runs git."""

from __future__ import annotations

import difflib
import os
import posixpath
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, Problem, without_credentials

OPTION = "--changed-since"
SECONDS = 120
# What a repository's configuration would make git run: a monitor of files, hooks, other programs for differences. A
# branch can also have a whole repository among its files, without `.git`, which would say in the place of the real one
# what has changed.
SETTINGS = (
    "--no-pager",
    "-c",
    "core.fsmonitor=",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
)
DIFFERENCE = ("diff", "--raw", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
UNTRACKED = ("ls-files", "--others", "--exclude-standard", "-z")
SUBMODULE = "160000"
"""The mode of a submodule, which is a folder of another repository."""
WHOLE_HISTORY = (
    "get the whole history: `git fetch --unshallow`, or `fetch-depth: 0` where actions/checkout made the clone"
)
BY_NAME = "or name the stacks"


class ChangedFiles(Struct, frozen=True):
    """base: the commit from which the change began. paths: from the project's folder on; that of another repository's
    folder ends with `/`."""

    base: str
    paths: tuple[str, ...]


def changed_files(root: Path, since: str) -> ChangedFiles:
    """What differs between the working tree of the project in `root` and the merge base of `since` and HEAD: both names
    of a renamed file, and files that git does not track and does not ignore. InputError if git cannot say it."""
    if not since or since.startswith("-"):
        raise _error(since, "is no name of a commit", "give a branch, a tag or a commit: origin/main")
    git = _Git(root, since)
    top, prefix = git.place()
    base = git.base(top)
    changed = {*_differing(git.out(top, *DIFFERENCE, base, "--")), *_names(git.out(top, *UNTRACKED))}
    return ChangedFiles(base, tuple(sorted(_from_project(path, prefix) for path in changed)))


def text_before(root: Path, base: str, path: str) -> str | None:
    """Return the text of a file at the commit; None if it was not there, or is not text. path: from the project's
    folder on."""
    ran = _Git(root, base).run(root, "cat-file", "blob", f"{base}:./{path}")
    try:
        return None if ran.returncode else ran.stdout.decode()
    except UnicodeDecodeError:
        return None


def _differing(answer: bytes) -> Iterator[str]:
    """The paths of `git diff --raw -z`: for each the modes, then the path itself."""
    parts = _names(answer)
    for modes, path in zip(parts[::2], parts[1::2], strict=True):
        yield f"{path}/" if SUBMODULE in modes.lstrip(":").split(" ")[:2] else path


def _names(answer: bytes) -> list[str]:
    return [os.fsdecode(name) for name in answer.split(b"\0") if name]


def _from_project(path: str, prefix: str) -> str:
    """The path from the project's folder on. prefix: that folder from the top of the repository on; "": it is the
    top."""
    end = "/" if path.endswith("/") else ""
    return f"{posixpath.relpath(path, prefix if prefix else '.')}{end}"


def _error(since: str, reason: str, fix: str) -> InputError:
    return InputError([Problem(OPTION, since, reason, fix)])


class _Git(Struct, frozen=True):
    """git in the repository of a project. since: for messages."""

    root: Path
    since: str

    def place(self) -> tuple[Path, str]:
        """The top of the repository, and the project's folder from there on."""
        ran = self.run(self.root, "rev-parse", "--show-toplevel")
        if ran.returncode:
            reason = f"git finds no repository with files of this project ({_said(ran)})"
            raise self._refused(reason, f"run it in a clone of the project's repository, {BY_NAME}")
        prefix = self.out(self.root, "rev-parse", "--show-prefix")
        return Path(os.fsdecode(ran.stdout.removesuffix(b"\n"))), os.fsdecode(prefix.removesuffix(b"\n"))

    def base(self, top: Path) -> str:
        """The commit from which the change began."""
        found = self.run(top, "rev-parse", "--verify", "--quiet", f"{self.since}^{{commit}}")
        if found.returncode:
            raise self._refused("git knows no such branch, tag or commit", self._near(top))
        ran = self.run(top, "merge-base", _line(found.stdout), "HEAD")
        if ran.returncode == 0:
            return _line(ran.stdout)
        if self._is_shallow(top):
            raise self._refused("the clone is shallow and lacks the commit from which the change began", WHOLE_HISTORY)
        raise self._refused("it has no commit in common with HEAD", f"give a branch from which HEAD began, {BY_NAME}")

    def out(self, folder: Path, *words: str) -> bytes:
        ran = self.run(folder, *words)
        if ran.returncode:
            raise self._refused(
                f"`git {words[0]}` ended with exit code {ran.returncode} ({_said(ran)})", "mend what git says"
            )
        return ran.stdout

    def _near(self, top: Path) -> str:
        """What to do about an unknown name: get the history that a clone of a CI lacks, or correct the name."""
        if self._is_shallow(top):
            return WHOLE_HISTORY
        listed = self.out(top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
        known = os.fsdecode(listed).split("\n")
        near = [name for name in known if name.endswith(f"/{self.since}")]
        near += difflib.get_close_matches(self.since, known, 1)
        return f"did you mean {near[0]}?" if near else "give one that `git log` shows, or fetch it first"

    def _is_shallow(self, top: Path) -> bool:
        return _line(self.out(top, "rev-parse", "--is-shallow-repository")) == "true"

    def run(self, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Return the result of git in the folder, whatever its exit code is."""
        command = ["git", *SETTINGS, *words]
        try:
            return subprocess.run(
                command, cwd=folder, env=_environ(), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                check=False
            )  # fmt: skip
        except FileNotFoundError:
            raise self._refused("there is no git on this machine", f"install git, {BY_NAME}") from None
        except subprocess.TimeoutExpired:
            fix = f"run it by hand to see why, {BY_NAME}"
            raise self._refused(f"`git {words[0]}` has not ended within {SECONDS} s", fix) from None

    def _refused(self, reason: str, fix: str) -> InputError:
        return _error(self.since, reason, fix)


def _environ() -> dict[str, str]:
    """The environment without git's own variables: those of a hook or an alias name another repository, or a program to
    run. Those that configure git stay: a CI allows the folder of another owner there."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}  # fmt: skip


def _line(answer: bytes) -> str:
    return os.fsdecode(answer).strip()


def _said(ran: subprocess.CompletedProcess[bytes]) -> str:
    """The first line of what git said."""
    lines = [line for line in ran.stderr.decode(errors="replace").splitlines() if line.strip()]
    return without_credentials(lines[0]) if lines else f"exit code {ran.returncode}"
