"""The Job and the Queue as Volcano takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, environment, job, plan, reasons
from trainform.job.render import job_manifests


def queue(**request: Any) -> dict[str, Any]:
    (found,) = [manifest.body for manifest in job_manifests(plan(queue=request)) if manifest.key.startswith("queue-")]
    return found


def test_own_queues() -> None:
    body = queue(weight=2, capability={"a800": 16, "cpu": 128}, deserved={"a800": 8}, guarantee={"a800": 4})
    assert body["metadata"]["name"] == "sdxl-lora"
    assert body["metadata"]["annotations"]["pulumi.com/waitFor"] == "jsonpath={.status.state}=Open"
    assert body["spec"] == {
        "weight": 2, "reclaimable": True, "parent": "root",
        "capability": {"baidu.com/a800_80g_cgpu": "16", "cpu": "128"},
        "deserved": {"baidu.com/a800_80g_cgpu": "8"},
        "guarantee": {"resource": {"baidu.com/a800_80g_cgpu": "4"}},
    }  # fmt: skip
    assert queue(name="vision.own", reclaimable=False, priority=0)["spec"] == {
        "weight": 1,
        "reclaimable": False,
        "parent": "root",
    }
    assert queue(priority=7)["spec"]["priority"] == 7


def test_keys_that_the_controller_overwrites_are_refused() -> None:
    roles = {
        "chief-worker": {"replicas": 1, "labels": {"volcano.sh/task-index": "7"}, "env": {"VC_CHIEF_WORKER_NUM": "1"}},
        "worker": {"replicas": 1, "annotations": {"scheduling.k8s.io/group-name": "mine"}},
    }
    assert reasons(roles=roles, env={"VC_CHIEF_WORKER_HOSTS": "a,b", "VC_OTHER_NUM": "1"}) == {
        "roles.chief-worker.labels.volcano.sh/task-index": "the key is set by the operator itself",
        "roles.worker.annotations.scheduling.k8s.io/group-name": "the key is set by the operator itself",
    }


def test_names_reach_their_limit() -> None:
    """63 characters for the longest pod name, and so for everything that is derived from the job's name."""
    fits: dict[str, Any] = {"name": "x" * 40, "roles": {"r" * 10: {"replicas": 1000}}}  # 40 + 7 + 11 + 4
    assert reasons(environment(accelerators={}), **fits) == {}
    assert len(max((pod.name for pod in plan(**fits).pods()), key=len)) == 62
    too_long = f"the pod name {'x' * 40}-000000-rrrrrrrrrr-10000 has 64 characters; a hostname has at most 63"
    assert reasons(**{**fits, "roles": {"r" * 10: {"replicas": 10_001}}})["roles.rrrrrrrrrr"] == too_long
    longest = plan(name="x" * 52, roles={"r": {"replicas": 10}})
    assert len(f"{longest.job}-svc") == 63, "the svc plugin names a volume so"


PER_REPLICA = {"host": True, "ports": "per-replica"}
WATCHER = {"ranked": False, "command": ["python", "watch.py"]}
PS, WORKER = {"replicas": 2}, {"replicas": 3}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
    "roles": {"ps": PS, "worker": WORKER},
    "network": PER_REPLICA,
}
END = {"action": "CompleteJob", "event": "TaskCompleted"}
STAY = ["/bin/sh", "/etc/trainform/stay.sh"]
RUN = ["/bin/sh", "/etc/trainform/run.sh"]
LAUNCH = ["/bin/sh", "/etc/trainform/launch.sh"]
EACH = (
    "the policy would act when a single replica has succeeded: with `ports: per-replica` each replica of a ranked "
    "role is a separate task"
)
NEVER = "the policy would never act: with `ports: per-replica` the pods of this role keep running until the job ends"


def spec(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = job(plan(**{**TENSORFLOW, **parts}))["spec"]
    return found


def commands(found: dict[str, Any]) -> dict[str, list[str]]:
    return {task["name"]: task["template"]["spec"]["containers"][0]["command"] for task in found["tasks"]}


def test_as_many_pods_as_the_role_has_end_the_job() -> None:
    found = spec()
    assert found["minSuccess"] == 3
    assert not any(END in task.get("policies", []) for task in found["tasks"])
    assert [task["name"] for task in found["tasks"]] == ["ps-0", "ps-1", "worker-0", "worker-1", "worker-2"]
    assert all(task["policies"] == [{"action": "TerminateJob", "event": "PodFailed"}] for task in found["tasks"])


@pytest.mark.parametrize(
    ("parts", "ending"),
    [
        ({"network": {"host": True}}, ["worker"]),
        ({"roles": {"chief": {}, "ps": PS, "worker": WORKER}}, ["chief-0"]),
        ({"roles": {"ps": PS, "worker": {}}}, ["worker-0"]),
        ({"roles": {"worker": WORKER}}, []),
        ({"policies": []}, []),
    ],
)
def test_a_policy_ends_it_where_one_task_does_and_nothing_where_no_pod_is_left(
    parts: dict[str, Any], ending: list[str]
) -> None:
    found = spec(**parts)
    assert "minSuccess" not in found
    assert [task["name"] for task in found["tasks"] if END in task.get("policies", [])] == ending
    assert not any(command[:2] == STAY for command in commands(found).values())


def test_pods_of_other_roles_stay() -> None:
    """Volcano would count them."""
    roles = {"ps": {"replicas": 1}, "worker": WORKER, "evaluator": {}, "watcher": WATCHER}
    found = commands(spec(roles=roles))
    assert found["ps-0"] == found["evaluator-0"] == [*STAY, *LAUNCH]
    assert found["worker-0"] == [*RUN, *LAUNCH]
    assert found["watcher"] == [*STAY, "python", "watch.py"]


def test_pods_that_keep_running_mount_the_script() -> None:
    made = plan(**{**TENSORFLOW, "roles": {"ps": PS, "worker": WORKER, "watcher": WATCHER}})
    assert "stay.sh" in made.files
    assert "stay.sh" not in plan(**{**TENSORFLOW, "network": {"host": True}}).files
    pod = job(made)["spec"]["tasks"][-1]["template"]["spec"]
    mount = {"name": "launch", "mountPath": "/etc/trainform", "readOnly": True}
    assert pod["containers"][0]["volumeMounts"] == [mount]
    assert pod["volumes"] == [{"name": "launch", "configMap": {"name": made.launch_files, "defaultMode": 0o555}}]
    storage = {"logs": {"claim": "logs", "mount": "/etc/trainform", "roles": ["watcher"]}}
    roles = {"ps": PS, "worker": WORKER, "watcher": WATCHER}
    assert reasons(**{**TENSORFLOW, "roles": roles}, storage=storage) == {
        "storage.logs.mount": "the path is the mount of the launch script too (role watcher)"
    }


@pytest.mark.parametrize("backend", ["jobset", "trainer", "kubedl"])
def test_on_other_operators_no_pod_stays(backend: str) -> None:
    made = plan(**TENSORFLOW, backend=backend)
    assert "stay.sh" not in made.files
    assert not any(role.stays for role in made.roles)


def test_the_number_is_part_of_the_revision() -> None:
    """Volcano's webhook takes no other `minSuccess` in a job that is there."""
    patch = {"job": {"spec": {"minSuccess": 2}}}
    assert plan(**TENSORFLOW, manifest_overrides=patch).revision != plan(**TENSORFLOW).revision


def test_a_first_role_of_several_replicas_beside_extras() -> None:
    roles = {"master": {"replicas": 2}, "worker": WORKER, "watcher": {**WATCHER, "replicas": 0}}
    found = job(plan(roles=roles, network=PER_REPLICA))["spec"]
    assert found["minSuccess"] == 2
    assert [name for name, command in commands(found).items() if command[:2] == STAY] == [
        "worker-0", "worker-1", "worker-2", "watcher",
    ]  # fmt: skip


def on(event: str, action: str, **more: str) -> dict[str, str]:
    return {"event": event, "action": action, **more}


@pytest.mark.parametrize(
    ("roles", "policies", "found"),
    [
        ({}, [on("TaskCompleted", "CompleteJob")], {"policies[0].event": EACH}),
        ({}, [on("PodEvicted", "RestartJob"), on("TaskCompleted", "RestartJob")], {"policies[1].event": EACH}),
        ({}, [on("*", "RestartJob")], {"policies[0].event": EACH}),
        ({}, [on("PodEvicted", "RestartJob"), {"exit_code": 137, "action": "RestartJob"}], {}),
        ({"worker": [on("PodFailed", "RestartJob"), on("TaskCompleted", "CompleteJob")]}, None, {}),
        (
            {"worker": [on("TaskCompleted", "CompleteJob", timeout="5m")]},
            None,
            {"roles.worker.policies[0].event": EACH},
        ),
        (
            {"worker": [on("PodFailed", "RestartJob"), on("*", "RestartJob")]},
            None,
            {"roles.worker.policies[1].event": EACH},
        ),
        ({"ps": [on("TaskCompleted", "CompleteJob")]}, None, {"roles.ps.policies[0].event": NEVER}),
        ({"watcher": [on("TaskCompleted", "CompleteJob")]}, None, {"roles.watcher.policies[0].event": NEVER}),
        ({"watcher": [on("TaskCompleted", "CompleteJob")], "worker": []}, None, {}),
    ],
)
def test_policies_upon_the_end_of_a_task(
    roles: dict[str, Any], policies: list[Any] | None, found: dict[str, str]
) -> None:
    """They would silently mean something else than with `ports: shared`."""
    every: dict[str, Any] = {"ps": PS, "worker": WORKER, "watcher": WATCHER}
    written = {name: {**role, **({"policies": roles[name]} if name in roles else {})} for name, role in every.items()}
    assert reasons(**{**TENSORFLOW, "roles": written}, policies=policies) == found
    shared = {**TENSORFLOW, "roles": written, "network": {"host": True}}
    assert "TaskCompleted" not in str(reasons(**shared, policies=policies))


def test_a_policy_of_the_users_that_is_the_default_is_the_number_too() -> None:
    roles = {"ps": PS, "worker": {"replicas": 3, "policies": [on("TaskCompleted", "CompleteJob")]}}
    found = spec(roles=roles)
    assert found["minSuccess"] == 3
    assert found["tasks"][2]["policies"] == [{"action": "TerminateJob", "event": "PodFailed"}]


@pytest.mark.parametrize("replicas", [0, 1])
def test_an_image_that_may_have_no_shell(replicas: int) -> None:
    own = {**WATCHER, "image": "registry.example.com/watcher:1", "replicas": replicas}
    roles = {"ps": PS, "worker": WORKER, "watcher": own}
    (problem,) = reasons(**{**TENSORFLOW, "roles": roles}).items()
    assert problem[0] == "roles.watcher.image"
    assert problem[1].startswith(
        "the image may have no /bin/sh: with `ports: per-replica` a script starts the role's pods"
    )
    assert reasons(**{**TENSORFLOW, "roles": {"chief": {}, **roles}}) == {}
    assert reasons(**{**TENSORFLOW, "roles": roles}, backend="jobset") == {}
    assert reasons(roles={**WITH_EXTRAS, "watcher": own}, network=PER_REPLICA) == {}
