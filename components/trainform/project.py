"""The paths and names of a project's files. No file is read, so that shell completion is fast."""

from __future__ import annotations

import shlex
from pathlib import Path

from trainform import defaults
from trainform.errors import CommandLineError

PROJECT_FILE = "Pulumi.yaml"
EXPERIMENTS, ENVIRONMENTS, RELEASES = "experiments", "environments", "releases"


def project_root(start: Path | None = None) -> Path:
    """Return the nearest folder with a Pulumi.yaml, from `start` (default: the current folder) upwards; `start` itself
    if there is none."""
    start = Path.cwd() if start is None else start
    return next((folder for folder in (start, *start.parents) if (folder / PROJECT_FILE).is_file()), start)


def require_project(root: Path | None = None) -> Path:
    """Return the folder of the project (default: `project_root()`). Raises `CommandLineError` without a Pulumi.yaml."""
    root = project_root() if root is None else root
    if not (root / PROJECT_FILE).is_file():
        raise CommandLineError(
            f"there is no project here: no {PROJECT_FILE} in this folder or above",
            "cd into your project, or run `trainform init` in an empty folder",
        )
    return root


def known_names(folder: str, root: Path | None = None) -> list[str]:
    """Return the names of the YAML files in a folder of `stacks/`, sorted."""
    root = project_root() if root is None else root
    return sorted(path.stem for path in (root / "stacks" / folder).glob("*.yaml"))


def stack_path(stack: str) -> str:
    """Return the path of a stack's config file, relative to the project."""
    return f"stacks/Pulumi.{stack}.yaml"


def release_path(experiment: str, name: str) -> str:
    """Return the path of a release of an experiment, relative to the project."""
    return f"stacks/{RELEASES}/{experiment}/{name}.yaml"


def known_stacks(root: Path | None = None) -> list[str]:
    """Return the names of the stacks with a config file, sorted."""
    root = project_root() if root is None else root
    return sorted(path.stem.removeprefix("Pulumi.") for path in root.glob(stack_path("*")))


def known_releases() -> list[str]:
    """Return the names of the releases of all experiments, sorted."""
    return sorted(path.stem for path in project_root().glob(release_path("*", "*")))


def deploy(stack: str) -> str:
    """Return the command that deploys a stack, also one that the backend does not have yet: `--create` selects one that
    it has."""
    return f"pulumi stack select --create {stack} && pulumi up -s {stack}"


def sandbox_up(root: Path | None = None, meant: str | None = None) -> str:
    """Return the command that starts the sandbox for an environment, which sets its nodes and its context: the one that
    is meant, where it is one of the project, else the one of the demo, or the only one."""
    names = known_names(ENVIRONMENTS, root)
    if meant in names:
        return f"trainform sandbox up -e {shlex.quote(str(meant))}"
    environment = (
        defaults.ENVIRONMENT if defaults.ENVIRONMENT in names else shlex.quote(names[0]) if len(names) == 1 else "ENV"
    )
    return f"trainform sandbox up -e {environment}" if names else "trainform sandbox up"
