"""`trainform init`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form
from trainform.cli.created_files import show_created_files
from trainform.errors import InputError, Problem
from trainform.local.scaffold.project import (
    ENVIRONMENT,
    EXPERIMENT,
    is_project_name,
    is_unpublished,
    project_files,
    project_name,
    requirement,
)
from trainform.local.scaffold.writing import write_files
from trainform.local.toolchain.parts import PLUGIN_VERSION
from trainform.project import deploy

VIRTUALENV = ".venv"
NO_INDEX_REMARKS = (
    "requirements.txt has {trainform}, but this trainform was not installed from a package",
    "index. If your index does not have this version, write there `trainform @ ADDRESS`: the",
    "address of a wheel or a commit that CI and others can read.",
)
STACK = f"{EXPERIMENT}.{ENVIRONMENT}"
CONFLICT_FIX = "move it away, or choose an empty folder"

CREATE_VENV = f"python3 -m venv {VIRTUALENV}"
ACTIVATE = f"source {VIRTUALENV}/bin/activate"
NO_PIP = "{python} -m ensurepip"  # virtual environments of uv have no pip
INSTALL = "{python} -m pip install -r requirements.txt"
CACHE = "CACHEDIR.TAG"  # marks a cache folder (bford.info/cachedir)


@prints(*DATA)
def command(
    name: Annotated[
        str | None, typer.Option(help="Name of the Pulumi project. Default: the folder's name.", show_default=False)
    ] = None,
    *,
    form: Form,
) -> None:
    """Create a project in an empty folder.

    The project has Pulumi.yaml, an environment, an experiment for the sandbox, and a check for CI. Nothing is
    overwritten: if a file exists with other content, the command names it and writes no file.
    """
    folder = Path.cwd()
    if name is not None and not is_project_name(name):
        fix = "use at most 100 letters, digits, '-', '_' and '.', and not `pulumi`"
        raise InputError([Problem("--name", name, "is not a name that Pulumi accepts", fix)])
    virtualenv, preparation = _python(folder)
    ours = distribution("trainform")
    origin = ours.read_text("direct_url.json")
    trainform = requirement(ours.version, origin)
    files = project_files(project_name(folder.name) if name is None else name, virtualenv, trainform, PLUGIN_VERSION)
    written = write_files(folder, files, CONFLICT_FIX, through_links=False)
    # pulumi reads the terminal, and would read commands that are pasted after it: they are one chain
    following: dict[str, Sequence[str]] = {
        "next:": (*preparation, *(f"trainform {verb} {EXPERIMENT} -e {ENVIRONMENT}" for verb in ("check", "plan"))),
        "run it on the sandbox, on this machine (downloaded or built the first time):": (
            f"trainform sandbox up -e {ENVIRONMENT}",
            'eval "$(trainform sandbox env)"',
            " && ".join(f"{deploy(stack)} --yes" for stack in (ENVIRONMENT, STACK)),
        ),
        "review a change of a file, before `pulumi up`:": [f"trainform review {STACK}"],
        "remove it again (the namespace stays until `trainform sandbox down --purge`):": [
            f"pulumi destroy -s {STACK} --yes && pulumi destroy -s {ENVIRONMENT} --yes && trainform sandbox down"
        ],
    }
    remarks = [line.format(trainform=trainform) for line in NO_INDEX_REMARKS] if is_unpublished(origin) else []
    show_created_files(written, following, form is Form.JSON, remarks)


def _python(folder: Path) -> tuple[str | None, tuple[str, ...]]:
    """Return the virtual environment for Pulumi.yaml, and the commands that install trainform into its Python.

    None means `python3` on PATH, which is used if it is the Python of this process (an activated environment, a
    container). Otherwise it is the folder's own .venv: this Python, or a new one (for example after pipx, whose
    environment is not on PATH, or `uvx`, whose is temporary).
    """
    prefix, own = Path(sys.prefix).resolve(), folder / VIRTUALENV
    found = shutil.which("python3")
    on_path = found is not None and Path(found).parent.resolve() == prefix / "bin"
    if own.resolve() == prefix:
        return VIRTUALENV, (*(() if on_path else (ACTIVATE,)), *_missing_packages())
    if on_path and not _is_temporary(prefix):
        return None, _missing_packages()
    python = f"{VIRTUALENV}/bin/python"
    if not (folder / python).exists():
        return VIRTUALENV, (CREATE_VENV, INSTALL.format(python=python), ACTIVATE)
    has_pip = any(own.glob("lib/python3.*/site-packages/pip"))
    needed = (INSTALL,) if has_pip else (NO_PIP, INSTALL)
    return VIRTUALENV, (*(command.format(python=python) for command in needed), ACTIVATE)


def _missing_packages() -> tuple[str, ...]:
    """Return the commands that install what this Python needs to run the program on the sandbox."""
    has_pip = importlib.util.find_spec("pip") is not None
    fits = version("pulumi-kubernetes") == PLUGIN_VERSION
    needed = (*(() if has_pip else (NO_PIP,)), *(() if fits else (INSTALL,)))
    return tuple(command.format(python="python3") for command in needed)


def _is_temporary(prefix: Path) -> bool:
    """Return True for a temporary environment of `uvx`, which is in a cache folder. uv also marks other environments,
    but no folder above them."""
    return any((above / CACHE).is_file() for above in prefix.parents)
