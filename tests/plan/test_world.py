"""Who is in the world, who launches, who has SSH, and whose end is the job's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, experiment, job, plan, pod, reasons
from trainform.plan.world import (
    first_ranked,
    has_tf_config,
    in_world,
    launching_role,
    plan_world,
    rank_offsets,
    role_policies,
    ssh_roles,
    task_type,
)

WATCHER = {"ranked": False, "command": ["python", "watch.py"]}
MPI: dict[str, Any] = {"mpi": {"command": ["python"]}}
APART: dict[str, Any] = {"mpi": {"command": ["python"], "role": "launcher"}}
TENSORFLOW: dict[str, Any] = {"tensorflow": {"command": ["python"]}}
ROLES: dict[str, Any] = {"watcher": WATCHER, "master": {}, "worker": {"replicas": 3}, "helper": {"replicas": 2}}
WITH_LAUNCHER: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 3}, "watcher": WATCHER}
TF_ROLES: dict[str, Any] = {
    "ps": {"replicas": 2},
    "evaluator": {},
    "worker": {"replicas": 3},
    "chief": {},
    "watcher": WATCHER,
}


def test_ranks_are_numbered_over_the_ranked_roles() -> None:
    made = experiment(roles=ROLES)
    assert first_ranked(made) == "master"
    assert [rank_offsets(made)[name] for name in ("master", "worker", "helper")] == [0, 1, 4]
    assert [in_world(made, name) for name in ROLES] == [False, True, True, True]


def test_the_evaluator_is_not_in_the_world() -> None:
    made = experiment(launcher=TENSORFLOW, roles=TF_ROLES)
    assert (plan_world(made).nodes, plan_world(made).processes) == (6, 6)
    assert [name for name in TF_ROLES if in_world(made, name)] == ["ps", "worker", "chief"]
    assert [rank_offsets(made)[name] for name in ("ps", "worker", "chief")] == [0, 2, 5]
    assert launching_role(made) is None
    planned = plan(launcher=TENSORFLOW, roles=TF_ROLES)
    assert [(role.name, role.rank_offset) for role in planned.roles] == [
        ("ps", 0), ("evaluator", None), ("worker", 2), ("chief", 5), ("watcher", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("roles", "needed"),
    [
        ({"worker": {}}, False),
        ({"chief": {}}, False),
        ({"worker": {"replicas": 2}}, True),
        ({"worker": {}, "evaluator": {}}, True),
        ({"worker": {}, "watcher": {**WATCHER, "replicas": 4}}, False),
    ],
)
def test_who_needs_tf_config(roles: dict[str, Any], needed: bool) -> None:
    assert has_tf_config(experiment(launcher=TENSORFLOW, roles=roles)) is needed
    assert not has_tf_config(experiment(roles=WITH_EXTRAS))


def test_task_types() -> None:
    said = {"tensorflow": {"command": ["python"], "task_types": {"gpu-worker": "worker", "ps": "chief"}}}
    made = experiment(launcher=said, roles={"gpu-worker": {}, "ps": {}, "sidekick": {}, "watcher": WATCHER})
    assert [task_type(made, name) for name in made.roles] == ["worker", "chief", None, None]
    assert task_type(experiment(roles={"worker": {}}), "worker") is None, "another launcher has none"


def test_a_tensorflow_process_drives_all_accelerators_of_its_pod() -> None:
    made = experiment(launcher=TENSORFLOW, roles={"worker": {"replicas": 2, "accelerators": {"a800": 8}}})
    assert plan_world(made).processes == 2


def test_who_launches() -> None:
    assert launching_role(experiment(launcher=MPI, roles=ROLES)) == "master"
    assert launching_role(experiment(launcher=APART, roles=WITH_LAUNCHER)) == "launcher"
    assert launching_role(experiment(launcher={"deepspeed": {"script": "/app/train.py"}}, roles=ROLES)) == "master"
    assert launching_role(experiment(roles=ROLES)) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"roles": ROLES}, ()),
        ({"roles": ROLES, "ssh": {}}, ("master", "worker", "helper")),
        ({"roles": ROLES, "ssh": {"roles": ["watcher", "worker", "nobody"]}}, ("watcher", "worker")),
        ({"roles": ROLES, "launcher": MPI}, ("master", "worker", "helper")),
        ({"roles": WITH_LAUNCHER, "launcher": APART}, ("launcher", "worker")),
        ({"roles": WITH_LAUNCHER, "launcher": APART, "ssh": {"rotation": 2}}, ("launcher", "worker")),
    ],
)
def test_who_has_ssh(parts: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert ssh_roles(experiment(**parts)) == expected


@pytest.mark.parametrize(
    ("roles", "types", "found"),
    [
        ({"ps": {}, "worker": {}}, {}, {}),
        ({"trainer": {}}, {"trainer": "worker"}, {}),
        (
            {"worker": {}, "watcher": WATCHER},
            {"watcher": "ps"},
            {"launcher.tensorflow.task_types.watcher": "the experiment has no ranked role of this name"},
        ),
        (
            {"worker": {}, "more": {}},
            {"more": "worker"},
            {"roles.more": "the role has the task type worker, as worker has"},
        ),
        (
            {"chief": {"replicas": 2}, "worker": {}},
            {},
            {"roles.chief.replicas": "the number must be 1: TensorFlow has one chief"},
        ),
        ({"ps": {"replicas": 2}}, {}, {"roles": "the roles have neither a chief nor a worker, so nothing trains"}),
    ],
)
def test_rules_of_task_types(roles: dict[str, Any], types: dict[str, str], found: dict[str, str]) -> None:
    """tests/spec/bad/task-types has the others."""
    launcher = {"tensorflow": {"command": ["python"], "task_types": types}}
    assert reasons(launcher=launcher, roles=roles) == found


USER = {"user": 1000, "home": "/home/trainer"}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"ssh": {"roles": ["master", "worker", "helper", "watcher"]}, "launcher": MPI}, {}),
        ({"run_as": {"user": 1000}}, {}),
        (
            {"ssh": {}, "run_as": {"user": 1000, "home": "/root/"}},
            {"run_as.home": "the folder is not the home of user 1000, where SSH looks for its files"},
        ),
        ({"ssh": {}, "run_as": USER}, {}),
        ({"ssh": {"port": 1024}, "run_as": USER}, {}),
        ({"ssh": {"port": 22}, "run_as": {"user": 0}}, {}),
    ],
)
def test_rules_of_ssh(parts: dict[str, Any], found: dict[str, str]) -> None:
    """tests/spec/bad/ssh-of-a-user has the others."""
    assert reasons(**{"roles": ROLES, **parts}) == found


def test_the_launching_role_needs_ssh_too() -> None:
    found = reasons(launcher=APART, roles=WITH_LAUNCHER, ssh={"roles": ["worker"]})
    assert found == {"ssh.roles": "the roles leave out launcher, which mpi needs"}


ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 3, "max_nodes": 8}}}
WATCHERS: dict[str, Any] = {"replicas": 4, "ranked": False, "command": ["python", "watch.py"]}
WITH_MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["python"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
FAILED, END = ("PodFailed", "TerminateJob"), ("TaskCompleted", "CompleteJob")
GAVE_UP, EVICTED = ("TaskFailed", "TerminateJob"), ("PodEvicted", "RestartJob")
ANEW = ("PodFailed", "RestartPod")  # where containers are started again, only an eviction fails a pod
AGAIN = ("PodFailed", "RestartJob")  # a kubelet says so of an evicted pod, before it is gone


def actions(**parts: Any) -> dict[str, list[tuple[str | None, str]]]:
    policies = role_policies(experiment(**parts))
    return {role: [(policy.event, policy.action) for policy in found] for role, found in policies.items()}


def test_the_plans_own_policies() -> None:
    assert actions() == {"worker": [FAILED]}
    assert actions(roles=WITH_EXTRAS) == {"master": [FAILED, END], "worker": [FAILED], "evaluation-watcher": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}}) == {"worker": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}, "watcher": WATCHERS}) == {
        "worker": [END],
        "watcher": [],
    }
    assert actions(**WITH_MPI) == {"launcher": [FAILED, END], "worker": [FAILED]}, "the launcher's failure is the job's"


def test_rendered_policies() -> None:
    restart = {"event": "PodEvicted", "action": "RestartJob"}
    made = plan(policies=[{**restart, "timeout": "1h30m"}, {"exit_code": 137, "action": "RestartTask"}])
    assert job(made)["spec"]["policies"] == [
        {"action": "RestartJob", "event": "PodEvicted", "timeout": "5400s"},
        {"action": "RestartTask", "exitCode": 137},
    ]


def policy(event: str, action: str) -> dict[str, str]:
    return {"event": event, "action": action}


ON_EVICTION, ON_FAILURE = policy("PodEvicted", "RestartJob"), policy("PodFailed", "RestartJob")
ON_THE_END, ON_ANYTHING = policy("TaskCompleted", "RestartJob"), policy("*", "RestartJob")
RESTARTED_ON_THE_END, ANY = ("TaskCompleted", "RestartJob"), ("*", "RestartJob")


@pytest.mark.parametrize(
    ("given", "at_the_role", "at_the_job"),
    [
        ([ON_EVICTION], [EVICTED, FAILED, END], [FAILED, END]),
        ([ON_FAILURE], [AGAIN, END], [END]),
        ([ON_FAILURE, ON_EVICTION], [AGAIN, EVICTED, END], [END]),
        ([ON_THE_END], [RESTARTED_ON_THE_END, FAILED], [FAILED]),
        ([policy("TaskFailed", "AbortJob")], [("TaskFailed", "AbortJob"), FAILED, END], [FAILED, END]),
        ([ON_ANYTHING], [ANY], []),
        ([], [], []),
    ],
)
def test_a_policy_takes_the_place_of_the_default_for_the_same_event(
    given: list[Any], at_the_role: list[Any], at_the_job: list[Any]
) -> None:
    """The others stay. Volcano looks at the role's list before the job's."""
    roles = {"launcher": {"ranked": False, "policies": given}, "worker": {"replicas": 2}}
    assert actions(**{**WITH_MPI, "roles": roles}) == {"launcher": at_the_role, "worker": [FAILED]}
    without_an_end = [each for each in at_the_job if each != END]
    assert actions(**WITH_MPI, policies=given) == {"launcher": at_the_job, "worker": without_an_end}


def test_an_empty_list_at_the_job_leaves_no_default_at_any_role() -> None:
    roles = {"launcher": {"ranked": False, "policies": [ON_EVICTION]}, "worker": {"replicas": 2}}
    assert actions(**{**WITH_MPI, "roles": roles}, policies=[]) == {"launcher": [EVICTED], "worker": []}


def test_the_jobs_policies_for_exit_codes_come_before_the_roles_default() -> None:
    """Volcano would ask the default, which is at the role, first, and never come to them."""

    def found(**parts: Any) -> dict[str, list[Any]]:
        return {
            role: [(each.event if each.exit_code is None else each.exit_code, each.action) for each in policies]
            for role, policies in role_policies(experiment(**parts)).items()
        }

    lost, wrong = {"exit_code": 137, "action": "RestartJob"}, {"exit_code": 2, "action": "AbortJob"}
    assert found(**WITH_MPI, policies=[lost, wrong]) == {
        "launcher": [(137, "RestartJob"), (2, "AbortJob"), FAILED, END],
        "worker": [(137, "RestartJob"), (2, "AbortJob"), FAILED],
    }
    own = {"worker": {"policies": [{"exit_code": 137, "action": "RestartPod"}]}}
    assert found(policies=[lost, wrong], roles=own) == {"worker": [(137, "RestartPod"), (2, "AbortJob"), FAILED]}
    assert found(policies=[lost], roles=WITH_EXTRAS)["evaluation-watcher"] == [], "asked for at the job"
    assert found(policies=[lost, ON_FAILURE]) == {"worker": []}, "both at the job, in the user's order"


WORDS = [
    (None, "Never", 3, [FAILED]),
    ("never", "Never", 3, [FAILED]),
    ("on-failure", "OnFailure", 3, [ANEW, GAVE_UP]),
    # Volcano gives up at the restart with this number: one more than are allowed
    ("1 times", "OnFailure", 2, [ANEW, GAVE_UP]),
    ("1 time", "OnFailure", 2, [ANEW, GAVE_UP]),
    ("3 times", "OnFailure", 4, [ANEW, GAVE_UP]),
    ("999999999 times", "OnFailure", 1_000_000_000, [ANEW, GAVE_UP]),
    ("all-when-evicted", "Never", 3, [AGAIN, EVICTED]),
]


@pytest.mark.parametrize(("words", "pod_restart", "retries", "policies"), WORDS)
def test_values_of_restart(words: str | None, pod_restart: str, retries: int, policies: list[Any]) -> None:
    of_the_job: dict[str, Any] = {"restart": words}
    of_the_role: dict[str, Any] = {"roles": {"worker": {"replicas": 2, "restart": words}}}
    for parts in (of_the_job, of_the_role):
        made = plan(**parts)
        assert pod(made, "worker")["spec"]["restartPolicy"] == pod_restart
        assert job(made)["spec"]["tasks"][0]["maxRetry"] == retries
        assert actions(**parts) == {"worker": policies}


def test_the_roles_restart_wins() -> None:
    roles = {"master": {}, "worker": {"restart": "never"}, "watcher": {**WATCHERS, "restart": "5 times"}}
    made = plan(restart="on-failure", roles=roles)
    assert [(role.restart, role.max_retry) for role in made.roles] == [
        ("on-failure", 3),
        ("never", 3),
        ("on-failure", 6),
    ]


def test_an_evicted_extra_restarts_nothing() -> None:
    assert actions(restart="all-when-evicted", roles=WITH_EXTRAS)["evaluation-watcher"] == []


def test_an_evicted_launcher_restarts_all() -> None:
    roles = {**WITH_MPI["roles"], "launcher": {"ranked": False, "restart": "all-when-evicted"}}
    assert EVICTED in actions(**{**WITH_MPI, "roles": roles})["launcher"]
    assert reasons(**{**WITH_MPI, "roles": roles}) == {}


def test_only_roles_that_never_scale_in_place_restart_all() -> None:
    """Volcano raises PodEvicted for the pods of a voluntary scale-down too."""
    for parts in ({"roles": WITH_EXTRAS}, WITH_MPI):
        made = plan(**parts, restart="all-when-evicted")
        for role in made.roles:
            evicted = [policy for policy in role.policies if policy.event == "PodEvicted"]
            assert not evicted or not role.scales_in_place or role.name == "launcher", "a launcher is always one"


def test_pods_of_an_elastic_job_come_back() -> None:
    made = plan(launcher=ELASTIC, roles={"worker": {"replicas": 4}, "watcher": WATCHERS})
    assert [role.restart for role in made.roles] == ["on-failure", "never"]
    assert {pod.rank for pod in made.pods()} == {None}, "torchrun assigns the ranks"
    said = plan(launcher=ELASTIC, roles={"worker": {"replicas": 4}}, restart="never")
    assert said.roles[0].restart == "never"
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}}, restart="2 times") == {"worker": [GAVE_UP]}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4, "max_retry": 5}}) == {"worker": [GAVE_UP]}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4, "max_retry": 5}}, restart="never") == {
        "worker": []
    }


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"restart": "all-when-evicted"}, {}),
        ({"roles": {"worker": {"restart": "all-when-evicted"}}}, {}),
        ({"restart": "all-when-evicted", "launcher": ELASTIC, "roles": {"worker": {"replicas": 4}}},
         {"restart": "the job is elastic and goes on without the evicted pod"}),
        ({"launcher": ELASTIC, "roles": {"worker": {"replicas": 4, "restart": "all-when-evicted"}}},
         {"roles.worker.restart": "the value has no meaning here: an elastic job goes on without the evicted pod"}),
        ({"roles": {"worker": {}, "watcher": {**WATCHERS, "restart": "all-when-evicted"}}},
         {"roles.watcher.restart": "the value has no meaning here: the end of an extra never ends the training"}),
        ({"roles": {"worker": {"restart": "3 times", "max_retry": 3}}},
         {"roles.worker.max_retry": "the role has `restart: 3 times` too, which sets the same number"}),
        ({"restart": "3 times", "roles": {"worker": {"max_retry": 3}}},
         {"roles.worker.max_retry": "the role has `restart: 3 times` too, which sets the same number"}),
        ({"restart": "on-failure", "roles": {"worker": {"max_retry": 3}}}, {}),
        ({"restart": "all-when-evicted", "roles": {"master": {"restart": "never"}, "worker": {}}}, {}),
    ],
)  # fmt: skip
def test_rules(parts: dict[str, Any], found: dict[str, str]) -> None:
    assert reasons(**parts) == found
