"""A stack whose state is recorded: the project around it, as the state was made in it and as today's program meets
it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.engine.live import Live, until
from tests.engine.project import Project

FOLDER = Path(__file__).parent
STATE = FOLDER / "state.json"
EXPERIMENT, ENVIRONMENT = (
    yaml.safe_load((FOLDER / f"{name}.yaml").read_text()) for name in ("experiment", "environment")
)
NAMESPACE = ENVIRONMENT["namespace"]["name"]


@contextlib.contextmanager
def recorded_project(folder: Path, exports: dict[str, str], live: Live) -> Iterator[tuple[Project, str]]:
    """Yield the project and the name of its stack, which is empty; its namespace is there as long."""
    live.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    try:
        project = Project(folder, exports, NAMESPACE)
        project.environment(**ENVIRONMENT)
        project.experiment(EXPERIMENT["name"], EXPERIMENT)
        stack = project.stack(EXPERIMENT["name"])
        project.ssh_secret(stack).succeeded()
        yield project, stack
    finally:
        live.delete("namespaces", NAMESPACE)
        until(lambda: live.find("namespaces", NAMESPACE) is None, "the namespace to go")
