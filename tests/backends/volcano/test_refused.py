"""What Volcano's webhooks refuse of patches of a Job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import job, plan, reasons

ROLES: dict[str, Any] = {"master": {"cpu": 8}, "worker": {"replicas": 4, "cpu": 8}}
FAILED = {"event": "PodFailed", "action": "RestartJob"}
OF_WORKERS = "tasks.worker"


def of(spec: dict[str, Any], **parts: Any) -> set[str]:
    found = reasons(**{"roles": ROLES, "manifest_overrides": {"job": {"spec": spec}}} | parts)
    return {path.removeprefix("manifest_overrides.job.spec.") for path in found}


def with_policies(*policies: dict[str, Any]) -> dict[str, Any]:
    """Of the job, to which the plan gives none."""
    return {"policies": [*policies]}


def partitions(size: int, total: int, **fields: Any) -> dict[str, Any]:
    return {
        "tasks": {
            "worker": {"partitionPolicy": {"partitionSize": size, "totalPartitions": total, "minPartitions": total} | fields}
        }
    }  # fmt: skip


WRONG: list[tuple[dict[str, Any], str]] = [
    (with_policies(FAILED, FAILED), "policies[1]"),
    (with_policies(FAILED, {"events": ["PodEvicted", "PodFailed"], "action": "AbortJob"}), "policies[1]"),
    (with_policies(FAILED, {"event": "*", "action": "AbortJob"}), "policies[1]"),
    (with_policies({"event": "*", "action": "AbortJob"}, FAILED), "policies[1]"),
    (with_policies({"exitCode": 0, "action": "AbortJob"}), "policies[0].exitCode"),
    (with_policies(*[{"exitCode": 3, "action": "AbortJob"}] * 2), "policies[1]"),
    (with_policies({**FAILED, "exitCode": 3}), "policies[0]"),
    (with_policies({"action": "AbortJob"}), "policies[0]"),
    (with_policies({"event": "PodRunning", "action": "AbortJob"}), "policies[0]"),
    (with_policies({"exitCode": 3, "action": "Sleep"}), "policies[0].action"),
    (with_policies({"event": "PodPending", "action": "AbortJob"}), "policies[0]"),
    (with_policies({**FAILED, "timeout": "soon"}), "policies[0].timeout"),
    (partitions(3, 2), f"{OF_WORKERS}.partitionPolicy.totalPartitions"),
    (partitions(2, 2, minPartitions=1), f"{OF_WORKERS}.partitionPolicy.minPartitions"),
    (partitions(2, 2, networkTopology={"highestTierAllowed": 1, "highestTierName": "rack"}), f"{OF_WORKERS}.partitionPolicy.networkTopology.highestTierName"),
    ({"runningEstimate": "1Gi"}, "runningEstimate"),
    ({"volumes": [{"volumeClaimName": "datasets"}]}, "volumes[0].mountPath"),
    ({"volumes": [{"mountPath": "/data", "volumeClaimName": "a"}, {"mountPath": "/data", "volumeClaimName": "b"}]}, "volumes[1].mountPath"),
    ({"volumes": [{"mountPath": "/data"}]}, "volumes[0]"),
    *(
        ({"volumes": [{"mountPath": path, "volumeClaimName": "a"}]}, "volumes[0].mountPath")
        for path in ("/usr", "/etc/../bin", "/etc/trainform/", "/etc/trainform/launch")
    ),
    ({"volumes": [{"mountPath": "/data", "volumeClaimName": "UPPER_case"}]}, "volumes[0].volumeClaimName"),
    ({"minSuccess": 6}, "minSuccess"),
]  # fmt: skip


@pytest.mark.parametrize("path", ["/mnt", "/etc/volcano", "/scratch"])
def test_a_volume_of_the_job_where_the_pods_have_one(path: str) -> None:
    """The API server refuses such pods, so the job would wait for ever."""
    scratch = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    pods = {"spec": {"volumes": [{"name": "scratch", "emptyDir": {}}], "containers": {"main": scratch}}}
    found = of(
        {"volumes": [{"mountPath": path, "volumeClaimName": "datasets"}]},
        roles={"master": {"cpu": 8}, "worker": {"cpu": 8, "pod_overrides": pods}},
        storage={"models": {"claim": "models", "mount": "/mnt"}},
        shared_memory="1Gi",
    )
    assert found == {"volumes[0].mountPath"}


@pytest.mark.parametrize(("spec", "place"), WRONG, ids=str)
def test_what_is_refused(spec: dict[str, Any], place: str) -> None:
    assert of(spec) == {place}


@pytest.mark.parametrize(
    "spec",
    [
        with_policies(FAILED, {"event": "PodEvicted", "action": "RestartPartition"}, {"exitCode": 3, "action": "AbortJob"}),
        with_policies({"events": ["PodFailed", "PodEvicted"], "event": "PodFailed", "action": "RestartTask"}),
        with_policies({"event": "*", "action": "AbortJob", "timeout": "1h30m"}),
        partitions(2, 2, networkTopology={"highestTierAllowed": 1, "mode": "hard"}),
        {"minSuccess": 5},
        with_policies({"event": "PodPending", "action": "AbortJob", "timeout": "10m"}),
        {"runningEstimate": "90m", "tasks": {"worker": {"topologyPolicy": "best-effort"}}},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_taken(spec: dict[str, Any]) -> None:
    assert of(spec) == set()


def test_policies_of_a_task_stand_behind_those_of_the_plan() -> None:
    own = next(task["policies"] for task in job(plan(roles=ROLES))["spec"]["tasks"] if task["name"] == "worker")
    assert of({"tasks": {"worker": {"policies": [*own, {"exitCode": 3, "action": "AbortJob"}]}}}) == set()
    assert of({"tasks": {"worker": {"policies": [*own, own[0]]}}}) == {f"{OF_WORKERS}.policies[{len(own)}]"}


def test_a_volume_of_the_job_over_one_of_the_plan() -> None:
    storage = {"data": {"claim": "datasets", "mount": "/data"}}
    for path, taken in (
        ("/more", True),
        ("/data", False),
        ("/data/", False),
        ("/etc/trainform", False),
        ("/dev/shm", False),  # noqa: S108 - where the plan mounts
    ):
        spec = {"volumes": [{"mountPath": path, "volumeClaimName": "datasets-2024"}]}
        assert (of(spec, storage=storage, shared_memory="20Gi") == set()) == taken, path


@pytest.mark.parametrize("worker", [{"cpu": "500m"}, {"init": [{"name": "first", "command": ["first"]}], "cpu": 8}])
def test_cores_of_a_policy_for_numa(worker: dict[str, Any]) -> None:
    spec = {"tasks": {"worker": {"topologyPolicy": "single-numa-node"}}}
    assert of(spec, roles={"master": {}, "worker": {"replicas": 2, **worker}}) == {f"{OF_WORKERS}.topologyPolicy"}


def test_pods_that_stay_up_never_succeed() -> None:
    roles = {"ps": {"replicas": 2}, "worker": {"replicas": 3}}
    network = {"host": True, "ports": "per-replica"}
    parts: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["train"]}}, "roles": roles, "network": network}
    assert of({"minSuccess": 4}, **parts) == {"minSuccess"}
    assert of({"minSuccess": 2}, **parts) == set()
