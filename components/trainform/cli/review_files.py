"""The files that `trainform review` writes. All are checked before the preview runs, which may take minutes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from trainform.cli.arguments import SUFFIXES, Form
from trainform.console.files import OPTION, STANDARD_OUTPUT, target_of
from trainform.errors import InputError, Problem

ANOTHER = "give the path of another file"
IS_NO_REPORT = "is there already, and it is not an earlier report in this form"


_LONGEST_BEGINNING = 1000  # bytes; the name of a stack is in it
_TITLE = rb"(\S+|\d+ stacks?:?)( (clean|incomplete|findings|failed)[^\n]*)?\n"
_BEGINNINGS = {
    Form.TEXT: re.compile(rb"Review of " + _TITLE),
    Form.MARKDOWN: re.compile(rb"## Review of " + _TITLE),
    Form.HTML: re.compile(
        rb'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="trainform review">'
    ),
    Form.JSON: re.compile(rb'\{\n  "version": \d+,\n  "outcome": "'),
}


def forms_of(files: list[str]) -> dict[str, Form]:
    """Return the form of each file. Raises `InputError` if one cannot be written: only earlier reports are replaced."""
    problems = [problem for file in files for problem in _problems(file)]
    if problems:
        raise InputError(problems)
    return {file: SUFFIXES[Path(file).suffix] for file in files}


def _problems(file: str) -> Iterator[Problem]:
    form = SUFFIXES.get(Path(file).suffix)
    if file == STANDARD_OUTPUT:
        fix = "leave it out; --output chooses the form"
        yield Problem(OPTION, file, "standard output has the report in any case", fix)
    elif form is None:
        fix = f"give it one of {', '.join(SUFFIXES)}"
        yield Problem(OPTION, file, "the ending of the name does not say the form", fix)
    else:
        yield from _of_target(OPTION, file, lambda target: _is_report(target, form), IS_NO_REPORT)


def refuse_target(option: str, file: str, is_earlier: Callable[[Path], bool], others: Sequence[str]) -> None:
    """Raise `InputError` if the file cannot be written, is one of the others, or exists and is not an earlier one."""
    problems = [*_of_target(option, file, is_earlier, "is there already, and it is something else")]
    same = [other for other in others if not problems and target_of(other) == target_of(file)]
    problems += [Problem(option, file, f"is the same file as {other}", "name it once") for other in same]
    if problems:
        raise InputError(problems)


def _of_target(option: str, file: str, is_earlier: Callable[[Path], bool], other: str) -> Iterator[Problem]:
    """Yield the problems with the target. other: the reason for an existing file that is not an earlier one."""
    try:
        target = target_of(file)
        if Path(file).is_symlink():
            yield Problem(option, file, f"is a link to {target}", "give the path of a file, not of a link")
        elif target.exists() and not is_earlier(target):
            yield Problem(option, file, other, f"{ANOTHER}, or remove this one")
        elif not target.parent.is_dir():
            yield Problem(option, file, "its folder does not exist", "make the folder first, or correct the path")
        elif not os.access(target.parent, os.W_OK | os.X_OK):
            yield Problem(option, file, "its folder is not writable", f"{ANOTHER}, or change its permissions")
    except InputError as error:
        yield from error.problems
    except OSError as error:
        yield Problem(option, file, f"cannot be read: {str(error.strerror).lower()}", ANOTHER)


def _is_report(target: Path, form: Form) -> bool:
    """Return True for an earlier report in this form, or an empty file."""
    with target.open("rb") as stream:
        beginning = stream.read(_LONGEST_BEGINNING)
    return not beginning or _BEGINNINGS[form].match(beginning) is not None
