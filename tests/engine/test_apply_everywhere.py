"""A review and its apply with nothing between them, of every teaching experiment on every operator: nothing has moved."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.applying import apply, check, reviewed_and_applied, save
from tests.engine.live import Live, until
from tests.engine.pods import as_planned
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.engine.test_backends import CLAIM, able, small
from tests.engine.test_capacity_of_kueue import queue_of_two_nodes
from trainform.backends.table import BACKENDS

pytestmark = pytest.mark.proof("no change is found where there is none")


def write(project: Project, pairs: dict[str, tuple[str, str]], letter: str) -> None:
    """Write each experiment for its operator, with a variable that makes a revision."""
    for called, (name, backend) in pairs.items():

        def edit(data: dict[str, Any], backend: str = backend) -> None:
            small(data)
            data |= {"backend": backend, "env": {**data.get("env", {}), "LETTER": letter}}

        project.copied(name, edit, called)


def test_nothing_has_moved_where_nothing_was_done(addons_project: Project, addons_live: Live) -> None:
    """Between a review and its apply the controllers run, and write what is theirs."""
    project, live = addons_project, addons_live
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    live.create("persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM}, "spec": spec}, project.namespace)  # fmt: skip
    pairs = {f"{name}-{backend}": (name, backend) for backend in BACKENDS for name in able(backend)}
    assert {backend for _, backend in pairs.values()} == {*BACKENDS}
    write(project, pairs, "A")
    stack = stack_of(project, "all", list(pairs))
    reviewed_and_applied(project, stack)
    write(project, pairs, "B")
    file = save(project, stack)
    write(project, pairs, "A")
    for called in pairs:
        as_planned(live, project.plan(called))
    write(project, pairs, "B")
    found = apply(project, file)
    assert (found.code, found.moved, found.verdict["not_compared"]) == (0, set(), []), found.output


def test_what_kueue_does_meanwhile_has_not_moved(addons_project: Project, addons_live: Live) -> None:
    """It lets a job go that it has held back, and writes into the pod templates which nodes the job may have."""
    project, live, namespace = addons_project, addons_live, addons_project.namespace
    project.environment(admission="kueue", limits={})
    flavor, *queues = queue_of_two_nodes(namespace, namespace)
    bodies = [{**flavor, "spec": {"nodeLabels": {"example.com/pool": "a800"}}}, *queues]
    held = {
        "image": "registry.example.com/ai/pytorch-training:a",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "backend": "jobset",
        "queue": "team",
        "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}},
    }
    live.make(bodies[2])
    try:
        project.experiment("held", held)
        stack = project.stack("held")
        project.up(stack)
        name = project.plan("held").job
        project.experiment("held", {**held, "env": {"LETTER": "B"}})
        file = save(project, stack)
        for body in bodies[:2]:
            live.make(body)
        until(lambda: "example.com/pool" in str(live.get("jobsets", name, namespace)["spec"]), "Kueue to place it")
        assert check(project, file).code == 0
        project.destroy(stack)
    finally:
        for body in reversed(bodies):
            live.remove(body)
