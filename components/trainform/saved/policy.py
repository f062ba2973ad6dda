"""The policy packs that judge a preview: the folders that Pulumi's variables name, since neither `trainform review` nor `apply` has an option for one.

A service may add packs of its own. Those, and the versions of all, are known from the preview.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainform.saved.program import written

PACKS = "PULUMI_OPTION_POLICY_PACK"
CONFIGS = f"{PACKS}_CONFIG"
BETWEEN = ","


def policy_files(environ: Mapping[str, str], root: Path) -> list[tuple[str, bytes]]:
    """The files of the packs and of their config by path, with their contents."""
    found = {os.path.relpath(path, root): path for path in _files(environ, root) if path.is_file()}
    return [(name, found[name].read_bytes()) for name in sorted(found)]


def _files(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in _named(environ, PACKS):
        yield from written(root / folder)
    yield from (root / file for file in _named(environ, CONFIGS))


def _named(environ: Mapping[str, str], variable: str) -> list[str]:
    return [name.strip() for name in environ.get(variable, "").split(BETWEEN) if name.strip()]
