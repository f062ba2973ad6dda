"""The launch contract lists all that operators add to pods: variables, init containers and mounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.samples import environment, experiment
from trainform.backends.backend import BACKENDS
from trainform.job.render import render_job
from trainform.manifests.manifest import mappings

SCRIPT = {"script": "/app/train.py"}
COMMAND = {"command": ["python", "/app/train.py"]}
MASTER_AND_WORKERS: dict[str, Any] = {
    "master": {"accelerators": {"l40s": 4}},
    "worker": {"replicas": 2, "accelerators": {"l40s": 4}},
}
WORKERS: dict[str, Any] = {"worker": {"replicas": 3}}
APART: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 2}}
ELASTIC = {"torchrun": {**SCRIPT, "elastic": {"min_nodes": 3, "max_nodes": 8}}}
JOBS: dict[str, dict[str, Any]] = {
    "a master": {"launcher": COMMAND, "roles": MASTER_AND_WORKERS},
    "workers": {"launcher": {"torchrun": SCRIPT}, "roles": WORKERS},
    "one pod": {"launcher": {"torchrun": SCRIPT}, "roles": {"worker": {}}},
    "elastic": {"launcher": ELASTIC, "roles": WORKERS},
    "tensorflow": {"launcher": {"tensorflow": COMMAND}, "roles": {"chief": {}, "worker": {"replicas": 2}}},
    "mpi": {"launcher": {"mpi": COMMAND}, "roles": MASTER_AND_WORKERS},
    "mpi apart": {"launcher": {"mpi": {**COMMAND, "role": "launcher"}}, "roles": APART},
    "the host network": {"launcher": COMMAND, "roles": MASTER_AND_WORKERS, "network": {"host": True}},
    "ports of their own": {"launcher": COMMAND, "roles": WORKERS, "network": {"host": True, "ports": "per-replica"}},
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("job", JOBS)
def test_what_an_operator_adds_is_listed(backend: str, job: str) -> None:
    made = render_job(experiment(backend=backend, **JOBS[job]), environment())
    if made.problems:
        return
    operator = BACKENDS[backend]
    pods, _ = operator.pods(made.plan, made.manifests)
    templates = [template.spec for template in operator.templates(made.plan, made.manifests)]
    added = {
        name for pod in pods for name in _parts(pod["spec"]) if not any(name in _parts(spec) for spec in templates)
    }
    text = re.sub(r"<[a-z]+>", "x", operator.ADDS, flags=re.IGNORECASE)
    assert {name for name in added if f"`{_listed(name, made.plan.by_name)}" not in text} == set()


def _parts(spec: dict[str, Any]) -> set[str]:
    return {*_names(spec)}


def _names(spec: dict[str, Any]) -> Iterator[str]:
    for container in mappings(spec.get("initContainers")):
        yield str(container["name"])
    for container in mappings(spec.get("containers")):
        yield from (str(entry["name"]) for entry in mappings(container.get("env")))
        yield from (str(mount["mountPath"]) for mount in mappings(container.get("volumeMounts")))


def _listed(name: str, roles: dict[str, Any]) -> str:
    """Return the name as the contract writes it: with any name in the place of a role's."""
    for role in sorted(roles, key=len, reverse=True):
        name = re.sub(rf"^VC_{role.upper().replace('-', '_')}(_[0-9]+)?_", "VC_x_", name)
    return name
