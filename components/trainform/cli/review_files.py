"""The files that `trainform review` writes. All are checked before the preview runs, which may take minutes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from trainform.errors import InputError, Problem
from trainform.project import project_root
from trainform.terminal.output import OPTION, STANDARD_OUTPUT, target_of

ANOTHER = "give the path of another file"
IS_NO_REPORT = "is there already, and it is not an earlier report in this form"


class Form(StrEnum):
    """Forms of a report."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    COMMENT = "comment"


FORM_OF_SUFFIX = {".md": Form.MARKDOWN, ".html": Form.HTML, ".json": Form.JSON, ".txt": Form.TERMINAL}
_LONGEST_BEGINNING = 1000  # bytes; the name of a stack is in it
_TITLE = rb"(\S+|\d+ stacks?:?)( (clean|incomplete|findings|failed)[^\n]*)?\n"
_BEGINNINGS = {
    Form.TERMINAL: re.compile(rb"Review of " + _TITLE),
    Form.MARKDOWN: re.compile(rb"## Review of " + _TITLE),
    Form.HTML: re.compile(
        rb'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="trainform review">'
    ),
    Form.JSON: re.compile(rb'\{\n  "version": \d+,\n  "outcome": "'),
}


def forms_of(files: list[str]) -> dict[str, Form]:
    """The files with the form of each. InputError with every reason for which one of them cannot be written.

    A file that is there is replaced only if it is an earlier report: the file of an experiment, a README and the like
    are easily named by mistake.
    """
    targets: dict[Path, str] = {}
    problems = [problem for file in files for problem in _problems(file, targets)]
    if problems:
        raise InputError(problems)
    return {file: FORM_OF_SUFFIX[Path(file).suffix] for file in files}


def _problems(file: str, targets: dict[Path, str]) -> Iterator[Problem]:
    """What is wrong with the file. targets: the files before it, each by its target; this one is added."""
    if file == STANDARD_OUTPUT:
        yield Problem(
            OPTION, file, "standard output has the report in any case", "leave it out; --format chooses the form"
        )
        return
    form = FORM_OF_SUFFIX.get(Path(file).suffix)
    if form is None:
        fix = f"give it one of {', '.join(FORM_OF_SUFFIX)}"
        yield Problem(OPTION, file, "the ending of the name does not say the form", fix)
        return
    yield from _of_target(OPTION, file, lambda target: _is_report(target, form), targets, IS_NO_REPORT)


def refuse_target(option: str, file: str, is_earlier: Callable[[Path], bool], others: Sequence[str]) -> None:
    """Raise `InputError` if something else than a report may not be written to the file. is_earlier: whether the file
    that is there is an earlier one of the same kind. others: files that are written as well."""
    targets = {target_of(other): other for other in others}
    problems = [*_of_target(option, file, is_earlier, targets, "is there already, and it is something else")]
    if problems:
        raise InputError(problems)


def _of_target(
    option: str, file: str, is_earlier: Callable[[Path], bool], targets: dict[Path, str], other: str
) -> Iterator[Problem]:
    """What is wrong with the place of the file. targets: the files before it, each by its target; this one is added.
    other: what is said of a file that is there and no earlier one."""
    try:
        target = target_of(file)
        reason = _refused(file, target, targets)
        if reason is None and target.exists() and not is_earlier(target):
            reason = (other, f"{ANOTHER}, or remove this one")
    except InputError as error:
        yield from error.problems
        return
    except OSError as error:
        reason = (f"cannot be read: {str(error.strerror).lower()}", ANOTHER)
    if reason is not None:
        yield Problem(option, file, *reason)
    targets.setdefault(target, file)


def _refused(file: str, target: Path, others: Mapping[Path, str]) -> tuple[str, str] | None:
    """Reason and fix, if the report may not be written there."""
    if target in others:
        return f"is the same file as {others[target]}", "name it once"
    if Path(file).is_symlink():
        return f"is a link to {target}", "give the path of a file, not of a link"
    if target.is_relative_to(os.path.realpath(project_root() / "stacks")):
        return "lies among the files of the project's stacks", ANOTHER
    if file.endswith(os.sep):
        return "is the name of a directory", "give the path of a file in it"
    if not target.parent.is_dir():
        return "its folder does not exist", "make the folder first, or correct the path"
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return "its folder is not writable", "give the path of another file, or change its permissions"
    return None


def _is_report(target: Path, form: Form) -> bool:
    """True for an empty file too."""
    with target.open("rb") as stream:
        beginning = stream.read(_LONGEST_BEGINNING)
    return not beginning or _BEGINNINGS[form].match(beginning) is not None
