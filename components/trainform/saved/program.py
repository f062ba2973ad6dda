"""The files that make the program of a project: its modules, and what says which packages it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trainform.project import PROJECT_FILE
from trainform.review.touched import makes_program
from trainform.spec.read import read_content

MODULE = ".py"
FOLDERS = ("stacks", "components")
PACKAGE, ENVIRONMENT, NODE_PACKAGES = "__init__.py", "pyvenv.cfg", "node_modules"


def program_files(root: Path) -> list[tuple[str, bytes]]:
    """The files by path, with their contents. Of other files of the folders the preview says what follows from them."""
    found = {name: root / name for name in sorted(_names(root)) if makes_program(name)}
    return [(name, path.read_bytes()) for name, path in found.items() if path.is_file()]


def _names(root: Path) -> Iterator[str]:
    for entry in root.iterdir():
        if entry.is_file():
            yield entry.name
        elif entry.name in (*FOLDERS, _main(root)) or (entry / PACKAGE).is_file():
            yield from _modules(entry, root)


def _main(root: Path) -> str:
    """The folder at the top in which the program is."""
    main = read_content(root / PROJECT_FILE, PROJECT_FILE).data.get("main")
    return Path(main).parts[0] if isinstance(main, str) and Path(main).parts else ""


def _modules(folder: Path, root: Path) -> Iterator[str]:
    yield from (path.relative_to(root).as_posix() for path in written(folder) if path.suffix == MODULE)


def written(folder: Path) -> Iterator[Path]:
    """The files of a folder that somebody has written, and not those that Python or an installer makes there."""
    for above, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith((".", "__"))
            and name != NODE_PACKAGES
            and not Path(above, name, ENVIRONMENT).exists()
        ]
        yield from (Path(above, file) for file in files)
