"""What else than the two files decides what a preview shows: the project's program, its policy packs, and variables of
the shell.

The policy packs are the folders that Pulumi's variables name, since neither `trainform review` nor `apply` has an
option for one. A service may add packs of its own; those, and the versions of all, are known from the preview.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
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


# --- policy packs

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


# --- the shell

OF_PROVIDER = ("PULUMI_K8S_", "PULUMI_KUBERNETES_")
WITHOUT_EFFECT = ("PULUMI_K8S_CLIENT_", "PULUMI_K8S_SUPPRESS_", "PULUMI_K8S_HELM_")
"""How fast it asks, what it warns of, and where Helm keeps its files."""


def provider_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by which Pulumi's Kubernetes provider writes and deletes objects otherwise, which no preview shows:
    with PULUMI_K8S_ENABLE_PATCH_FORCE it takes fields from other managers without a conflict."""
    names = sorted(name for name in environ if name.startswith(OF_PROVIDER) and not name.startswith(WITHOUT_EFFECT))
    return {name: environ[name] for name in names}
