"""What follows a failure: words of the user as restart policies, retries and lifecycle policies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import WITH_EXTRAS, environment, experiment, job, plan, pod, reasons
from trainform.backends.job import job_problems
from trainform.plan.restart import role_policies, times

ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 3, "max_nodes": 8}}}
WATCHER: dict[str, Any] = {"replicas": 4, "ranked": False, "command": ["python", "watch.py"]}
APART: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["python"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
FAILED, END = ("PodFailed", "TerminateJob"), ("TaskCompleted", "CompleteJob")
GAVE_UP, EVICTED = ("TaskFailed", "TerminateJob"), ("PodEvicted", "RestartJob")
AGAIN = ("PodFailed", "RestartJob")  # a kubelet says so of an evicted pod, before it is gone


def actions(**parts: Any) -> dict[str, list[tuple[str | None, str]]]:
    policies = role_policies(experiment(**parts))
    return {role: [(policy.event, policy.action) for policy in found] for role, found in policies.items()}


def test_the_plans_own_policies() -> None:
    assert actions() == {"worker": [FAILED]}
    assert actions(roles=WITH_EXTRAS) == {"master": [FAILED, END], "worker": [FAILED], "evaluation-watcher": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}}) == {"worker": []}
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}, "watcher": WATCHER}) == {
        "worker": [END],
        "watcher": [],
    }
    assert actions(**APART) == {"launcher": [FAILED, END], "worker": [FAILED]}, "the launcher's failure is the job's"


def test_the_users_policies_win() -> None:
    restart = {"event": "PodEvicted", "action": "RestartJob"}
    assert actions(policies=[restart]) == {"worker": []}
    assert actions(policies=[]) == {"worker": []}
    assert actions(roles={"worker": {"policies": [restart]}}) == {"worker": [EVICTED]}
    assert actions(roles={"worker": {"policies": []}}) == {"worker": []}
    made = plan(policies=[{**restart, "timeout": "1h30m"}, {"exit_code": 137, "action": "RestartTask"}])
    assert job(made)["spec"]["policies"] == [
        {"action": "RestartJob", "event": "PodEvicted", "timeout": "5400s"},
        {"action": "RestartTask", "exitCode": 137},
    ]


WORDS = [
    (None, "Never", 3, [FAILED]),
    ("never", "Never", 3, [FAILED]),
    ("on-failure", "OnFailure", 3, [GAVE_UP]),
    # Volcano gives up at the restart with this number: one more than are allowed
    ("1 times", "OnFailure", 2, [GAVE_UP]),
    ("1 time", "OnFailure", 2, [GAVE_UP]),
    ("3 times", "OnFailure", 4, [GAVE_UP]),
    ("999999999 times", "OnFailure", 1_000_000_000, [GAVE_UP]),
    ("all-when-evicted", "Never", 3, [AGAIN, EVICTED]),
]


@pytest.mark.parametrize(("words", "pod_restart", "retries", "policies"), WORDS)
def test_words(words: str | None, pod_restart: str, retries: int, policies: list[Any]) -> None:
    of_the_job: dict[str, Any] = {"restart": words}
    of_the_role: dict[str, Any] = {"roles": {"worker": {"replicas": 2, "restart": words}}}
    for parts in (of_the_job, of_the_role):
        made = plan(**parts)
        assert pod(made, "worker")["spec"]["restartPolicy"] == pod_restart
        assert job(made)["spec"]["tasks"][0]["maxRetry"] == retries
        assert actions(**parts) == {"worker": policies}


def test_the_roles_word_wins() -> None:
    roles = {"master": {}, "worker": {"restart": "never"}, "watcher": {**WATCHER, "restart": "5 times"}}
    made = plan(restart="on-failure", roles=roles)
    assert [(role.restart, role.max_retry) for role in made.roles] == [
        ("on-failure", 3),
        ("never", 3),
        ("on-failure", 6),
    ]


def test_an_evicted_extra_restarts_nothing() -> None:
    assert actions(restart="all-when-evicted", roles=WITH_EXTRAS)["evaluation-watcher"] == []


def test_an_evicted_launcher_restarts_all() -> None:
    roles = {**APART["roles"], "launcher": {"ranked": False, "restart": "all-when-evicted"}}
    assert EVICTED in actions(**{**APART, "roles": roles})["launcher"]
    assert reasons(**{**APART, "roles": roles}) == {}


def test_only_roles_that_never_scale_in_place_restart_all() -> None:
    """Volcano raises PodEvicted for the pods of a voluntary scale-down too."""
    for parts in ({"roles": WITH_EXTRAS}, APART):
        made = plan(**parts, restart="all-when-evicted")
        for role in made.roles:
            evicted = [policy for policy in role.policies if policy.event == "PodEvicted"]
            assert not evicted or not role.scales_in_place or role.name == "launcher", "a launcher is always one"


def test_pods_of_an_elastic_job_come_back() -> None:
    made = plan(launcher=ELASTIC, roles={"worker": {"replicas": 4}, "watcher": WATCHER})
    assert [role.restart for role in made.roles] == ["on-failure", "never"]
    said = plan(launcher=ELASTIC, roles={"worker": {"replicas": 4}}, restart="never")
    assert said.roles[0].restart == "never"
    assert actions(launcher=ELASTIC, roles={"worker": {"replicas": 4}}, restart="2 times") == {"worker": [GAVE_UP]}


def test_retries_of_a_role() -> None:
    made = plan(roles={"worker": {"max_retry": 7}, "master": {}}, restart="on-failure")
    assert [role.max_retry for role in made.roles] == [7, 3]


@pytest.mark.parametrize(("words", "number"), [("1 times", 1), ("12 times", 12), ("never", None), ("on-failure", None)])
def test_the_number_in_words(words: str, number: int | None) -> None:
    assert times(words) == number


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"restart": "all-when-evicted"}, {}),
        ({"roles": {"worker": {"restart": "all-when-evicted"}}}, {}),
        ({"restart": "all-when-evicted", "launcher": ELASTIC, "roles": {"worker": {"replicas": 4}}},
         {"restart": "restarts an elastic job, which goes on without the evicted pod"}),
        ({"launcher": ELASTIC, "roles": {"worker": {"replicas": 4, "restart": "all-when-evicted"}}},
         {"roles.worker.restart": "has no meaning here: an elastic job goes on without the evicted pod"}),
        ({"roles": {"worker": {}, "watcher": {**WATCHER, "restart": "all-when-evicted"}}},
         {"roles.watcher.restart": "has no meaning here: the end of an extra never ends the training"}),
        ({"roles": {"worker": {"restart": "3 times", "max_retry": 3}}},
         {"roles.worker.max_retry": "stands beside `restart: 3 times`, which says the same"}),
        ({"restart": "3 times", "roles": {"worker": {"max_retry": 3}}},
         {"roles.worker.max_retry": "stands beside `restart: 3 times`, which says the same"}),
        ({"restart": "on-failure", "roles": {"worker": {"max_retry": 3}}}, {}),
    ],
)  # fmt: skip
def test_rules(parts: dict[str, Any], found: dict[str, str]) -> None:
    assert reasons(**parts) == found


@pytest.mark.parametrize("where", ["job", "role"])
def test_words_beside_policies_that_take_their_place(where: str) -> None:
    """Nothing is left out silently."""
    policies: list[Any] = [{"event": "PodFailed", "action": "RestartJob"}]
    words: dict[str, Any] = {"restart": "all-when-evicted"}
    nothing: dict[str, Any] = {}
    of_job, of_role = (words, nothing) if where == "job" else (nothing, words)
    told = "has no effect beside `policies`, which take the place of the plan's own"
    path = "restart" if where == "job" else "roles.worker.restart"
    assert reasons(**of_job, policies=policies, roles={"worker": of_role}) == {path: told}
    assert reasons(**of_job, roles={"worker": {**of_role, "policies": policies}}) == {path: told}
    made = experiment(**of_job, policies=policies, roles={"master": of_role, "worker": of_role})
    assert len(job_problems(made, environment())) == (1 if where == "job" else 2), "once for each place"
    assert reasons(restart="on-failure", policies=policies) == {}, "containers are started again all the same"
