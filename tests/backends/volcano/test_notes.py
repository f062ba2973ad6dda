"""What plans say of lifecycle policies that do something else than their words, and of failures that nothing heeds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import plan

WATCHER = {"ranked": False, "command": ["python", "watch.py"]}


def on(event: str, action: str, **more: str) -> dict[str, str]:
    return {"event": event, "action": action, **more}


ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 4}}}
GOES_ON = (
    "role worker: with `restart: never` a pod that fails is not started again, and the job continues with the other"
)
NO_END = ", which nothing ends then when they complete"
AGAIN = "; write `restart: on-failure` to start its containers again"


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"restart": "never"}, [f"{GOES_ON} nodes"]),
        ({"restart": "never", "worker": {"replicas": 2}}, [f"{GOES_ON} nodes, and fails when they have ended"]),
        ({"restart": "never", "watcher": WATCHER}, [f"{GOES_ON} nodes{NO_END}"]),
        ({"restart": "never", "watcher": WATCHER, "policies": [on("PodFailed", "RestartPod")]}, []),
        ({"restart": "never", "worker": {"replicas": 3, "policies": [on("*", "AbortJob")]}}, []),
        ({}, []),
        ({"restart": "3 times"}, []),
        ({"restart": "never", "launcher": {"command": ["train"]}}, []),
        ({"restart": "never", "launcher": {"command": ["train"]}, "policies": []}, [f"{GOES_ON} pods, and fails when they have ended"]),
        ({"restart": "never", "launcher": {"command": ["train"]}, "policies": [], "worker": {"replicas": 1}}, []),
        ({"restart": "never", "manifest_overrides": {"job": {"spec": {"policies": [on("PodFailed", "AbortJob")]}}}}, []),
    ],
)  # fmt: skip
def test_failures_after_which_the_job_goes_on(parts: dict[str, Any], told: list[str]) -> None:
    given = {"launcher": ELASTIC, **parts}
    roles = {"worker": given.pop("worker", {"replicas": 3})}
    roles |= {"watcher": given.pop("watcher")} if "watcher" in given else {}
    made = plan(**given, roles=roles)
    assert [note for note in made.notes if "restart: never" in note] == [f"{each}{AGAIN}" for each in told]


def test_restarts_without_an_end() -> None:
    def notes(**parts: Any) -> list[str]:
        return [note for note in plan(**parts).notes if "however often" in note]

    workers = {"worker": {"replicas": 3}}
    endless = (
        "role worker: a container that fails is started again, however often, and nothing ends the job for it; write the policy `TaskFailed: "
        "TerminateJob` to end it at restart 3"
    )
    assert notes(launcher=ELASTIC, roles=workers) == [endless]
    assert notes(restart="on-failure", policies=[], roles=workers) == [endless]
    assert notes(launcher=ELASTIC, roles=workers, restart="3 times") == []
    assert notes(launcher=ELASTIC, roles=workers, policies=[on("TaskFailed", "TerminateJob")]) == []
    assert notes(launcher=ELASTIC, roles={"worker": {"replicas": 3, "max_retry": 3}}) == []
    assert notes(restart="on-failure", roles=workers) == []
    extra = {**WATCHER, "restart": "on-failure"}
    assert notes(roles={**workers, "watcher": extra}) == [], "an extra ends nothing by itself"


ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}


def told(policies: list[dict[str, Any]] | None, roles: dict[str, Any] = ROLES) -> list[str]:
    """The notes on policies of the job."""
    return [note for note in plan(roles=roles, policies=policies).notes if "shared_memory" not in note]


@pytest.mark.parametrize("action", ["TerminateJob", "CompleteJob", "AbortJob", "RestartJob"])
@pytest.mark.parametrize("event", ["PodFailed", "TaskCompleted"])
def test_an_action_with_a_timeout(event: str, action: str) -> None:
    """Two of three jobs went on for ever on a machine that was busy, and none on a quiet one."""
    delayed = f"Volcano carries out {action} with a timeout beside its own sync"
    assert any(delayed in note for note in told([on(event, action, timeout="5m")]))
    assert not any("timeout" in note for note in told([on(event, action)]))


def test_policies_of_a_patch() -> None:
    spec = {"policies": [on("TaskCompleted", "CompleteJob", timeout="5m"), {"exitCode": 3, "action": "RestartJob"}]}
    notes = plan(roles=ROLES, manifest_overrides={"job": {"spec": spec}}).notes
    assert any("Volcano carries out CompleteJob with a timeout" in note for note in notes)


@pytest.mark.parametrize("action", ["TerminateJob", "AbortJob", "RestartJob"])
def test_pods_that_wait_need_a_timeout(action: str) -> None:
    assert told([on("PodPending", action, timeout="10m")]) == []


def test_a_role_that_begins_again_when_it_has_succeeded() -> None:
    for event in ("TaskCompleted", "*"):
        assert told([on(event, "RestartJob")]) == [
            f"role {role}: a policy puts RestartJob upon its success, so it begins again, and restart 3 fails the job; write `CompleteJob`, or another "
            "event, to let it end"
            for role in ROLES
        ]
    assert told([on("TaskCompleted", "CompleteJob")]) == []


def test_exit_codes_of_another_container() -> None:
    def beside(name: str) -> dict[str, Any]:
        patch = {"spec": {"containers": {name: {"image": "log", "command": ["log"]}}}}
        return {**ROLES, "worker": {"replicas": 2, "pod_overrides": patch}}

    codes = [{"exit_code": 137, "action": "RestartJob"}]

    def of_codes(*asked: Any) -> list[str]:
        return [note for note in told(*asked) if "exit codes" in note]

    assert of_codes(codes, beside("a-log")) == [
        "role worker: policies for exit codes look at the container a-log, the first by its name, and not at main; write a name for it that "
        "comes behind main"
    ]
    assert of_codes(codes, beside("z-log")) == []
    assert of_codes(None, beside("a-log")) == []


def code(number: int, action: str) -> dict[str, Any]:
    return {"exit_code": number, "action": action}


def in_job(*policies: dict[str, Any]) -> dict[str, Any]:
    return {"manifest_overrides": {"job": {"spec": {"policies": [*policies]}}}}


def in_worker(*policies: dict[str, Any]) -> dict[str, Any]:
    return {"manifest_overrides": {"job": {"spec": {"tasks": {"worker": {"policies": [*policies]}}}}}}


def with_own(*policies: dict[str, Any]) -> dict[str, Any]:
    return {"roles": {name: {**role, "policies": [*policies]} for name, role in ROLES.items()}}


END = on("PodFailed", "TerminateJob")
OF_CODE = {"exitCode": 3, "action": "RestartJob"}
PATCH = "manifest_overrides.job.spec.policies"
TASK = "manifest_overrides.job.spec.tasks.worker.policies"


@pytest.mark.parametrize(
    ("parts", "where", "words"),
    [
        (in_job(OF_CODE), PATCH, "exit code 3: RestartJob"),
        (in_job(on("PodFailed", "RestartJob")), PATCH, "PodFailed: RestartJob"),
        (in_job({"events": ["PodFailed"], "action": "RestartJob"}), PATCH, "PodFailed: RestartJob"),
        (in_worker(END, OF_CODE), TASK, "exit code 3: RestartJob"),
        ({"policies": [on("PodFailed", "RestartJob")], **with_own(END)}, "policies", "PodFailed: RestartJob"),
        ({"policies": [END, code(3, "RestartJob")]}, "policies", "exit code 3: RestartJob"),
        (with_own(END, code(3, "RestartJob")), "roles.worker.policies", "exit code 3: RestartJob"),
    ],
)
def test_a_policy_behind_another_for_the_same(parts: dict[str, Any], where: str, words: str) -> None:
    """Volcano 1.14.1, `applyPolicies`: the policies of the task come before those of the job, and the first that matches acts."""
    told = (
        f"{where}: the policy `{words}` never acts, since Volcano takes the first that matches, and `PodFailed: TerminateJob` comes before it for every "
        "pod; write it "
    )
    notes = [note for note in plan(**{"roles": ROLES, **parts}).notes if "never acts" in note]
    assert notes
    assert sum(note.startswith(told) for note in notes) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"policies": [code(3, "RestartJob")]},
        {"policies": [on("PodFailed", "RestartJob")]},
        {"policies": [code(3, "RestartJob"), END]},
        {"policies": [on("*", "RestartJob")]},
        {"restart": "3 times", "policies": [code(3, "RestartJob")]},
        in_job(on("TaskCompleted", "CompleteJob")),
        in_job(on("TaskFailed", "AbortJob")),
        in_job({"events": ["PodFailed", "TaskFailed"], "action": "RestartJob"}),
        in_job(END),
        {**in_job(OF_CODE), "roles": {**ROLES, "watcher": WATCHER}},
        {**in_job(on("PodFailed", "RestartJob")), "policies": []},
        with_own(code(3, "RestartJob"), END),
    ],
)
def test_policies_that_act(parts: dict[str, Any]) -> None:
    assert not [note for note in plan(**{"roles": ROLES, **parts}).notes if "never acts" in note]
