"""Writes new files into a project, all or none, and never over another one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainform.atomic import create_files
from trainform.errors import InputError, Problem

Files = Mapping[str, str]
"""Text by path from the project's folder."""


def write_files(root: Path, files: Files, fix: str, through_links: bool = True) -> list[str]:
    """Write those that are not there; their paths. A file that holds the same text already stays; any other one, or what stands where a
    folder must be, is refused before anything is written. fix: what to do about it. through_links: whether a folder may be a link."""
    problems = dict.fromkeys(
        problem for path, text in files.items() for problem in _in_the_way(root, path, text, fix, through_links)
    )
    if problems:
        raise InputError(problems)
    missing = {path: text for path, text in files.items() if not os.path.lexists(root / path)}
    try:
        create_files(root, missing)
    except FileExistsError:  # since the look above: somebody else was at work, too
        return write_files(root, files, fix, through_links)
    return list(missing)


def _in_the_way(root: Path, path: str, text: str, fix: str, through_links: bool) -> Iterator[Problem]:
    above = [folder for folder in (root / path).parents if folder != root and folder.is_relative_to(root)]
    for folder in reversed(above):
        if os.path.lexists(folder) and not folder.is_dir():
            yield Problem(str(folder.relative_to(root)), None, "is no folder", fix)
            return
        if folder.is_symlink() and not through_links:
            yield Problem(str(folder.relative_to(root)), None, "is a link to another folder", fix)
            return
    if os.path.lexists(root / path) and not _holds(root / path, text.encode()):
        yield Problem(path, None, "exists already", fix)


def _holds(path: Path, content: bytes) -> bool:
    """Whether the file has this content. It is read only where it has the same size; False where that cannot be done."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size != len(content):
            return False
        return path.read_bytes() == content
    except OSError:
        return False
