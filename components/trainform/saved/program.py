"""The files and variables that decide a preview in addition to the experiment and the environment: the program, local
policy packs, and variables of the shell. Packs of a service are known from the preview."""

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
    """Return the files of the program by path. Other files count by the preview that follows from them."""
    found = {name: root / name for name in sorted(_names(root)) if makes_program(name)}
    return [(name, path.read_bytes()) for name, path in found.items() if path.is_file()]


def _names(root: Path) -> Iterator[str]:
    for entry in root.iterdir():
        if entry.is_file():
            yield entry.name
        elif entry.name in (*FOLDERS, _main(root)) or (entry / PACKAGE).is_file():
            yield from _modules(entry, root)


def _main(root: Path) -> str:
    """Return the top folder of the program."""
    main = read_content(root / PROJECT_FILE, PROJECT_FILE).data.get("main")
    return Path(main).parts[0] if isinstance(main, str) and Path(main).parts else ""


def _modules(folder: Path, root: Path) -> Iterator[str]:
    yield from (path.relative_to(root).as_posix() for path in written(folder) if path.suffix == MODULE)


def written(folder: Path) -> Iterator[Path]:
    """Return the files of a folder without those that Python or an installer writes."""
    for above, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if not name.startswith((".", "__"))
            and name != NODE_PACKAGES
            and not Path(above, name, ENVIRONMENT).exists()
        ]
        yield from (Path(above, file) for file in files)


PACKS = "PULUMI_OPTION_POLICY_PACK"
CONFIGS = f"{PACKS}_CONFIG"


def policy_files(environ: Mapping[str, str], root: Path) -> list[tuple[str, bytes]]:
    """Return the files of the packs and of their config by path, as Pulumi's variables name them."""
    folders, configs = (
        [root / name.strip() for name in environ.get(variable, "").split(",") if name.strip()]
        for variable in (PACKS, CONFIGS)
    )
    paths = [*(path for folder in folders for path in written(folder)), *configs]
    found = {os.path.relpath(path, root): path for path in paths if path.is_file()}
    return [(name, found[name].read_bytes()) for name in sorted(found)]


OF_PROVIDER = ("PULUMI_K8S_", "PULUMI_KUBERNETES_")
WITHOUT_EFFECT = ("PULUMI_K8S_CLIENT_", "PULUMI_K8S_SUPPRESS_", "PULUMI_K8S_HELM_")
"""Rates, warnings, and the folders of Helm."""


def provider_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that change how Pulumi's Kubernetes provider writes and deletes objects, which no preview
    shows: with PULUMI_K8S_ENABLE_PATCH_FORCE it takes fields from other managers."""
    names = sorted(name for name in environ if name.startswith(OF_PROVIDER) and not name.startswith(WITHOUT_EFFECT))
    return {name: environ[name] for name in names}
