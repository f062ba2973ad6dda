"""`trainform init`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Annotated

import typer

from trainform.cli.arguments import JsonOption
from trainform.cli.written import show_written
from trainform.errors import InputError, Problem
from trainform.scaffold.project import (
    ENVIRONMENT,
    EXPERIMENT,
    is_project_name,
    project_files,
    project_name,
    requirement,
)
from trainform.scaffold.writing import write_files
from trainform.toolchain.parts import PLUGIN_VERSION

VIRTUALENV = ".venv"
STACK = f"{EXPERIMENT}.{ENVIRONMENT}"
IN_THE_WAY = "move it away, or choose an empty folder"

MAKE = f"python3 -m venv {VIRTUALENV}"
ACTIVATE = f"source {VIRTUALENV}/bin/activate"
NO_PIP = "{python} -m ensurepip"  # uv makes virtual environments without
INSTALL = "{python} -m pip install -r requirements.txt"
CACHE = "CACHEDIR.TAG"  # what marks a cache as one (bford.info/cachedir)

LOOK = (
    f"trainform check {EXPERIMENT} -e {ENVIRONMENT}",
    f"trainform plan {EXPERIMENT} -e {ENVIRONMENT}",
)
# One line for all of pulumi's: it reads the terminal, and takes the lines that are pasted behind it.
ON_THE_SANDBOX = (
    f"trainform sandbox up -e {ENVIRONMENT}",
    'eval "$(trainform sandbox env)"',
    " && ".join(
        f"pulumi stack select --create {stack} && pulumi up -s {stack} --yes" for stack in (ENVIRONMENT, STACK)
    ),
)
AWAY = (f"pulumi destroy -s {STACK} --yes && pulumi destroy -s {ENVIRONMENT} --yes && trainform sandbox down",)


def command(
    name: Annotated[
        str | None, typer.Option(help="Name of the Pulumi project. Default: the folder's name.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a project in an empty folder.

    It has Pulumi.yaml, an environment, an experiment that runs on the sandbox, and a check for CI. Overwrites nothing: where one of its files is there with another content, it names all of these and writes none.
    """
    folder = Path.cwd()
    if name is not None and not is_project_name(name):
        fix = "use at most 100 letters, digits, '-', '_' and '.', and not `pulumi`"
        raise InputError([Problem("--name", name, "is not a name that Pulumi takes", fix)])
    virtualenv, preparation = _python(folder)
    ours = distribution("trainform")
    trainform = requirement(ours.version, ours.read_text("direct_url.json"))
    files = project_files(project_name(folder.name) if name is None else name, virtualenv, trainform, PLUGIN_VERSION)
    written = write_files(folder, files, IN_THE_WAY, through_links=False)
    following = {
        "next:": (*preparation, *LOOK),
        "on the sandbox, a control plane on this machine, whose programs are downloaded or built the first time:": ON_THE_SANDBOX,
        "to take it away again:": AWAY,
    }
    show_written(written, following, as_json)


def _python(folder: Path) -> tuple[str | None, tuple[str, ...]]:
    """Which virtual environment Pulumi is to be told, and what the user types so that its Python has trainform.

    Without one Pulumi runs `python3` of PATH: right where that is the Python of this process (an activated environment, a container). Else it is the
    folder's own .venv: this Python, or one to be made (after pipx, for instance, whose environment is on nobody's PATH, or `uvx`, whose is soon gone).
    """
    prefix, own = Path(sys.prefix).resolve(), folder / VIRTUALENV
    found = shutil.which("python3")
    on_path = found is not None and Path(found).parent.resolve() == prefix / "bin"
    if own.resolve() == prefix:
        return VIRTUALENV, (*(() if on_path else (ACTIVATE,)), *_missing_here())
    if on_path and not _in_a_cache(prefix):
        return None, _missing_here()
    python = f"{VIRTUALENV}/bin/python"
    if not (folder / python).exists():
        return VIRTUALENV, (MAKE, INSTALL.format(python=python), ACTIVATE)
    has_pip = any(own.glob("lib/python3.*/site-packages/pip"))
    needed = (INSTALL,) if has_pip else (NO_PIP, INSTALL)
    return VIRTUALENV, (*(command.format(python=python) for command in needed), ACTIVATE)


def _missing_here() -> tuple[str, ...]:
    """What this Python lacks, once it is activated, to run the program on the sandbox."""
    has_pip = importlib.util.find_spec("pip") is not None
    fits = version("pulumi-kubernetes") == PLUGIN_VERSION
    needed = (*(() if has_pip else (NO_PIP,)), *(() if fits else (INSTALL,)))
    return tuple(command.format(python="python3") for command in needed)


def _in_a_cache(prefix: Path) -> bool:
    """True for an environment for one command, as `uvx` makes it. uv marks lasting ones, too, but not a folder above them."""
    return any((above / CACHE).is_file() for above in prefix.parents)
