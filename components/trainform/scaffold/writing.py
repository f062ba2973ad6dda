"""Writes new files into a project, all or none, and never over another one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from trainform.errors import InputError, Problem

Files = Mapping[str, str]
"""Text by path from the project's folder."""


def write_files(root: Path, files: Files, fix: str) -> list[str]:
    """Write those that are not there; their paths. A file that holds the same text already stays; any other one, or what stands where a folder must
    be, is refused before anything is written. fix: what to do about it."""
    problems = [problem for path, text in files.items() for problem in _in_the_way(root, path, text, fix)]
    if problems:
        raise InputError(problems)
    missing = [path for path in files if not os.path.lexists(root / path)]
    for path in missing:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("x", encoding="utf-8") as file:
            file.write(files[path])
    return missing


def _in_the_way(root: Path, path: str, text: str, fix: str) -> list[Problem]:
    above = [folder for folder in (root / path).parents if folder != root and folder.is_relative_to(root)]
    blocked = [folder for folder in above if os.path.lexists(folder) and not folder.is_dir()]
    if blocked:
        return [Problem(str(blocked[-1].relative_to(root)), None, "is no folder", fix)]
    if os.path.lexists(root / path) and not _holds(root / path, text):
        return [Problem(path, None, "exists already", fix)]
    return []


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode()
