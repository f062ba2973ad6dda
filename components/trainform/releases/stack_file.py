"""Which release a stack follows is set in its file of config, of which no other character changes: people write it."""

from __future__ import annotations

from pathlib import Path

import yaml

from trainform.atomic import replacing
from trainform.errors import TrainformError
from trainform.locking import alone_in
from trainform.project import stack_path
from trainform.releases.files import write_release
from trainform.releases.model import Release
from trainform.spec.files import read_text
from trainform.spec.libyaml import Loader
from trainform.spec.read import parse_mapping
from trainform.spec.release import SETTING
from trainform.spec.stack import pinned_release, spellings

MARK = "\ufeff"
"""At the beginning of a file that some editors of Windows write. It is no part of the text."""
Entry = tuple[yaml.ScalarNode, yaml.ScalarNode]


def follow(release: Release, stack: str, root: Path) -> str:
    """Write the release and let the stack follow it; the release's name. First the release, then the stack: whoever is
    interrupted in between leaves a release that no stack names, and no stack that names nothing. TrainformError if the
    stack follows by now something else than what the release was made to replace: meanwhile somebody may have rolled it
    back."""
    with alone_in((root / stack_path(stack)).parent):
        return _follow(release, stack, root)


def _follow(release: Release, stack: str, root: Path) -> str:
    followed, before = pinned_release(stack, root), release.promoted.replaces
    if followed not in (before, release.name):
        names = ["the experiment's file" if name is None else f"release {name}" for name in (followed, before)]
        raise TrainformError(
            f"{stack} follows {names[0]} by now, and no longer {names[1]}: nothing is written",
            "run the same command again",
        )
    _text_with(stack, release.name, root)  # before anything is written: an error if the stack's file cannot be changed
    name = write_release(release, root)
    set_release(stack, name, root)
    return name


def set_release(stack: str, name: str, root: Path) -> None:
    """Let the stack follow the release. Another program may read the file at any time: it has the old text or the new
    one. TrainformError if it cannot be written: the release is there then."""
    path = root / stack_path(stack)
    text = _text_with(stack, name, root)
    if text is None:
        return
    try:
        before, mark = path.stat(), MARK if path.read_bytes().startswith(MARK.encode()) else ""
        with replacing(path.resolve(), before) as stream:
            stream.write(f"{mark}{text}")
    except OSError as error:
        why = f"{stack_path(stack)} cannot be written: {str(error.strerror).lower()}"
        fix = "make room, or correct the permissions, and run the same command again: it takes that release"
        raise TrainformError(f"{why}; the release {name} is written, and no stack names it yet", fix) from error


def _text_with(stack: str, name: str, root: Path) -> str | None:
    """The new text of the stack's file; None if it names the release already."""
    path = stack_path(stack)
    text = read_text(root / path, path)
    written = with_release(text, name, path, root)
    return None if written == text else written


def with_release(text: str, name: str, path: str, root: Path) -> str:
    """The text of a stack's file with the release. Where the file has none, it is set behind the experiment. root: the
    project says how keys may be written."""
    config, entries = _config(text)
    value = f'"{name}"'  # digits alone, or digits around an `e`, are a number where no quotes stand
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
    """Whether the new text says the same as the old one but for the release."""
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
