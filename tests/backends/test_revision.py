"""The revision: what a running job cannot take in place makes a new one, and nothing else does."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec import structs

from tests.support.rendering import plan_job
from tests.support.samples import JOB, environment, plan
from trainform.job.render import job_manifests
from trainform.manifests.manifest import to_yaml
from trainform.spec.experiment import Experiment

BASE: dict[str, Any] = {
    **JOB,
    "roles": {
        "worker": {"replicas": 4, "accelerators": {"a800": 8}, "cpu": 8, "memory": "64Gi"},
        "evaluation-watcher": {
            "replicas": 2,
            "ranked": False,
            "command": ["python", "watch.py"],
            "cpu": 1,
            "memory": "1Gi",
        },
    },
    "env": {"NCCL_DEBUG": "INFO", "NCCL_IB_DISABLE": "0"},
    "storage": {"checkpoints": {"size": "2Ti", "class": "fast", "mount": "/mnt/output"}},
    "shared_memory": "16Gi",
    "queue": {"weight": 2},
}
ELASTIC: dict[str, Any] = {
    **BASE, "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}},
}  # fmt: skip


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(base)
    *parents, last = path.split("/")
    parent = data
    for part in parents:
        parent = parent.setdefault(part, {})
    parent[last] = value
    return data


def revision(data: dict[str, Any], run: int = 1, **cluster: Any) -> str:
    return plan_job(Experiment.model_validate(data), environment(**cluster), run).revision


def test_elastic_workers_come_and_go_within_their_bounds() -> None:
    assert revision(ELASTIC) != revision(BASE)
    for replicas in (2, 3, 8):
        assert revision(changed(ELASTIC, "roles/worker/replicas", replicas)) == revision(ELASTIC)
    assert revision(changed(ELASTIC, "launcher/torchrun/elastic/max_nodes", 9)) != revision(ELASTIC)


WITH_SSH: dict[str, Any] = {**BASE, "ssh": {}}


def test_a_rotation_of_keys_changes_the_secret_and_the_record_alone() -> None:
    before, after = (
        plan_job(Experiment.model_validate(data), environment())
        for data in (WITH_SSH, changed(WITH_SSH, "ssh/rotation", 2))
    )
    assert before.revision == after.revision
    assert before.ssh is not None and after.ssh is not None
    assert (before.ssh.rotation, after.ssh.rotation) == (1, 2)
    assert before.record != after.record
    unrecorded = (job_manifests(structs.replace(plan, record=None)) for plan in (before, after))
    different = [one.key for one, other in zip(*unrecorded, strict=True) if one.key != "ssh" and one != other]
    assert different == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("roles/worker/memory", "65536Mi"),
        ("roles/worker/cpu", "8"),
        ("roles/worker/cpu", 8.0),
        ("roles/evaluation-watcher/cpu", "1000m"),
        ("shared_memory", "16384Mi"),
        ("storage/checkpoints/size", "2048Gi"),
    ],
)
def test_spelling_does_not_count(path: str, value: Any) -> None:
    one, other = (
        plan_job(Experiment.model_validate(data), environment()) for data in (BASE, changed(BASE, path, value))
    )
    assert to_yaml(job_manifests(one)) == to_yaml(job_manifests(other))


def test_order_of_fields_does_not_count() -> None:
    turned = {key: BASE[key] for key in reversed(BASE)}
    turned["roles"] = {name: dict(reversed(role.items())) for name, role in BASE["roles"].items()}
    assert revision(turned) == revision(BASE)


def test_order_of_roles_counts() -> None:
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 3}}
    assert plan(roles=roles).revision != plan(roles=dict(reversed(roles.items()))).revision
