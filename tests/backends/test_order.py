"""Pods that wait for others: a gang fills, or the file is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import environment, experiment, plan
from trainform.backends.order import After, Batch, order_problems
from trainform.render import render_job

KUEUE = environment(admission="kueue", queues={})
EXTRA: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}, "watcher": EXTRA}
OUTSIDE: dict[str, Any] = {**ROLES, "watcher": {**EXTRA, "min_available": 0}}
ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 8}}}

ALL_OF_ELASTIC = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 4, "max_nodes": 8}}}


def after(**waiting: list[str]) -> dict[str, Any]:
    """A patch of a Volcano Job."""
    return {"spec": {"tasks": {name: {"dependsOn": {"name": others}} for name, others in waiting.items()}}}


def jobs_after(status: str = "Ready", **waiting: list[str]) -> dict[str, Any]:
    """A patch of a JobSet."""
    return {
        "spec": {
            "replicatedJobs": {
                name: {"dependsOn": [{"name": other, "status": status} for other in others]} for name, others in waiting.items()
            }
        }
    }  # fmt: skip


IN_ORDER: dict[str, Any] = {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}


def found(patch: dict[str, Any], cluster: Any = None, **parts: Any) -> dict[str, str]:
    """The reasons by path below the job object."""
    made = experiment(
        **{
            "roles": ROLES,
            "launcher": {"torchrun": {"script": "/app/train.py"}},
            **parts,
            "manifest_overrides": {"job": patch},
        }
    )
    problems = render_job(made, environment() if cluster is None else cluster).problems
    return {problem.path.removeprefix("manifest_overrides.job.spec."): problem.reason for problem in problems}


WORKERS = "the gang starts when 5 pods have room, and those of worker are made only when those of master run: before that there are 2"


@pytest.mark.parametrize(
    ("patch", "parts", "told"),
    [
        (after(worker=["master"]), {}, {"tasks.worker.dependsOn": WORKERS}),
        (after(watcher=["worker"]), {}, {"tasks.watcher.dependsOn": "the gang starts when 5 pods have room, and those of watcher are made only when those of worker run: before that there are 4"}),
        (after(watcher=["worker"]), {"roles": OUTSIDE}, {}),
        (after(watcher=["worker", "master"]), {"roles": OUTSIDE}, {}),
        (after(worker=["watcher"]), {"roles": OUTSIDE}, {}),  # Volcano waits for so many as the gang needs of them
        (after(worker=["master"]), {"launcher": ELASTIC}, {}),
        (after(watcher=["nobody"]), {"roles": OUTSIDE}, {"tasks.watcher.dependsOn": "the pods of watcher are never made, since those of nobody never run before"}),
        (after(master=["worker"], worker=["master"]), {}, {
            "tasks.master.dependsOn": "the pods of master are never made, since those of worker never run before",
            "tasks.worker.dependsOn": "the pods of worker are never made, since those of master never run before"}),
        (after(watcher=["watcher"]), {"roles": OUTSIDE}, {"tasks.watcher.dependsOn": "the pods of watcher are never made, since those of watcher never run before"}),
    ],
)  # fmt: skip
def test_a_task_of_volcano_that_waits_for_others(
    patch: dict[str, Any], parts: dict[str, Any], told: dict[str, str]
) -> None:
    assert found(patch, **parts) == told


@pytest.mark.parametrize(
    ("patch", "parts", "told"),
    [
        (jobs_after(worker=["master"]), {}, {"replicatedJobs.worker.dependsOn": WORKERS}),
        (jobs_after(watcher=["worker"]), {"roles": OUTSIDE}, {}),
        (IN_ORDER, {}, {"startupPolicy.startupPolicyOrder": "the gang starts when 5 pods have room, and those of watcher are made only when those of worker run: before that there are 1"}),
        (IN_ORDER, {"roles": {"worker": {"replicas": 3}, "watcher": {**EXTRA, "min_available": 0}}}, {}),
        (IN_ORDER, {"roles": {"worker": {"replicas": 3}}}, {}),
    ],
)  # fmt: skip
def test_a_replicated_job_that_waits_for_others(
    patch: dict[str, Any], parts: dict[str, Any], told: dict[str, str]
) -> None:
    assert found(patch, backend="jobset", **parts) == told


def test_a_replicated_job_waits_only_for_those_before_it() -> None:
    told = "a replicated job waits only for those before it, which have the order of the roles"
    cluster: dict[str, Any] = {"backend": "jobset", "queue": "research"}
    assert found(jobs_after(master=["worker"]), KUEUE, **cluster) == {"replicatedJobs.master.dependsOn": told}


def test_one_order_at_a_time() -> None:
    both = {"spec": {**IN_ORDER["spec"], **jobs_after(worker=["master"])["spec"]}}
    told = "the field stands beside InOrder, and JobSet takes one of the two"
    assert found(both, KUEUE, backend="jobset", queue="research") == {"replicatedJobs.worker.dependsOn": told}


def test_kueue_admits_pods_that_are_not_made_yet() -> None:
    roles = {"setup": EXTRA, **ROLES}
    for patch in (IN_ORDER, jobs_after(worker=["master"]), jobs_after("Complete", worker=["setup"])):
        assert found(patch, KUEUE, backend="jobset", queue="research", roles=roles) == {}


def test_nobody_trains_with_pods_that_have_ended() -> None:
    told = "the pods of worker wait for the success of those of master, which train with them"
    patch = jobs_after("Complete", worker=["master"])
    assert found(patch, KUEUE, backend="jobset", queue="research") == {"replicatedJobs.worker.dependsOn": told}
    assert found(patch, KUEUE, backend="jobset", queue="research", launcher=ALL_OF_ELASTIC) == {}


def test_the_fix_leads_to_a_job_that_starts() -> None:
    made = experiment(roles=ROLES, manifest_overrides={"job": after(watcher=["worker"])})
    (problem,) = render_job(made, environment()).problems
    assert problem.fix == "remove it, or take its pods out of the gang: `roles.watcher.min_available: 0`"
    assert found(after(watcher=["worker"]), roles=OUTSIDE) == {}


@given(st.data())
def test_a_gang_fills_where_nothing_is_found(data: st.DataObject) -> None:
    """Held against a run of the operator: it makes the pods whose predecessors run, and the gang runs once enough are made."""
    names = [f"b{index}" for index in range(data.draw(st.integers(1, 5)))]
    batches = [
        Batch(
            name,
            data.draw(st.sampled_from(["master", "watcher"])),
            data.draw(st.integers(0, 3)),
            after=tuple(After(other) for other in data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True))),
            any_of=data.draw(st.booleans()),
            where=name,
        )
        for name in names
    ]
    gang = data.draw(st.integers(0, sum(batch.pods for batch in batches)))
    made: set[str] = set()
    while True:
        running = made if sum(batch.pods for batch in batches if batch.name in made) >= gang else set()
        more = {
            batch.name
            for batch in batches
            if not batch.after or (any if batch.any_of else all)(each.name in running for each in batch.after)
        }
        if more <= made:
            break
        made |= more
    problems = [*order_problems(plan(roles=ROLES), batches, gang)]
    assert (made == set(names)) is (problems == [])
