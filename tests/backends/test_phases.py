"""What the generated jobs on the sandbox are held to, with pods as a server would say them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.phases import Phases, Wrong
from tests.support.samples import fitting, plan
from trainform.backends.backend import BACKENDS
from trainform.plan.model import Plan

ROLES = {"master": {}, "worker": {"replicas": 2}}
RUNS, ENDS = {"state": {"phase": "Running"}}, {"state": {"phase": "Completed"}}


def pod(name: str, phase: str, created: int = 0, placed: int | None = 1, started: int = 2) -> dict[str, Any]:
    """A pod with the seconds at which it was made, had a node, and was ready."""
    times = {"PodScheduled": placed, "Ready": started if phase == "Running" else None}
    return {
        "metadata": {"name": name, "uid": name, "creationTimestamp": at(created)},
        "spec": {} if phase == "Pending" else {"nodeName": "node-0"},
        "status": {
            "phase": phase,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": at(second)}
                for kind, second in times.items()
                if second is not None
            ],
        },
    }


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def hold_the_start(made: Plan, pods: list[dict[str, Any]]) -> None:
    phases = Phases(made, returns=False)
    phases.look({}, pods)
    phases.hold_the_start({each.name: made.by_name[each.role] for each in made.pods()})


def test_a_pod_never_goes_back() -> None:
    phases = Phases(plan(roles=ROLES), returns=True)
    phases.look({}, [pod("a", "Pending")])
    phases.look({}, [pod("a", "Running")])
    with pytest.raises(Wrong, match="a was Running, and is Pending"):
        phases.look({}, [pod("a", "Pending")])


@pytest.mark.parametrize("returns", [True, False])
def test_a_job_waits_again_only_where_it_may_begin_again(returns: bool) -> None:
    phases = Phases(plan(roles=ROLES), returns)
    phases.look({"status": RUNS}, [pod("a", "Running")])
    if returns:
        phases.look({"status": RUNS}, [pod("b", "Pending")])
    else:
        with pytest.raises(Wrong, match="the job was at running, and then at waiting"):
            phases.look({"status": RUNS}, [pod("b", "Pending")])


def test_what_has_ended_stays_so() -> None:
    phases = Phases(plan(roles=ROLES), returns=True)
    phases.look({"status": ENDS}, [])
    with pytest.raises(Wrong, match="the job was at an end, and then at running"):
        phases.look({"status": RUNS}, [pod("b", "Running")])


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_pod_has_a_node_before_its_gang_is_made(backend: str) -> None:
    made = plan(backend=backend, roles=fitting(backend, ROLES))
    names = [each.name for each in made.pods()]
    whole = [
        pod(name, "Running", created=3 if backend == "kubedl" and name != names[0] else 0, placed=4) for name in names
    ]
    hold_the_start(made, whole)
    *others, last = names
    late = [*(pod(name, "Running", placed=1) for name in others), pod(last, "Running", created=9, placed=10)]
    with pytest.raises(Wrong, match="before the"):
        hold_the_start(made, late)
    apart = [*(pod(name, "Running", placed=4) for name in others), pod(last, "Running", placed=40)]
    with pytest.raises(Wrong, match=r"had theirs at|was made at"):
        hold_the_start(made, apart)


def test_workers_of_kubedl_are_made_when_the_master_runs() -> None:
    made = plan(backend="kubedl", roles=ROLES)
    master, *workers = (each.name for each in made.pods())
    early = [pod(master, "Running", started=5), *(pod(name, "Running", created=4, placed=6) for name in workers)]
    with pytest.raises(Wrong, match="waits for pods that run from"):
        hold_the_start(made, early)
