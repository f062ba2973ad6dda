"""What the experiments of an environment use of it, read from the files of the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.samples import CLUSTER, JOB
from trainform.review.context import User
from trainform.review.files import users_in

SHARED = {"queues": {"research": {}, "batch": {}}, "claims": {"datasets": {"size": "1Ti"}},
    "priority_classes": {"urgent": {"value": 9}}}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two environments, and the stack of one experiment in the first."""
    (tmp_path / "Pulumi.yaml").write_text("name: lab\nruntime: python\n", encoding="utf-8")
    for name in ("dev", "prod"):
        write(tmp_path, f"environments/{name}", {**CLUSTER, **SHARED, "name": name})
        stack(tmp_path, name, name)
    experiment(tmp_path, "resnet", queue="research")
    return tmp_path


def write(root: Path, name: str, content: Any) -> None:
    path = root / "stacks" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")


def stack(root: Path, name: str, environment: str, experiment: str = "") -> None:
    config = {"trainform:environment": environment, **({"trainform:experiment": experiment} if experiment else {})}
    write(root, f"Pulumi.{name}", {"config": config})


def experiment(root: Path, name: str, **parts: Any) -> None:
    write(root, f"experiments/{name}", {**JOB, **parts, "name": name})
    stack(root, f"{name}.dev", "dev", name)


def uses(root: Path, **parts: Any) -> set[tuple[str, str]]:
    experiment(root, "resnet", **parts)
    (user,) = users_in("dev", root)
    assert (user.stack, user.experiment, user.unread) == ("resnet.dev", "resnet", "")
    return {*user.uses}


def test_a_queue_and_the_queue_above_an_own_one(project: Path) -> None:
    assert ("Queue", "research") in uses(project, queue="research")
    assert {("Queue", "resnet"), ("Queue", "batch")} <= uses(project, queue={"parent": "batch"})


def test_a_claim_by_name_and_by_a_patch(project: Path) -> None:
    claim = ("PersistentVolumeClaim", "datasets")
    assert claim not in uses(project, queue="research")
    assert claim in uses(project, queue="research", storage={"data": {"claim": "datasets", "mount": "/data"}})
    volumes = {"shared": {"persistentVolumeClaim": {"claimName": "datasets"}}}
    assert claim in uses(project, queue="research", roles=patched({"volumes": volumes}))


def test_a_priority_class_by_name_and_by_a_patch(project: Path) -> None:
    wanted = ("PriorityClass", "urgent")
    assert wanted not in uses(project, queue="research")
    assert wanted in uses(project, queue="research", priority_class="urgent")
    assert wanted in uses(project, queue="research", roles=patched({"priorityClassName": "urgent"}))


def patched(spec: dict[str, Any]) -> dict[str, Any]:
    """Roles whose pods have a merge patch."""
    return {"worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}


def test_an_object_that_the_environment_no_longer_has(project: Path) -> None:
    """The experiment has a problem then, and names the object all the same."""
    write(project, "environments/dev", {**CLUSTER, "name": "dev"})
    found = uses(
        project, queue="research", priority_class="urgent", storage={"data": {"claim": "datasets", "mount": "/data"}}
    )
    assert {("Queue", "research"), ("PriorityClass", "urgent"), ("PersistentVolumeClaim", "datasets")} <= found


def test_an_experiment_or_a_stack_that_cannot_be_read(project: Path) -> None:
    write(project, "experiments/resnet", "name: [")
    stack(project, "gone.dev", "dev", "gone")
    write(project, "Pulumi.broken.dev", {"config": {}})
    found = {user.stack: user for user in users_in("dev", project)}
    assert {name: user.experiment for name, user in found.items()} == {
        "broken.dev": "",
        "gone.dev": "gone",
        "resnet.dev": "resnet",
    }
    for user in found.values():
        assert user.unread
        assert user == User(user.stack, user.experiment, unread=user.unread)
    assert "no file of stacks/experiments/ has this name" in found["gone.dev"].unread
