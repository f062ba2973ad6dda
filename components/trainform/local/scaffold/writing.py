"""Writes new files into a project, all or none, and never overwrites one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainform.console.files import create_files
from trainform.errors import InputError, Problem

Files = Mapping[str, str]
"""Path relative to the project -> text."""


def write_files(root: Path, files: Files, fix: str, through_links: bool = True) -> list[str]:
    """Write the files that do not exist, and return their paths. A file with the same text stays.

    Raises `InputError` before anything is written if another file is in the way. `fix`: that of these problems.
    `through_links`: True if a folder may be a link.
    """
    problems = dict.fromkeys(
        problem for path, text in files.items() for problem in _conflicts(root, path, text, fix, through_links)
    )
    if problems:
        raise InputError(problems)
    missing = {path: text for path, text in files.items() if not os.path.lexists(root / path)}
    try:
        create_files(root, missing)
    except FileExistsError:  # another process created one after the check above
        return write_files(root, files, fix, through_links)
    return list(missing)


def _conflicts(root: Path, path: str, text: str, fix: str, through_links: bool) -> Iterator[Problem]:
    above = [folder for folder in (root / path).parents if folder != root and folder.is_relative_to(root)]
    for folder in reversed(above):
        if os.path.lexists(folder) and not folder.is_dir():
            yield Problem(str(folder.relative_to(root)), None, "is not a folder", fix)
            return
        if folder.is_symlink() and not through_links:
            yield Problem(str(folder.relative_to(root)), None, "is a link to another folder", fix)
            return
    if os.path.lexists(root / path) and not _has_content(root / path, text.encode()):
        yield Problem(path, None, "exists already", fix)


def _has_content(path: Path, content: bytes) -> bool:
    """Return True if the file has this content, False if it cannot be read."""
    try:
        return path.is_file() and not path.is_symlink() and path.read_bytes() == content
    except OSError:
        return False
