"""Set the release that a stack follows in the stack's file, of which no other character changes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path

from trainform.console.files import read_text, replacing
from trainform.console.locking import lock_folder
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import write_releases
from trainform.deployed.stacks import followed
from trainform.errors import TrainformError
from trainform.project import stack_path
from trainform.spec.read import parse_mapping
from trainform.spec.release import SETTING
from trainform.spec.stack import pinned_release, project_name, spellings


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
        _write(texts, root)


def _refuse_moved(release: Release, stack: str, root: Path) -> None:
    now, before = pinned_release(stack, root), release.promoted.replaces
    if now not in (before, release.name):
        reason = f"{stack} follows {followed(now)} by now, and no longer {followed(before)}: nothing is written"
        raise TrainformError(reason, "run the same command again")


def _write(texts: Mapping[str, str], root: Path) -> None:
    """Replace the files of the stacks, once all the new texts are on the disk."""
    stack = ""
    try:
        with contextlib.ExitStack() as files:
            for stack, text in texts.items():
                path = root / stack_path(stack)
                stream = files.enter_context(replacing(path.resolve(), path.stat()))
                stream.write(text)
                stream.flush()
    except OSError as error:
        raise TrainformError(
            f"{stack_path(stack)} cannot be written: {str(error.strerror).lower()}; its release is written, and no "
            "stack names it yet",
            "make room, or correct the permissions, and run the same command again",
        ) from error


def insert_release(text: str, name: str, path: str, root: Path) -> str:
    """Return the text of a stack's file with the release, behind the experiment where the file has none."""
    written, value = text, f'"{name}"'  # without quotes digits, also around an `e`, are a number
    key = _key_in(text, "release", root)
    if key is not None:
        written = re.sub(rf"^( +{re.escape(key)}: *)[^\s#]*", rf"\g<1>{value}", text, count=1, flags=re.MULTILINE)
    else:
        experiment = _key_in(text, "experiment", root) or ""
        found = re.search(rf"^( +){re.escape(experiment)}:[^\r\n]*(\r?\n|$)", text, re.MULTILINE)
        if found is not None:
            newline = found[2] or "\n"
            line = f"{found[1]}{SETTING}: {value}{newline}"
            written = f"{text[: found.start()]}{found[0].removesuffix(newline)}{newline}{line}{text[found.end() :]}"
    if not _differ_by_release(text, written, key or SETTING, name):
        fix = f"write `{SETTING}: {value}` under `config` there, and run the same command again"
        raise TrainformError(f"{path} cannot be changed without a change of something else in it", fix)
    return written


def _key_in(text: str, key: str, root: Path) -> str | None:
    """Return the spelling of the key in the file."""
    names = spellings(key, project_name(root))
    return next((name for name in names if re.search(rf"^ +{re.escape(name)}:", text, re.MULTILINE)), None)


def _differ_by_release(before: str, after: str, key: str, name: str) -> bool:
    """Return True if nothing but the release differs."""
    try:
        expected = parse_mapping(before, "").data
        expected["config"] = {**expected["config"], key: name}
        return bool(parse_mapping(after, "").data == expected)
    except (TrainformError, KeyError, TypeError):
        return False
