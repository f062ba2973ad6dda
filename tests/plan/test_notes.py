"""What is allowed, but may surprise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.samples import WITH_EXTRAS, plan
from trainform.check import check_experiment

SHARED = (
    "role worker: on the host network each of its 2 pods declares the same port for the rendezvous, so each needs a node of its own; write "
    "`network.ports: per-replica` to let several run on one node"
)


def notes(**parts: Any) -> list[str]:
    return list(plan(**{"shared_memory": "1Gi", **parts}).notes)


def test_nothing_to_say() -> None:
    assert notes() == []


@pytest.mark.parametrize(
    ("replicas", "network", "noted"),
    [
        (2, {"host": True}, True),
        (1, {"host": True}, False),
        (2, {}, False),
        (2, {"host": True, "ports": "per-replica"}, False),
    ],
)
def test_a_port_of_the_node_for_every_pod_of_a_role(replicas: int, network: dict[str, Any], noted: bool) -> None:
    roles = {"watcher": {**WITH_EXTRAS["evaluation-watcher"], "replicas": 0}, "worker": {"replicas": replicas}}
    assert (SHARED in notes(network=network, roles=roles)) is noted


def test_notes_on_elastic_jobs_and_on_a_ttl() -> None:
    launcher = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}
    found = [note for note in notes(launcher=launcher, ttl="12h") if "however often" not in note]
    found = [note for note in found if "finds room only" not in note]  # both are of the operator
    assert found == [
        "launcher.torchrun.elastic: torchrun gives ranks and the world size to the processes when it has started, so the plan has none; leave it out for a "
        "world that the plan knows",
        "ttl: the job is deleted 43200 s after its end, and the next `pulumi up` after a `pulumi refresh` makes it again and trains again; leave it out to "
        "keep the job",
    ]


def test_no_shared_memory() -> None:
    told = (
        "role worker: /dev/shm has the container runtime's 64 MB, and PyTorch's data loaders with workers fail when it is full; write `shared_memory` with "
        "a size"
    )
    assert notes(shared_memory=None) == [told]
    assert notes(shared_memory=None, roles={"worker": {"shared_memory": "1Gi"}}) == []


def test_restarts_of_replicas_with_templates_of_their_own() -> None:
    told = (
        "role worker: with `network.ports: per-replica`, `restart: 3 times` counts for each replica and not over the role; write `network.ports: shared` to "
        "count over the role"
    )
    network = {"host": True, "ports": "per-replica"}
    assert notes(network=network, restart="3 times") == [told]
    assert notes(network=network, restart="on-failure") == []
    assert notes(restart="3 times") == []


FETCH: dict[str, Any] = {"name": "data", "command": ["fetch", "--to", "/mnt/data"]}
CODE: dict[str, Any] = {
    "name": "code",
    "git": {"repository": "https://git.example.com/a.git", "commit": "a" * 40, "path": "/code"},
}
DATA: dict[str, Any] = {"size": "1Ti", "mount": "/mnt/data"}
TWO_ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
WATCHER: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
APART: dict[str, Any] = {"worker": {"replicas": 3}, "watcher": WATCHER, "launcher": {"ranked": False}}
MPI = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
STEP = "step data (prepare[0]) runs in 4 pods at once, and several of them can write to"
IN_ONE_POD = "if it does, write `on: first-pod`, otherwise `on: each-pod`"
IN_WORKER = "if it does, write `on: first-pod` and `roles: [worker]`, otherwise `on: each-pod`"
ANY: dict[str, Any] = {"prepare": [FETCH], "roles": TWO_ROLES, "storage": {"data": DATA}}


def written_at_once(**parts: Any) -> list[str]:
    return [note for note in notes(**parts) if "at once" in note]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"storage": {"data": {"claim": "models", "mount": "/mnt/data"}}}, f"{STEP} the claim models (/mnt/data); {IN_ONE_POD}"),
        ({"storage": {"data": DATA, "out": {"claim": "out", "mount": "/out"}, "models": {"claim": "m", "mount": "/m", "read_only": True}}},
         f"{STEP} the claims sdxl-lora-data (/mnt/data), out (/out); {IN_ONE_POD}"),
        ({"roles": {"node": {"replicas": 4}}}, f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"roles": {"worker": {"replicas": 4}}, "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}}},
         f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"roles": TWO_ROLES, "prepare": [{**FETCH, "roles": ["worker"]}]},
         f"{STEP.replace('4', '3')} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"roles": {"node": {"replicas": 4}, "watcher": WATCHER}}, f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"launcher": MPI, "roles": APART}, f"{STEP.replace('4', '3')} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"storage": {"data": {**DATA, "roles": ["worker"]}}}, f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_WORKER}"),
        ({"storage": {"a": {"claim": "c", "mount": "/a", "roles": ["master"]}, "b": {"claim": "c", "mount": "/b", "sub_path": "./x", "roles": ["worker"]}},
          "roles": {"master": {}, "worker": {}}}, f"{STEP.replace('4', '2')} the claim c (/a); {IN_ONE_POD}"),
        ({"storage": {"a": {"claim": "c", "mount": "/a", "sub_path": "x/y", "roles": ["master"]}, "b": {"claim": "c", "mount": "/b", "sub_path": "./x//", "roles": ["worker"]}},
          "roles": {"master": {}, "worker": {}}}, f"{STEP.replace('4', '2')} the claim c (/a); {IN_ONE_POD}"),
        ({"launcher": MPI, "roles": {"worker": {"replicas": 3}, "last": {}, **APART}},
         f"{STEP} the claim sdxl-lora-data (/mnt/data); {IN_ONE_POD}"),
        ({"prepare": [], "roles": {"master": {}, "worker": {"replicas": 3, "init": [FETCH]}}},
         "step data (roles.worker.init[0]) runs in 3 pods at once, and several of them can write to the claim sdxl-lora-data (/mnt/data); if it does, "
         "make it a step of `prepare` with `on: first-pod`"),
    ],
)  # fmt: skip
def test_a_step_of_several_pods_that_can_write_to_one_claim(parts: dict[str, Any], told: str) -> None:
    assert written_at_once(**{**ANY, **parts}) == [told]


@pytest.mark.parametrize(
    "parts",
    [
        {"prepare": [CODE]},
        {"prepare": [{**FETCH, "roles": ["master"]}]},
        {"prepare": [{**FETCH, "roles": []}]},
        {"prepare": [{**FETCH, "on": "each-pod"}]},
        {"prepare": [{**FETCH, "on": "first-pod"}]},
        {"prepare": [{**FETCH, "on": "first-pod"}], "roles": {"node": {"replicas": 4}}},
        {"roles": {"node": {}}},
        {"roles": {"node": {"replicas": 4}}, "storage": {}},
        {"storage": {"data": {**DATA, "read_only": True}}},
        {"storage": {"data": {**DATA, "roles": ["master"]}}},
        {"roles": {"master": {}, "worker": {"replicas": 3, "ranked": False, "command": ["w"]}}},
        {"roles": {"master": {}, "worker": {}}, "storage": {
            "a": {"claim": "c", "mount": "/a", "sub_path": "a", "roles": ["master"]}, "b": {"claim": "c", "mount": "/b", "sub_path": "ab", "roles": ["worker"]}}},
        {"roles": {"master": {}, "worker": {"replicas": 3}}, "storage": {
            "a": {"claim": "c", "mount": "/a", "roles": ["master"]}, "b": {"claim": "c", "mount": "/b", "roles": ["worker"], "read_only": True}}},
        {"prepare": [], "roles": {"master": {"init": [FETCH]}, "worker": {"replicas": 3}}},
    ],
)  # fmt: skip
def test_no_note_on_volumes_that_pods_do_not_share_or_only_read(parts: dict[str, Any]) -> None:
    assert written_at_once(**{**ANY, **parts}) == []


@pytest.mark.parametrize("path", sorted((ROOT / "stacks" / "experiments").glob("*.yaml")), ids=lambda path: path.stem)
def test_no_teaching_experiment_writes_to_a_claim_from_several_pods(path: Path) -> None:
    assert [note for note in check_experiment(path.stem, "dev").checked().plan.notes if "at once" in note] == []


EVICTED = {"event": "PodEvicted", "action": "RestartJob"}
GAVE_UP = {"event": "TaskFailed", "action": "RestartJob"}
FAILED = {"event": "PodFailed", "action": "RestartJob"}
FIRST = "so the default `PodFailed: TerminateJob` acts first; write a policy for PodFailed too"


@pytest.mark.parametrize(
    ("parts", "noted"),
    [
        ({"policies": [EVICTED]}, [f"policies: a pod that is evicted fails before it is gone, {FIRST}"]),
        (
            {"roles": {"worker": {"policies": [EVICTED]}}},
            [f"roles.worker.policies: a pod that is evicted fails before it is gone, {FIRST}"],
        ),
        ({"policies": [GAVE_UP]}, [f"policies: without `restart: on-failure` no container is started again, {FIRST}"]),
        ({"policies": [EVICTED, FAILED]}, []),
        ({"policies": [{**EVICTED, "action": "TerminateJob"}]}, []),
        ({"policies": [EVICTED, GAVE_UP], "restart": "on-failure"}, []),
        ({"policies": [{"event": "PodPending", "action": "AbortJob", "timeout": "1h"}]}, []),
    ],
)
def test_a_policy_that_a_default_comes_before(parts: dict[str, Any], noted: list[str]) -> None:
    """What a kubelet says of an evicted pod first is that it has failed."""
    assert notes(**parts) == noted


UNSEEN = (
    "role watcher: it starts together with the training, which neither waits for its end nor ends by its failure; make it a step of `prepare` if the "
    "training reads what it writes"
)


@pytest.mark.parametrize(
    ("parts", "noted"),
    [
        ({}, True),
        ({"storage": {}}, False),
        ({"storage": {"data": {**DATA, "read_only": True}}}, False),
        ({"storage": {"data": {**DATA, "roles": ["watcher"]}}}, False),
        ({"storage": {"a": {"claim": "c", "mount": "/a", "roles": ["master"]}, "b": {"claim": "c", "mount": "/b", "roles": ["watcher"]}}}, True),
        ({"roles": {**TWO_ROLES, "watcher": {**WATCHER, "replicas": 0}}}, False),
        ({"roles": {**TWO_ROLES, "watcher": {**WATCHER, "policies": [{"event": "PodFailed", "action": "TerminateJob"}]}}}, False),
        ({"roles": {**TWO_ROLES, "watcher": {**WATCHER, "policies": [{"event": "PodEvicted", "action": "RestartPod"}]}}}, True),
        ({"policies": [{"event": "PodFailed", "action": "AbortJob"}]}, False),
        ({"policies": [{"exit_code": 3, "action": "AbortJob"}]}, False),
        ({"manifest_overrides": {"job": {"spec": {"tasks": {"watcher": {"policies": [{"event": "PodFailed", "action": "AbortJob"}]}}}}}}, False),
        ({"manifest_overrides": {"job": {"spec": {"tasks": {"watcher": {"policies": [{"event": "PodEvicted", "action": "RestartPod"}]}}}}}}, True),
    ],
)  # fmt: skip
def test_an_extra_that_may_write_what_the_training_reads(parts: dict[str, Any], noted: bool) -> None:
    made = {"roles": {**TWO_ROLES, "watcher": WATCHER}, "storage": {"data": DATA}, **parts}
    assert (UNSEEN in notes(**made)) is noted
