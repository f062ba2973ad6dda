"""Set the release that a stack follows in the stack's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainform.console.files import read_text
from trainform.console.locking import lock_folder
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import write_releases
from trainform.deployed.stack_keys import insert_key, replace_files
from trainform.deployed.stacks import followed
from trainform.errors import TrainformError
from trainform.project import stack_path
from trainform.spec.stack import pinned_release

WRITTEN = "; its release is written, and no stack names it yet"


def follow_all(releases: Mapping[str, Release], root: Path) -> None:
    """Write the releases and let each stack follow its own: all of them or none. The releases come first.

    TrainformError if a stack follows another release by now than the one that is to be replaced.
    """
    with lock_folder((root / stack_path(next(iter(releases)))).parent):
        texts = dict[str, str]()
        for stack, release in releases.items():  # before anything is written
            _refuse_moved(release, stack, root)
            path = stack_path(stack)
            text = read_text(root / path, path)
            written = insert_release(text, release.name, path, root)
            if written != text:
                texts[stack] = written
        write_releases(releases.values(), root)
        replace_files(texts, root, WRITTEN)


def insert_release(text: str, name: str, path: str, root: Path) -> str:
    """Return the text of a stack's file with the release. Without quotes digits, also around an `e`, are a number."""
    return insert_key(text, "release", f'"{name}"', path, root)


def _refuse_moved(release: Release, stack: str, root: Path) -> None:
    now, before = pinned_release(stack, root), release.promoted.replaces
    if now not in (before, release.name):
        reason = f"{stack} follows {followed(now)} by now, and no longer {followed(before)}: nothing is written"
        raise TrainformError(reason, "run the same command again")
