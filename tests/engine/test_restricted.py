"""Every launcher in a namespace that enforces the level `restricted` of the Pod Security Standards: its pods are made
and run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.pods import as_planned, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project
from tests.support.repository import names, read
from trainform.spec import Experiment
from trainform.spec.launchers import LAUNCHERS

pytestmark = pytest.mark.proof("every launcher under the level `restricted`")

BACKENDS = ("volcano", "jobset")
CLAIM = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "cloud-ai-test-pvc-1"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}  # fmt: skip


def as_user(data: dict[str, Any], backend: str) -> None:
    """The experiment as a user other than root, without the node's network, and small enough that all fit the
    cluster."""
    data |= {"backend": backend, "run_as": {"user": 1000, "home": "/home/trainer"}}
    data.pop("network", None)
    for role in data["roles"].values():
        role |= {"accelerators": {"a800": 1}} if role.get("accelerators") else {}
        for field in ("cpu", "memory"):
            role.pop(field, None)


def restricted(live: Live, project: Project) -> None:
    """The namespace enforces the level, and the environment asks for it without an opening."""
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    path = live.path("namespaces", name=project.namespace)
    assert live.request("PATCH", path, labels, "application/merge-patch+json").status_code == 200
    project.environment(limits={"pod_security": "restricted"}, rdma=None)


def test_the_pods_of_every_launcher_are_admitted(addons_project: Project, addons_live: Live) -> None:
    of_launcher = {launcher(name): name for name in names("experiments")}
    assert of_launcher.keys() == set(LAUNCHERS)
    restricted(addons_live, addons_project)
    addons_live.create("persistentvolumeclaims", CLAIM, addons_project.namespace)
    called = {f"{name}-{backend}": (name, backend) for name in of_launcher.values() for backend in BACKENDS}
    for written, (name, backend) in called.items():
        addons_project.copied(name, lambda data, backend=backend: as_user(data, backend), written)  # type: ignore[misc]
    stack = stack_of(addons_project, "all", list(called))
    addons_project.up(stack)
    for written in called:
        plan = addons_project.plan(written)
        as_planned(addons_live, plan)
        for pod in pods_of(addons_live, plan).values():
            assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    addons_project.destroy(stack)


def test_the_server_refuses_what_we_refuse(addons_project: Project, addons_live: Live) -> None:
    """Without `run_as` the check says what to write."""
    restricted(addons_live, addons_project)
    addons_project.copied("hello")
    said = addons_project.pulumi("preview", "-s", addons_project.stack("hello")).failed()
    assert "a container may run as root" in said
    assert "write `run_as: {user: 1000}`" in said


def launcher(name: str) -> str:
    """The launcher of a teaching experiment."""
    return Experiment.model_validate(read("experiments", name)).launcher.kind
