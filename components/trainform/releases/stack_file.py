"""Set the release that a stack follows in the stack's file, of which no other character changes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import yaml

from trainform.atomic import replacing
from trainform.errors import TrainformError
from trainform.locking import alone_in
from trainform.project import stack_path
from trainform.releases.files import write_releases
from trainform.releases.model import Release
from trainform.spec.files import read_text
from trainform.spec.libyaml import Loader
from trainform.spec.read import parse_mapping
from trainform.spec.release import SETTING
from trainform.spec.stack import pinned_release, spellings

MARK = "\ufeff"
"""Some editors of Windows begin a file with it. It is not part of the text."""
Entry = tuple[yaml.ScalarNode, yaml.ScalarNode]


def follow(release: Release, stack: str, root: Path) -> str:
    """Write the release and let the stack follow it. Return the release's name."""
    follow_all({stack: release}, root)
    return release.name


def follow_all(releases: Mapping[str, Release], root: Path) -> None:
    """Write the releases and let each stack follow its own: all of them or none.

    The releases come first: an interruption leaves a release without a stack, and never a stack without its release.
    TrainformError if a stack follows another release by now than the one that is to be replaced.
    """
    with alone_in((root / stack_path(next(iter(releases)))).parent):
        for stack, release in releases.items():
            _refuse_moved(release, stack, root)
        # before anything is written: an error if a stack's file cannot be changed
        texts = {stack: _text_with(stack, release.name, root) for stack, release in releases.items()}
        write_releases(releases.values(), root)
        _write(texts, root)


def _refuse_moved(release: Release, stack: str, root: Path) -> None:
    followed, before = pinned_release(stack, root), release.promoted.replaces
    if followed not in (before, release.name):
        names = ["the experiment's file" if name is None else f"release {name}" for name in (followed, before)]
        raise TrainformError(
            f"{stack} follows {names[0]} by now, and no longer {names[1]}: nothing is written",
            "run the same command again",
        )


def set_release(stack: str, name: str, root: Path) -> None:
    """Let the stack follow the release. TrainformError if its file cannot be written."""
    _write({stack: _text_with(stack, name, root)}, root)


def _write(texts: Mapping[str, str | None], root: Path) -> None:
    """Replace the files of the stacks, once all the new texts are on the disk. None: the file stays."""
    stack = ""
    try:
        with contextlib.ExitStack() as files:
            for stack, text in texts.items():
                if text is not None:
                    path = root / stack_path(stack)
                    mark = MARK if path.read_bytes().startswith(MARK.encode()) else ""
                    stream = files.enter_context(replacing(path.resolve(), path.stat()))
                    stream.write(f"{mark}{text}")
                    stream.flush()
    except OSError as error:
        raise TrainformError(
            f"{stack_path(stack)} cannot be written: {str(error.strerror).lower()}; its release is written, and no "
            "stack names it yet",
            "make room, or correct the permissions, and run the same command again: it takes that release",
        ) from error


def _text_with(stack: str, name: str, root: Path) -> str | None:
    """Return the new text of the stack's file; None if it names the release already."""
    path = stack_path(stack)
    text = read_text(root / path, path)
    written = with_release(text, name, path, root)
    return None if written == text else written


def with_release(text: str, name: str, path: str, root: Path) -> str:
    """Return the text of a stack's file with the release, behind the experiment where the file has none."""
    config, entries = _config(text)
    value = f'"{name}"'  # without quotes digits, also around an `e`, are a number
    found, experiment = (
        next((spelling for spelling in spellings(key, root) if spelling in entries), None)
        for key in ("release", "experiment")
    )
    if found is not None:
        old = entries[found][1]
        written = f"{text[: old.start_mark.index]}{value}{text[old.end_mark.index :]}"
    elif config is None or experiment is None:
        raise _not_changed(path, name)
    else:
        key, last = entries[experiment]
        end = last.end_mark.index
        if not config.flow_style:  # a comment may follow on the line
            end = next((index for index in range(end, len(text)) if text[index] in "\r\n"), len(text))
        newline = "\r\n" if text[end : end + 2] == "\r\n" else "\n"
        between = ", " if config.flow_style else f"{newline}{' ' * key.start_mark.column}"
        written = f"{text[:end]}{between}{SETTING}: {value}{text[end:]}"
    if not _differ_by_release(text, written, SETTING if found is None else found, name):
        raise _not_changed(path, name)
    return written


def _config(text: str) -> tuple[yaml.MappingNode | None, dict[str, Entry]]:
    """The mapping under `config`, and its entries of one value each."""
    try:
        top = _entries(yaml.compose(text, Loader=Loader))
    except yaml.YAMLError:  # somebody has written it meanwhile
        return None, {}
    config = top.get("config", (None, None))[1]
    if not isinstance(config, yaml.MappingNode):
        return None, {}
    pairs = _entries(config).items()
    return config, {name: (key, value) for name, (key, value) in pairs if isinstance(value, yaml.ScalarNode)}


def _entries(node: yaml.Node | None) -> dict[str, tuple[yaml.ScalarNode, yaml.Node]]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {key.value: (key, value) for key, value in pairs if isinstance(key, yaml.ScalarNode)}


def _differ_by_release(before: str, after: str, key: str, name: str) -> bool:
    """True if nothing but the release differs."""
    expected = parse_mapping(before, "").data
    expected["config"] = {**expected["config"], key: name}
    try:
        return parse_mapping(after, "").data == expected
    except TrainformError:
        return False


def _not_changed(path: str, name: str) -> TrainformError:
    return TrainformError(
        f"{path} cannot be changed without a change of something else in it",
        f'write `{SETTING}: "{name}"` under `config` there, and run the same command again',
    )
