"""Names that refer to something, amounts of resources, mounts, and the queues of an environment."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.support.samples import CLUSTER, environment, reasons
from trainform.errors import MOST_NAMES
from trainform.rules.references import environment_problems, unknown
from trainform.spec.environment import Environment
from trainform.spec.load import parse

MANY = [f"team-{number:04}-{kind}" for number in range(2_000) for kind in ("a800", "l40s")]


@pytest.mark.parametrize(
    ("known", "fix"),
    [
        (["day", "night"], "known: day, night"),
        (["xyy", "night"], "did you mean xyy?"),
        ([], "add it to the environment"),
        ([*MANY[:MOST_NAMES], "xyy"], f"known: {', '.join(MANY[:MOST_NAMES])} and 1 more"),
        (MANY, f"known: {', '.join(MANY[:MOST_NAMES])} and {len(MANY) - MOST_NAMES} more"),
    ],
)
def test_fixes(known: list[str], fix: str) -> None:
    (problem,) = unknown("queue", "xyz", known, "queue")
    assert problem.fix == fix


def test_a_name_that_is_known_and_none() -> None:
    assert [*unknown("queue", "day", ["day"], "queue"), *unknown("queue", None, [], "queue")] == []


@pytest.mark.parametrize(("amount", "size"), [(100, "100"), ("100k", "100,000")])
def test_bytes_whose_unit_is_missing(amount: object, size: str) -> None:
    reason = f"the value is {size} bytes, less than 1 MiB"
    roles = {"worker": {"replicas": 2, "resources": {"ephemeral-storage": amount}}}
    assert reasons(roles=roles)["roles.worker.resources.ephemeral-storage"] == reason
    assert reasons(queue={"capability": {"memory": amount}})["queue.capability.memory"] == reason


def test_amounts_of_a_request_and_a_limit() -> None:
    amounts = {"request": 0.5, "limit": 100}
    assert reasons(roles={"worker": {"resources": {"ephemeral-storage": amounts}}}) == {
        "roles.worker.resources.ephemeral-storage.request": "the value is a fraction; Kubernetes counts it in whole "
        "numbers",
        "roles.worker.resources.ephemeral-storage.limit": "the value is 100 bytes, less than 1 MiB",
    }


def test_pieces_have_no_unit() -> None:
    assert reasons(queue={"capability": {"cpu": 4, "a800": 8}}) == {}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/data/train.py", "the path is inside the mount of storage.data"),
        ("/data", "the path is that of the mount of storage.data"),
        ("/mnt", "the path is above the mount of storage.output"),
        ("/code/src/a.py", "the path is inside the mount of the step code"),
        ("/etc/trainform/launch.sh", "the path is inside the mount of the launch script"),
        ("/dev/shm/a", "the path is inside the mount of shared_memory"),  # noqa: S108 -- a mount of pods
        ("/opt/run.sh/a", "the path is inside the file /opt/run.sh"),
        ("/bin", "the mount would hide a folder of the system that every process needs"),
        ("/proc/self", "the mount would hide a folder of the system that every process needs"),
        ("/data2", ""),
        ("/etc/nccl.conf", ""),
    ],
)
def test_a_file_is_at_a_place_of_its_own(path: str, reason: str) -> None:
    found = reasons(
        files={"/opt/run.sh": {"text": ""}, path: {"text": ""}},
        storage={"data": {"claim": "data", "mount": "/data/"}, "output": {"scratch": "1Gi", "mount": "/mnt/output"}},
        prepare=[{"name": "code", "git": {**GIT, "path": "/code"}}],
        shared_memory="1Gi",
    )
    assert found == ({f"files.{path}": reason} if reason else {})


def test_the_volume_of_the_files_keeps_its_name_for_itself() -> None:
    storage = {"files": {"claim": "data", "mount": "/data"}}
    assert reasons(storage=storage) == {}
    found = reasons(storage=storage, files={"/etc/nccl.conf": {"text": ""}})
    assert found == {"storage.files": "the name is one that trainform uses itself"}


HIDDEN = "the mount would hide a folder of the system that every process needs"
GIT = {"repository": "https://git.example.com/ai/code.git", "commit": "4f5c2e9b8d1a7c3e6f0b2d4a8c1e5f7b9d3a6c0e"}


@pytest.mark.parametrize(
    "path",
    ["/etc", "/etc/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/sbin", "/dev", "/sys",
     "/sys/fs", "/proc", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/arm-linux-gnueabihf"],
)  # fmt: skip
def test_no_volume_hides_what_every_process_needs(path: str) -> None:
    assert reasons(storage={"data": {"claim": "data", "mount": path}}) == {"storage.data.mount": HIDDEN}
    assert reasons(prepare=[{"name": "code", "git": {**GIT, "path": path}}]) == {"prepare[0].git.path": HIDDEN}


@pytest.mark.parametrize("path", ["/usr/local", "/etc/app", "/bin2", "/lib/modules", "/dev/hugepages", "/process"])
def test_places_where_there_is_room(path: str) -> None:
    assert reasons(storage={"data": {"claim": "data", "mount": path}}) == {}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({}, "/etc/trainform/data"),
        ({"ssh": {}}, "/root/.ssh/keys"),
        ({"launcher": {"deepspeed": {"script": "/app/train.py"}}, "roles": {"master": {"replicas": 1}}}, "/job/data"),
    ],
)
def test_nothing_is_mounted_inside_files_that_nobody_can_write_to(parts: dict[str, Any], path: str) -> None:
    """The runtime makes the folder of a mount, which it cannot in a ConfigMap or a Secret: no container would start."""
    folder = path.rpartition("/")[0]
    (reason,) = reasons(storage={"data": {"claim": "data", "mount": path}}, **parts).values()
    assert reason.startswith(f"the path is inside {folder}, which holds ")
    git = [{"name": "code", "git": {**GIT, "path": path}}]
    assert [*reasons(prepare=git, **parts)] == ["prepare[0].git.path"]
    assert reasons(storage={"data": {"claim": "data", "mount": f"{folder}-2/data"}}, **parts) == {}


@pytest.mark.parametrize(
    ("volume", "roles", "pods"),
    [
        ({}, {"worker": {"replicas": 2}}, 2),
        ({}, {"master": {"replicas": 1}, "worker": {"replicas": 3}}, 4),
        ({"roles": ["master"]}, {"master": {"replicas": 1}, "worker": {"replicas": 3}}, 1),
        ({"roles": ["worker"]}, {"master": {"replicas": 1}, "worker": {"replicas": 3}}, 3),
        ({}, {"worker": {"replicas": 1}}, 1),
    ],
)
def test_one_pod_mounts_a_claim_of_one_pod(volume: dict[str, Any], roles: dict[str, Any], pods: int) -> None:
    data = {"size": "1Ti", "class": "fast", "mount": "/data", "access_modes": ["ReadWriteOncePod"], **volume}
    told = f"one pod at a time mounts such a claim, and {pods} pods are to: the others would never start"
    assert reasons(storage={"data": data}, roles=roles) == ({} if pods == 1 else {"storage.data.access_modes": told})
    for modes in (["ReadWriteMany"], ["ReadWriteOnce"]):
        assert reasons(storage={"data": {**data, "access_modes": modes}}, roles=roles) == {}


PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}


def found(**parts: Any) -> dict[str, str]:
    return {problem.path: problem.fix for problem in environment_problems(environment(**parts))}


def test_types_of_volumes_that_trainform_makes() -> None:
    most = ["persistentVolumeClaim", "secret", "configMap"]
    assert found(limits={"volume_types": most}) == {"limits.volume_types": "add emptyDir"}
    assert found(limits={"volume_types": [*most, "emptyDir"]}) == {}


def test_queues_that_are_not_there() -> None:
    assert found(limits={"queues": ["nigth"]}) == {"limits.queues[0]": "did you mean night?"}
    assert found(limits={"queues": ["night", "default"]}) == {}


@pytest.mark.parametrize("admission", ["none", "kueue"])
def test_queues_are_volcano_s(admission: str) -> None:
    assert found(admission=admission) == {"queues": "remove them, or write `admission: volcano`"}
    assert found(admission=admission, queues={}) == {}


def test_kueue_admits_no_mpi_job_of_version_1() -> None:
    assert found(admission="kueue", queues={}, mpi_job="v1") == {"mpi_job": "write v2beta1"}


def test_priorities_of_workloads_are_kueue_s() -> None:
    classes = {"urgent": {"value": 1000}}
    assert found(workload_priorities=True) == {"workload_priorities": "remove it, or write `admission: kueue`"}
    kueue = found(admission="kueue", queues={}, workload_priorities=True, priority_classes=classes)
    assert [*kueue] == ["priority_classes"]
    assert found(admission="kueue", queues={}, workload_priorities=True) == {}


def test_a_cost_in_another_currency() -> None:
    a800 = {**CLUSTER["accelerators"]["a800"], "price_per_hour": PRICE}
    parsed = parse(Environment, {**CLUSTER, "accelerators": {"a800": a800},
            "limits": {"max_cost_per_hour": {"amount": 5.0, "currency": "EUR"}}}).model  # fmt: skip
    assert parsed is not None
    assert [problem.path for problem in environment_problems(parsed)] == ["limits.max_cost_per_hour.currency"]


VISION: dict[str, Any] = {"capability": {"a800": 16, "cpu": 64}, "deserved": {"a800": 8}}


def told(**queues: Any) -> dict[str, str]:
    return {problem.path: problem.reason for problem in environment_problems(environment(queues=queues))}


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        ({}, []),
        ({"capability": {"a800": 0}}, []),
        (VISION, []),
        ({**VISION, "guarantee": {"a800": 8}}, []),
        ({"deserved": {"a800": 8, "memory": "1Ti"}}, []),
        ({"capability": {"cpu": 0.5}}, []),
        ({"capability": {"a800": 0.5}}, ["capability.a800"]),
        ({"capability": {"memory": "100m"}}, ["capability.memory"]),
        ({"capability": {"h100": 8}}, ["capability.h100"]),
    ],
)
def test_amounts(request_: dict[str, Any], paths: list[str]) -> None:
    assert list(told(night=request_)) == [f"queues.night.{path}" for path in paths]
    assert list(reasons(queue=request_)) == [f"queue.{path}" for path in paths]


def test_trees() -> None:
    below = {"parent": "vision", "capability": {"a800": 16}, "deserved": {"a800": 4}}
    assert told(vision=VISION, day=below, night=below) == {}
    assert told(vision={}, day={"parent": "vision"}) == {}
    circle = {"day": {"parent": "night"}, "night": {"parent": "day"}}
    assert told(dawn={"parent": "day"}, **circle, noon={}).keys() == {"queues.day.parent", "queues.night.parent"}


TREE = environment(queues={"vision": VISION, "day": {"parent": "vision", "deserved": {"a800": 4}}})


def test_jobs_go_into_leaves() -> None:
    assert reasons(TREE, queue="day") == {}
    assert reasons(TREE) == {}, "the queue default is always there"


def test_own_queues() -> None:
    assert reasons(TREE, queue={"parent": "vision", "deserved": {"a800": 4}}) == {}
    assert reasons(TREE, queue={"parent": "visoin"}).keys() == {"queue.parent"}
    assert reasons(TREE, queue={"parent": "sdxl-lora"}).keys() == {"queue.parent"}
    for taken in ("vision", "default", "root"):
        assert reasons(TREE, queue={"name": taken}).keys() == {"queue.name"}
