"""Tasks of replicas with ports of their own, and the pods that Volcano's controller makes of a Job."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.samples import job, plan, reasons
from trainform.backends.table import BACKENDS
from trainform.backends.volcano.controller import controller_objects, host_variables
from trainform.job.objects import job_manifests
from trainform.job.revision import immutable_part

PER_REPLICA = {"host": True, "ports": "per-replica"}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python"]}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3},
        "watcher": {"replicas": 2, "ranked": False, "command": ["python", "watch.py"]}},
    "network": PER_REPLICA,
}  # fmt: skip


def tasks(**parts: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job(plan(**{**TENSORFLOW, **parts}))["spec"]["tasks"]
    return found


def test_a_task_for_every_ranked_replica() -> None:
    found = tasks()
    assert [task["name"] for task in found] == ["ps-0", "ps-1", "worker-0", "worker-1", "worker-2", "watcher"]
    assert [(task["replicas"], task["minAvailable"]) for task in found] == [(1, 1)] * 5 + [(2, 2)]
    labels = [task["template"]["metadata"]["labels"] for task in found]
    assert [(label["app.kubernetes.io/component"], label.get("trainform.dev/replica")) for label in labels] == [
        ("ps", "0"), ("ps", "1"), ("worker", "0"), ("worker", "1"), ("worker", "2"), ("watcher", None),
    ]  # fmt: skip


def test_their_host_ports_differ() -> None:
    found = [port for task in tasks() for port in task["template"]["spec"]["containers"][0].get("ports", [])]
    assert len({port["hostPort"] for port in found}) == len(found) == 5
    assert all(port["hostPort"] == port["containerPort"] for port in found)


def test_replicas_differ_only_in_what_depends_on_their_index() -> None:
    _, _, one, other, *_ = tasks()

    def without_place(task: dict[str, Any]) -> dict[str, Any]:
        body = copy.deepcopy(task)
        del (
            body["name"],
            body["template"]["metadata"]["labels"]["trainform.dev/replica"],
            body["template"]["spec"]["containers"][0]["ports"],
        )
        body.pop("policies")
        main = body["template"]["spec"]["containers"][0]
        main["env"] = [entry for entry in main["env"] if not entry["name"].endswith(("_INDEX", "_PORT"))]
        return body

    assert without_place(one) == without_place(other)


def test_on_the_pod_network_a_role_stays_one_task() -> None:
    assert [task["name"] for task in tasks(network={"host": True})] == ["ps", "worker", "watcher"]
    assert "trainform.dev/replica" not in tasks(network={"host": True})[0]["template"]["metadata"]["labels"]


def test_patches_of_the_job_find_each_task() -> None:
    patch = {"job": {"spec": {"tasks": {"worker-1": {"topologyPolicy": "best-effort"}}}}}
    roles = {**TENSORFLOW["roles"], "worker": {"replicas": 3, "cpu": 8}}
    found = tasks(manifest_overrides=patch, roles=roles)
    assert [task.get("topologyPolicy") for task in found] == [None, None, None, "best-effort", None, None]


def test_patches_of_the_role_are_in_all_its_tasks() -> None:
    roles = {**TENSORFLOW["roles"], "worker": {"replicas": 3, "pod_overrides": {"spec": {"enableServiceLinks": False}}}}
    found = tasks(roles=roles)
    assert [task["template"]["spec"].get("enableServiceLinks") for task in found] == [
        None,
        None,
        False,
        False,
        False,
        None,
    ]


def test_a_patch_cannot_set_the_label_of_a_replica() -> None:
    """A Service selects by it."""
    roles = {"worker": {"replicas": 2, "pod_overrides": {"metadata": {"labels": {"trainform.dev/replica": "7"}}}}}
    expected = {
        "roles.worker.pod_overrides.metadata.labels.trainform.dev/replica": "the key is set by trainform itself"
    }
    assert reasons(roles=roles, network=PER_REPLICA) == expected


def test_a_limit_that_every_replica_breaks_is_reported_once() -> None:
    roles = {"worker": {"replicas": 3, "pod_overrides": {"spec": {"hostPID": True}}}}
    assert list(reasons(roles=roles, network=PER_REPLICA)) == ["roles.worker.pod_overrides.spec.hostPID"]


def test_pods_by_task_and_index() -> None:
    made = plan(**TENSORFLOW)
    found, _ = controller_objects(job(made))
    assert [pod["metadata"]["name"] for pod in found] == [pod.name for pod in made.pods()]
    watcher = found[-1]
    assert (
        watcher["metadata"]["labels"].items()
        >= {
            "volcano.sh/job-name": made.job,
            "volcano.sh/job-namespace": "ai-namespace",
            "volcano.sh/queue-name": "default",
            "volcano.sh/task-index": "1",
            "volcano.sh/task-spec": "watcher",
            "app.kubernetes.io/component": "watcher",
        }.items()
    )
    assert (watcher["spec"]["hostname"], watcher["spec"]["subdomain"]) == (watcher["metadata"]["name"], "sdxl-lora")


def test_the_lists_of_hosts() -> None:
    roles = {
        "chief-worker": {},
        "worker": {"replicas": 2},
        "paused": {"replicas": 0, "ranked": False, "command": ["python"]},
    }
    made = plan(roles=roles)
    _, config_maps = controller_objects(job(made))
    workers = [f"{made.job}-worker-{index}.sdxl-lora" for index in (0, 1)]
    assert config_maps == {
        f"{made.job}-svc": {
            "chief_worker.host": f"{made.job}-chief-worker-0.sdxl-lora",
            "VC_CHIEF_WORKER_HOSTS": f"{made.job}-chief-worker-0.sdxl-lora",
            "VC_CHIEF_WORKER_NUM": "1",
            "worker.host": "\n".join(workers),
            "VC_WORKER_HOSTS": ",".join(workers),
            "VC_WORKER_NUM": "2",
            "paused.host": "",
            "VC_PAUSED_HOSTS": "",
            "VC_PAUSED_NUM": "0",
        }
    }


@pytest.mark.parametrize(
    ("task", "stem"),
    [("worker", "VC_WORKER"), ("parameter-server-0", "VC_PARAMETER_SERVER_0"), ("9-lives", "VC_9_LIVES")],
)
def test_names_of_variables(task: str, stem: str) -> None:
    assert host_variables(task) == (f"{stem}_HOSTS", f"{stem}_NUM")


def test_every_container_gets_them_last() -> None:
    roles = {"worker": {"init": [{"name": "fetch", "command": ["fetch"]}], "env": {"NCCL_DEBUG": "INFO"}}}
    made = plan(roles=roles)
    (found,), config_maps = BACKENDS["volcano"].pods(made, job_manifests(made))
    (hosts,) = config_maps
    for container in [*found["spec"]["initContainers"], *found["spec"]["containers"]]:
        assert [entry["name"] for entry in container["env"][-2:]] == ["VC_WORKER_HOSTS", "VC_WORKER_NUM"]
        assert container["env"][-1]["valueFrom"] == {"configMapKeyRef": {"name": hosts, "key": "VC_WORKER_NUM"}}
        assert container["volumeMounts"][-1] == {"name": hosts, "mountPath": "/etc/volcano"}
    assert found["spec"]["volumes"][-1] == {"name": hosts, "configMap": {"name": hosts}}


def test_the_rendered_job_is_left_alone() -> None:
    body = job(plan(**TENSORFLOW))
    before = copy.deepcopy(body)
    controller_objects(body)
    assert body == before


def test_every_backend_keeps_the_contract() -> None:
    for backend in BACKENDS.values():
        made = plan()
        assert backend.conventions(made).index_label == backend.INDEX_LABEL
        assert immutable_part(backend.job(made).body, backend.IN_PLACE)
