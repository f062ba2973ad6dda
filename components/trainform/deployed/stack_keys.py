"""Set a key of a stack in its file, of which no other character changes."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from trainform.console.files import read_text, replacing
from trainform.console.locking import lock_folder
from trainform.errors import TrainformError
from trainform.project import stack_path
from trainform.spec.read import parse_mapping
from trainform.spec.stack import NAMESPACE, Stack, load_stack, project_name, spellings


def set_key(stack: str, key: str, choose: Callable[[Stack], int], root: Path) -> tuple[Stack, int]:
    """Give the key the value that `choose` returns for the stack. Return the stack as it was before, and the value."""
    path = stack_path(stack)
    with lock_folder((root / path).parent):
        before, text = load_stack(stack, root), read_text(root / path, path)
        value = choose(before)
        if value != getattr(before, key):
            replace_files({stack: insert_key(text, key, json.dumps(value), path, root)}, root)
    return before, value


def replace_files(texts: Mapping[str, str], root: Path, consequence: str = "") -> None:
    """Replace the files of the stacks, once all the new texts are on the disk. consequence: of a failure."""
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
            f"{stack_path(stack)} cannot be written: {str(error.strerror).lower()}{consequence}",
            "make room, or correct the permissions, and run the same command again",
        ) from error


def insert_key(text: str, key: str, value: str, path: str, root: Path) -> str:
    """Return the text of a stack's file with the value of the key, behind the experiment if the file has no such key.

    value: as YAML.
    """
    written, present, new = text, _spelling_in(text, key, root), f"{NAMESPACE}:{key}"
    if present is not None:
        written = re.sub(rf"^( +{re.escape(present)}: *)[^\s#]*", rf"\g<1>{value}", text, count=1, flags=re.MULTILINE)
    else:
        experiment = _spelling_in(text, "experiment", root) or ""
        found = re.search(rf"^( +){re.escape(experiment)}:[^\r\n]*(\r?\n|$)", text, re.MULTILINE)
        if found is not None:
            newline = found[2] or "\n"
            line = f"{found[1]}{new}: {value}{newline}"
            written = f"{text[: found.start()]}{found[0].removesuffix(newline)}{newline}{line}{text[found.end() :]}"
    if not _differ_by_key(text, written, present or new, value):
        fix = f"write `{new}: {value}` under `config` there, and run the same command again"
        raise TrainformError(f"{path} cannot be changed without a change of something else in it", fix)
    return written


def _spelling_in(text: str, key: str, root: Path) -> str | None:
    """Return the spelling of the key in the file."""
    names = spellings(key, project_name(root))
    return next((name for name in names if re.search(rf"^ +{re.escape(name)}:", text, re.MULTILINE)), None)


def _differ_by_key(before: str, after: str, key: str, value: str) -> bool:
    """Return True if nothing but the key differs."""
    try:
        expected = parse_mapping(before, "").data
        expected["config"] = {**expected["config"], **parse_mapping(f"{key}: {value}", "").data}
        return bool(parse_mapping(after, "").data == expected)
    except (TrainformError, KeyError, TypeError):
        return False
