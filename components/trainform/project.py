"""Where the files of a project are, and their names. None is read, so that a shell's completion is fast."""

from __future__ import annotations

import shlex
from pathlib import Path

from trainform.errors import CommandLineError

PROJECT_FILE = "Pulumi.yaml"
EXPERIMENTS, ENVIRONMENTS = "experiments", "environments"


def project_root(start: Path | None = None) -> Path:
    """The nearest folder with a Pulumi.yaml, from `start` (default: the current one) upwards; else `start` itself."""
    start = Path.cwd() if start is None else start
    return next((folder for folder in (start, *start.parents) if (folder / PROJECT_FILE).is_file()), start)


def require_project(root: Path) -> None:
    """CommandLineError where the folder that `project_root` gave is that of no project."""
    if not (root / PROJECT_FILE).is_file():
        raise CommandLineError(
            f"there is no project here: no {PROJECT_FILE} in this folder or above",
            "cd into your project, or in an empty folder `trainform init`",
        )


def known_names(folder: str, root: Path | None = None) -> list[str]:
    """The names of the files in this folder of `stacks/`, in order."""
    root = project_root() if root is None else root
    return sorted(path.stem for path in (root / "stacks" / folder).glob("*.yaml"))


def stack_path(stack: str) -> str:
    """The file of the stack's config, from the project's folder on."""
    return f"stacks/Pulumi.{stack}.yaml"


def known_stacks(root: Path | None = None) -> list[str]:
    """The stacks that have a file of config, in order."""
    root = project_root() if root is None else root
    return sorted(path.stem.removeprefix("Pulumi.") for path in root.glob(stack_path("*")))


def sandbox_up(root: Path | None = None) -> str:
    """The command that starts the sandbox as an environment says; without one it would have other nodes and another context."""
    names = known_names(ENVIRONMENTS, root)
    environment = shlex.quote(names[0]) if len(names) == 1 else "ENV"
    return f"trainform sandbox up -e {environment}" if names else "trainform sandbox up"
