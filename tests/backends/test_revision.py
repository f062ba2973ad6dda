"""The revision: what a running job cannot take in place makes a new one, and nothing else does."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec import structs

from tests.support.rendering import plan_job
from tests.support.samples import CLUSTER, JOB, environment, plan
from trainform.manifests.documents import to_yaml
from trainform.objects import job_manifests
from trainform.spec import Experiment

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


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("image", "registry.example.com/ai/pytorch-training:3.0"),
        ("launcher/command", ["python", "/app/other.py"]),
        ("roles/worker/command", ["python", "/app/other.py"]),
        ("roles/evaluation-watcher/command", ["python", "other.py"]),
        ("env/NCCL_DEBUG", "WARN"),
        ("env/NEW", ""),
        ("roles/worker/env", {"LOCAL": "1"}),
        ("roles/worker/accelerators", {"a800": 4}),
        ("roles/worker/cpu", 9),
        ("roles/worker/memory", "65Gi"),
        ("roles/worker/resources", {"ephemeral-storage": "1Gi"}),
        ("roles/worker/replicas", 3),
        ("roles/worker/labels", {"team": "vision"}),
        ("roles/worker/annotations", {"team": "vision"}),
        ("roles/worker/pod_overrides", {"spec": {"enableServiceLinks": False}}),
        ("roles/worker/restart", "on-failure"),
        ("roles/worker/max_retry", 5),
        ("queue", "night"),
        ("queue/name", "other"),
        ("shared_memory", "17Gi"),
        ("storage/checkpoints/mount", "/mnt/checkpoints"),
        ("storage/models", {"claim": "models", "mount": "/mnt/models"}),
        ("network", {"port": 2222}),
        ("network", {"host": True}),
        ("network", {"wait": "20m"}),
        ("network", {"addresses": "service"}),
        ("network", {"host": True, "ports": "per-replica"}),
        ("ssh", {}),
        ("ssh", {"roles": ["evaluation-watcher"]}),
        ("run_as", {"user": 0}),
        ("prepare", [{"name": "data", "command": ["fetch"]}]),
        ("launcher", {"tensorflow": {"command": ["python", "/app/train.py"]}}),
        ("restart", "on-failure"),
        ("restart", "4 times"),
        ("restart", "all-when-evicted"),
        ("max_retry", 5),
        ("ttl", "12h"),
        ("policies", []),
        ("image_pull_policy", "Always"),
        ("service_account", "trainer"),
        ("node_selector", {"zone": "a"}),
        ("tolerations", [{"key": "spot", "operator": "Exists"}]),
        ("manifest_overrides", {"job": {"spec": {"runningEstimate": "1h"}}}),
        ("manifest_overrides", {"launch-script": {"data": {"more.sh": "exec python"}}}),
    ],
)
def test_a_new_revision(path: str, value: Any) -> None:
    assert revision(changed(BASE, path, value)) != revision(BASE)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("roles/worker/ranked", True),  # the default, written out
        ("roles/evaluation-watcher/replicas", 5),
        ("roles/evaluation-watcher/replicas", 0),
        ("roles/evaluation-watcher/min_available", 0),
        ("roles/worker/min_available", 2),
        ("labels", {"team": "vision"}),
        ("annotations", {"aijob.cce.baidubce.com/bccl.tracehang.enabled": "true"}),
        ("storage/checkpoints/size", "4Ti"),
        ("storage/checkpoints/keep", True),
        ("queue/weight", 7),
        ("queue/capability", {"a800": 64}),
        ("manifest_overrides", {"job": {"metadata": {"annotations": {"team": "vision"}}}}),
        ("manifest_overrides", {"service": {"spec": {"ipFamilyPolicy": "PreferDualStack"}}}),
    ],
)
def test_the_same_revision(path: str, value: Any) -> None:
    assert revision(changed(BASE, path, value)) == revision(BASE)


def test_elastic_workers_come_and_go_within_their_bounds() -> None:
    assert revision(ELASTIC) != revision(BASE)
    for replicas in (2, 3, 8):
        assert revision(changed(ELASTIC, "roles/worker/replicas", replicas)) == revision(ELASTIC)
    assert revision(changed(ELASTIC, "launcher/torchrun/elastic/max_nodes", 9)) != revision(ELASTIC)


def test_elastic_workers_with_ssh_come_and_go_too() -> None:
    """A list of hosts would follow their number."""
    base = {**ELASTIC, "ssh": {}}
    for replicas in (2, 8):
        assert revision(changed(base, "roles/worker/replicas", replicas)) == revision(base)


WITH_SSH: dict[str, Any] = {**BASE, "ssh": {}}
GIT = {"repository": "https://git.example.com/sdxl.git", "commit": "0" * 40, "path": "/code"}
PREPARED: dict[str, Any] = {**BASE, "prepare": [{"name": "code", "git": GIT}]}


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
    [("ssh/port", 2022), ("ssh/secret", "team.keys"), ("ssh/roles", ["evaluation-watcher", "worker"])],
)
def test_other_fields_of_ssh_change_the_pods(path: str, value: Any) -> None:
    assert revision(changed(WITH_SSH, path, value)) != revision(WITH_SSH)


@pytest.mark.parametrize(
    ("field", "value"), [("commit", "1" * 40), ("repository", "https://git.example.com/x.git"), ("path", "/src")]
)
def test_another_commit_is_another_revision(field: str, value: str) -> None:
    git = {**GIT, field: value}
    assert revision({**PREPARED, "prepare": [{"name": "code", "git": git}]}) != revision(PREPARED)


def test_replicas_of_extras_change_no_list_of_hosts() -> None:
    networks: list[dict[str, Any]] = [{}, {"addresses": "service"}, {"host": True, "ports": "per-replica"}]
    for network in networks:
        base = {**BASE, "ssh": {}, "network": network}
        assert revision(changed(base, "roles/evaluation-watcher/replicas", 7)) == revision(base)


def test_a_run_is_a_revision() -> None:
    assert len({revision(BASE, run) for run in (1, 2, 3)}) == 3
    assert revision(BASE, 2) == revision(BASE, 2)


def test_fields_of_the_environment_change_the_revision() -> None:
    before = revision(BASE)
    kinds = CLUSTER["accelerators"]
    moved = {**kinds, "a800": {**kinds["a800"], "resource": "nvidia.com/a800"}}
    assert revision(BASE, accelerators=moved) != before
    assert revision(BASE, node_selector={"pool": "training"}) != before
    assert revision(BASE, limits={"max_accelerators": 32}) == before
    assert revision(BASE, accelerators={**kinds, "a800": {**kinds["a800"], "nodes": 4}}) == before


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


def test_two_builds_give_equal_bytes() -> None:
    one, other = (
        to_yaml(job_manifests(plan_job(Experiment.model_validate(copy.deepcopy(BASE)), environment())))
        for _ in range(2)
    )
    assert one == other
