"""The notes of a plan: what silently costs a night, accelerators or data, on every operator."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, fitting, plan
from trainform.backends.notes import NOTES

ELASTIC: dict[str, Any] = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}
ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
WATCHER: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}


def notes(**parts: Any) -> list[str]:
    return list(plan(**{"shared_memory": "1Gi", **parts}).notes)


def of_pods(**spec: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}}


def test_nothing_to_say() -> None:
    assert notes() == []


# --- shared memory

SHM = NOTES["shared-memory"].format(role="worker")
MEMORY: dict[str, Any] = {"shm": {"emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}}


def test_the_64_mb_of_the_container_runtime(backend: str) -> None:
    roles = fitting(backend, {"master": {"shared_memory": "1Gi"}, "worker": {"replicas": 2}})
    assert [note for note in notes(backend=backend, shared_memory=None, roles=roles) if "64 MB" in note] == [SHM]


@pytest.mark.parametrize(("path", "noted"), [("/dev/shm", False), (("/dev/shm/"), False), ("/mnt/shm", True)])  # noqa: S108
def test_a_patch_that_mounts_memory(path: str, noted: bool) -> None:
    mounts = {"main": {"volumeMounts": {"shm": {"mountPath": path}}}}
    found = notes(shared_memory=None, **of_pods(volumes=MEMORY, containers=mounts))
    assert (SHM in found) is noted


# --- the end of a job


def test_a_ttl() -> None:
    assert notes(ttl="12h") == [NOTES["ttl"].format(seconds=43200)]


@pytest.mark.parametrize(("restart", "noted"), [("never", False), ("on-failure", True), ("all-when-evicted", True)])
def test_the_time_of_a_pod_that_starts_again(restart: str, noted: bool) -> None:
    """On Volcano the time is that of each pod."""
    assert notes(max_run_time="12h", restart=restart) == [NOTES["run-time"]] * noted
    assert NOTES["run-time"] not in notes(max_run_time="12h", restart="on-failure", backend="jobset")


BESIDE: dict[str, Any] = {"image": "registry.example.com/logs:1", "command": ["logs", "--follow"]}


def test_a_container_beside_the_main_one(backend: str) -> None:
    patch = {"spec": {"containers": {"logs": BESIDE}}}
    roles = fitting(backend, {"master": {}, "worker": {"replicas": 2, "pod_overrides": patch}})
    told = NOTES["sidecar"].format(role="worker", container="logs")
    assert [note for note in notes(backend=backend, roles=roles) if "logs" in note] == [
        told,
        NOTES["patched"].format(
            paths="roles.worker.pod_overrides.spec.containers.logs.image, "
            "roles.worker.pod_overrides.spec.containers.logs.command"
        ),
    ]


def test_a_sidecar_ends_with_the_others() -> None:
    found = notes(**of_pods(initContainers=[{"name": "logs", **BESIDE, "restartPolicy": "Always"}]))
    assert [note.partition(":")[0] for note in found] == ["patched; not part of the plan"]


@pytest.mark.parametrize(
    ("parts", "number"),
    [
        ({}, 3),
        ({"roles": {"worker": {"replicas": 2, "max_retry": 5}}}, None),
        ({"restart": "2 times"}, None),
        ({"restart": "never"}, None),
        ({"policies": [{"event": "TaskFailed", "action": "TerminateJob"}]}, None),
        ({"launcher": {"torchrun": {"script": "/app/train.py"}}, "restart": "on-failure"}, None),
    ],
)
def test_containers_that_start_again_without_limit(parts: dict[str, Any], number: int | None) -> None:
    told = NOTES["restarts"].format(role="worker", number=number)
    assert notes(**{"launcher": ELASTIC, "roles": {"worker": {}}, **parts}) == ([] if number is None else [told])


# --- nodes


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
    roles = {"watcher": {**WATCHER, "replicas": 0}, "worker": {"replicas": replicas}}
    assert (NOTES["node-port"].format(role="worker", pods=2) in notes(network=network, roles=roles)) is noted


DATA: dict[str, Any] = {"size": "1Ti", "class": "fast", "mount": "/data", "access_modes": ["ReadWriteOnce"]}
APART = {"master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}}
SMALL = {"worker": {"replicas": 4, "accelerators": {"a800": 2}}}


@pytest.mark.parametrize(
    ("volume", "parts", "why"),
    [
        ({}, {"roles": APART}, "its pods need 32 a800, of which a node has 8"),
        ({"roles": ["worker"]}, {"roles": APART}, "its pods need 24 a800, of which a node has 8"),
        ({"roles": ["master"]}, {"roles": APART}, None),
        ({}, {"roles": SMALL}, None),
        (
            {},
            {"roles": SMALL, "network": {"host": True}},
            "each of the 4 pods of the role worker needs a node of its own for its port",
        ),
        ({}, {"roles": {"worker": {"replicas": 4}}}, None),
        ({"access_modes": ["ReadWriteMany"]}, {"roles": APART}, None),
        ({"access_modes": ["ReadWriteOnce", "ReadOnlyMany"]}, {"roles": APART}, None),
    ],
)
def test_claims_of_one_node(volume: dict[str, Any], parts: dict[str, Any], why: str | None) -> None:
    told = NOTES["one-node-claim"].format(volume="data", mode="ReadWriteOnce", why=why)
    found = [note for note in notes(storage={"data": {**DATA, **volume}}, **parts) if note.startswith("storage.")]
    assert found == ([] if why is None else [told])


# --- data

FETCH: dict[str, Any] = {"name": "data", "command": ["fetch", "--to", "/mnt/data"]}
CODE: dict[str, Any] = {
    "name": "code",
    "git": {"repository": "https://git.example.com/a.git", "commit": "a" * 40, "path": "/code"},
}
MODELS: dict[str, Any] = {"size": "1Ti", "mount": "/mnt/data"}
LAUNCHED: dict[str, Any] = {"worker": {"replicas": 3}, "watcher": WATCHER, "launcher": {"ranked": False}}
MPI = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
ANY: dict[str, Any] = {"prepare": [FETCH], "roles": ROLES, "storage": {"data": MODELS}}


def written_at_once(**parts: Any) -> list[str]:
    return [note for note in notes(**parts) if "at once" in note]


def below(one: str, other: str) -> dict[str, Any]:
    """One claim that two roles mount, each in a folder of it."""
    return {
        "a": {"claim": "c", "mount": "/a", "sub_path": one, "roles": ["master"]},
        "b": {"claim": "c", "mount": "/b", "sub_path": other, "roles": ["worker"]},
    }


@pytest.mark.parametrize(
    ("parts", "pods", "claims"),
    [
        ({}, 4, "claim sdxl-lora-data (/mnt/data)"),
        ({"storage": {"data": {"claim": "models", "mount": "/mnt/data"}}}, 4, "claim models (/mnt/data)"),
        ({"storage": {"data": MODELS, "out": {"claim": "out", "mount": "/out"}}},
         4, "claims sdxl-lora-data (/mnt/data), out (/out)"),
        ({"prepare": [{**FETCH, "roles": ["worker"]}]}, 3, "claim sdxl-lora-data (/mnt/data)"),
        ({"launcher": MPI, "roles": LAUNCHED}, 3, "claim sdxl-lora-data (/mnt/data)"),
        ({"roles": {"master": {}, "worker": {}}, "storage": below("x/y", "x/y")}, 2, "claim c (/a)"),
    ],
)  # fmt: skip
def test_a_step_of_several_pods_that_can_write_to_one_claim(parts: dict[str, Any], pods: int, claims: str) -> None:
    told = NOTES["written-at-once"].format(
        step="data",
        place="prepare[0]",
        pods=pods,
        claims=f"the {claims}",
        fix="write `on: first-pod`, otherwise `on: each-pod`",
    )
    assert written_at_once(**{**ANY, **parts}) == [told]


@pytest.mark.parametrize(
    "parts",
    [
        {"prepare": [CODE]},
        {"prepare": [{**FETCH, "roles": ["master"]}]},
        {"prepare": [{**FETCH, "on": "each-pod"}]},
        {"prepare": [{**FETCH, "on": "first-pod"}]},
        {"roles": {"node": {}}},
        {"storage": {}},
        {"storage": {"data": {**MODELS, "read_only": True}}},
        {"storage": {"data": {**MODELS, "roles": ["master"]}}},
        {"roles": {"master": {}, "worker": {}}, "storage": below("a", "ab")},
    ],
)
def test_no_note_on_volumes_that_pods_do_not_share_or_only_read(parts: dict[str, Any]) -> None:
    assert written_at_once(**{**ANY, **parts}) == []


def test_an_init_container_of_several_pods_that_can_write_to_one_claim() -> None:
    roles = {"master": {}, "worker": {"replicas": 3, "init": [FETCH]}}
    (note,) = written_at_once(roles=roles, storage={"data": MODELS})
    assert note.startswith("step data (roles.worker.init[0]) runs in 3 pods at once")
    assert note.endswith("make it a step of `prepare` with `on: first-pod`")


# --- another world than the plan's


def other(field: str, planned: str) -> str:
    return NOTES["other-world"].format(field=field, planned=planned)


def test_a_value_for_all_roles_is_noted_once() -> None:
    assert notes(roles=ROLES, env={"WORLD_SIZE": "16", "RANK": "0"}) == [
        other("env.WORLD_SIZE", "4"),
        other("env.RANK", "0 or 1 to 3"),
    ]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"env": {"WORLD_SIZE": "2"}}, []),
        ({"env": {"EPOCHS": "16"}}, []),
        ({"env": {"MASTER_PORT": "4711"}}, [other("env.MASTER_PORT", "29500")]),
        ({"roles": {"worker": {"env": {"WORLD_SIZE": "4"}}}}, [other("roles.worker.env.WORLD_SIZE", "1")]),
        ({"roles": {"worker": {}, "watcher": {**WATCHER, "env": {"WORLD_SIZE": "4", "RANK": "0"}}}}, []),
        ({"env": {"WORLD_SIZE": {"field": "metadata.name"}}}, [other("env.WORLD_SIZE", "2")]),
        ({"launcher": {"tensorflow": {"command": ["python"]}}, "env": {"TF_CONFIG": "{}"}},
         [other("env.TF_CONFIG", "cluster and own task")]),
    ],
)  # fmt: skip
def test_a_variable_that_the_launcher_needs(parts: dict[str, Any], told: list[str]) -> None:
    assert [note for note in notes(**parts) if "replaces the plan" in note] == told


# --- patches


@pytest.mark.parametrize(
    ("parts", "paths"),
    [
        (
            {"manifest_overrides": {"job": {"metadata": {"annotations": {"team": "vision"}}}}},
            "manifest_overrides.job.metadata.annotations.team",
        ),
        (
            of_pods(tolerations=[{"key": "spot", "operator": "Exists"}], terminationGracePeriodSeconds=60),
            (
                "roles.worker.pod_overrides.spec.tolerations, "
                "roles.worker.pod_overrides.spec.terminationGracePeriodSeconds"
            ),
        ),
        (
            {
                "manifest_overrides": {
                    "job": {"metadata": {"annotations": {f"team-{number}": "a" for number in range(7)}}}
                }
            },
            (
                f"{', '.join(f'manifest_overrides.job.metadata.annotations.team-{number}' for number in range(4))} "
                "and 3 more"
            ),
        ),
    ],
)
def test_patches_are_one_line(parts: dict[str, Any], paths: str) -> None:
    assert notes(**parts) == [f"patched; not part of the plan: {paths}"]


# --- pods that run on when the job has ended

LEFT = "manifest_overrides.job.spec."
ENDLESS = "nothing ends this job when the role chief completes"
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "worker": {"replicas": 2}},
}


@pytest.mark.parametrize(
    ("backend", "policy", "left"),
    [
        ("kubeflow", "Running", False),
        ("kubeflow", "All", False),
        ("kubeflow", "None", True),
        ("kubeflow", None, True),
        ("kubedl", "Running", False),
        ("kubedl", "None", True),
        ("kubedl", None, False),  # KubeDL's default for a TFJob
    ],
)
def test_pods_that_run_on_when_the_job_has_ended(backend: str, policy: str | None, left: bool) -> None:
    fields = {"cleanPodPolicy": policy}
    spec = {"runPolicy": fields} if backend == "kubeflow" else fields
    made = plan(backend=backend, manifest_overrides={"job": {"spec": spec}}, **TENSORFLOW)
    assert (made.ends_with == ()) == left
    told = [note for note in made.notes if note.startswith((LEFT, ENDLESS))]
    assert sorted(note.startswith(LEFT) for note in told) == ([False, True] if left else [])


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_pods_that_run_on_by_the_field(backend: str) -> None:
    made = plan(backend=backend, clean_pods="none", **TENSORFLOW)
    assert made.ends_with == ()
    assert [note for note in made.notes if note.startswith("clean_pods: pods that still run when the job has")]
    assert plan(backend=backend, clean_pods="all", **TENSORFLOW).ends_with


def test_the_default_of_a_pytorch_job_on_kubedl() -> None:
    made = plan(backend="kubedl", roles=ROLES, manifest_overrides={"job": {"spec": {"cleanPodPolicy": None}}})
    assert [note for note in made.notes if note.startswith(LEFT)]


def test_an_extra_has_no_note() -> None:
    """It runs beside the training, as the plan shows; with `dependsOn` it may run before it."""
    assert (
        notes(roles={**ROLES, "watcher": WATCHER}, storage={"data": {**MODELS, "roles": ["watcher", "master"]}}) == []
    )
    assert notes(roles=WITH_EXTRAS) == []
