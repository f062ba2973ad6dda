"""`trainform rehearse --from-cluster` of an experiment that was brought up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tests.engine.live import Live
from tests.engine.project import Project, Ran

PATIENCE = 240.0
IMAGE = "registry.example.com/ai/training:latest"


def rehearser(project: Project, image: str, live: Live) -> Callable[..., Ran]:
    """Brings an experiment up and rehearses the pods that the controller made of it: name, experiment, words of the command, variables."""

    def run(name: str, data: dict[str, Any], *words: str, **environ: str) -> Ran:
        project.experiment(name, {"image": IMAGE, "shared_memory": "64Mi", **data})
        stack = project.stack(name)
        project.ssh_secret(stack).succeeded()
        project.up(stack)
        live.running_pods(project.namespace, sum(role.get("replicas", 1) for role in data["roles"].values()))
        return project.run(
            sys.executable, "-m", "trainform", "rehearse", name, "-e", "dev", "--from-cluster", "--image", image, "--timeout", "3m", *words,
            timeout=PATIENCE, **environ,
        )  # fmt: skip

    return run
