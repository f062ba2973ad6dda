"""Whatever policies and success policies a user writes: what the plan says of the end of the job is what the controller
does."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.support.generated_fields import ACTIONS, EVENTS, policies
from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems, plan_job
from tests.support.samples import environment, experiment
from trainform import defaults
from trainform.manifests.manifest import job_body
from trainform.objects import job_manifests
from trainform.plan import Plan
from trainform.spec import Environment, Experiment
from trainform.spec.load import parse

RICH = Environment.model_validate(ENVIRONMENT)
HOSTS = environment(limits={"host_network": True})
ENDED, RUNS, RESTARTED = "ended", "runs", "restarted"


class VolcanoJob:
    """What Volcano's controller makes of pods that succeed: `applyPolicies` and state/running.go in pkg/controllers/job
    at 1.14.1."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.spec = body["spec"]
        self.left = {task["name"]: task["replicas"] for task in self.spec["tasks"]}
        self.tasks = {task["name"]: task for task in self.spec["tasks"]}
        self.succeeded = 0
        self.state = RUNS

    def names(self, role: str) -> list[str]:
        """The tasks of the role, one for each pod."""
        return [name for name, task in self.tasks.items() if _role(task) == role for _ in range(task["replicas"])]

    def succeeds(self, name: str) -> None:
        """A pod of the task succeeds, unless it stays."""
        if self.state != RUNS or _stays(self.tasks[name]):
            return
        self.left[name] -= 1
        self.succeeded += 1
        action = self._action(name) if self.left[name] == 0 else "SyncJob"
        if action in ("CompleteJob", "TerminateJob", "AbortJob"):
            self.state = ENDED
        elif action.startswith("Restart"):
            self.state = RESTARTED
        elif self.succeeded >= self.spec.get("minSuccess", 2**31) or not any(self.left.values()):
            self.state = ENDED

    def _action(self, name: str) -> str:
        for policy in [*self.tasks[name].get("policies", []), *self.spec.get("policies", [])]:
            if policy.get("event") in ("TaskCompleted", "*"):
                return str(policy["action"])
        return "SyncJob"


class JobSet:
    """The same of JobSet's: pkg/controllers/success_policy.go at 0.12.0."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.policy = body["spec"].get("successPolicy", {})
        self.jobs = {job["name"]: job["template"]["spec"] for job in body["spec"]["replicatedJobs"]}
        self.left = {name: job["completions"] for name, job in self.jobs.items()}

    def names(self, role: str) -> list[str]:
        """The replicated jobs of the role, one for each pod."""
        return [name for name, job in self.jobs.items() if _role(job) == role for _ in range(job["completions"])]

    def succeeds(self, name: str) -> None:
        """A pod of the replicated job succeeds."""
        self.left[name] -= 1

    @property
    def state(self) -> str:
        """Whether as many jobs have succeeded as the policy expects, of those that it counts."""
        targets = self.policy.get("targetReplicatedJobs", [])
        counted = [name for name in self.jobs if not targets or name in targets]
        done = sum(self.left[name] == 0 for name in counted)
        return ENDED if done >= (1 if self.policy.get("operator") == "Any" else len(counted)) else RUNS


Controlled = VolcanoJob | JobSet
CONTROLLERS: dict[str, type[Controlled]] = {"volcano": VolcanoJob, "jobset": JobSet}


def _role(task: dict[str, Any]) -> str:
    return str(task["template"]["metadata"]["labels"][defaults.ROLE_LABEL])


def _stays(task: dict[str, Any]) -> bool:
    return "/etc/trainform/stay.sh" in task["template"]["spec"]["containers"][0].get("command", [])


def after(plan: Plan, pods: Iterable[str]) -> str:
    """The state of the job after one pod of each of these parts has succeeded, in this order."""
    controlled = CONTROLLERS[plan.backend](job_body(job_manifests(plan)))
    for name in pods:
        controlled.succeeds(name)
    return controlled.state


def pods_of(plan: Plan, *roles: str) -> list[str]:
    controlled = CONTROLLERS[plan.backend](job_body(job_manifests(plan)))
    return [name for role in roles for name in controlled.names(role)]


def is_as_told(plan: Plan, data: st.DataObject) -> bool:
    """Compare the plan with the controller; returns whether a note says that nothing ends the job."""
    others = [role.name for role in plan.roles if role.name != plan.ending_role and role.replicas > 0]
    noted = any(text.startswith("nothing ends this job") for text in plan.notes)
    if plan.ending_role is not None and others:
        ending = data.draw(st.permutations(pods_of(plan, plan.ending_role)))
        planned = any(plan.ending_role in each.roles for each in plan.ends_with)
        assert (after(plan, ending) == ENDED) is planned, "the job ends with the role if, and only if, the plan says so"
        assert noted is not planned
    for each in plan.ends_with:
        for role in each.roles:
            assert after(plan, pods_of(plan, role)) == ENDED
    if [each.pods for each in plan.ends_with] == [f"the role {plan.ending_role}"]:
        last, *before = data.draw(st.permutations(pods_of(plan, str(plan.ending_role))))
        early = data.draw(st.permutations([*before, *pods_of(plan, *others)]))
        assert after(plan, early) != ENDED, f"before {last} has succeeded"
    return noted


def test_endings_of_any_experiment() -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments(), st.data())
    def check(written: dict[str, Any], data: st.DataObject) -> None:
        made = parse(Experiment, written)
        if made.model is None or job_problems(made.model, RICH):
            return
        plan = plan_job(made.model, RICH)
        seen[is_as_told(plan, data)] += 1

    check()
    assert seen[False] > 5


WATCHER: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
SHAPES: list[dict[str, Any]] = [
    {
        "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
        "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}, "watcher": WATCHER},
    },
    {
        "launcher": {"mpi": {"command": ["train"], "role": "launcher"}},
        "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
    },
    {"roles": {"master": {"replicas": 2}, "worker": {"replicas": 2}, "watcher": {**WATCHER, "replicas": 2}}},
    {"roles": {"worker": {"replicas": 3}, "watcher": {**WATCHER, "replicas": 0}}},
]
NETWORKS: list[dict[str, Any]] = [{}, {"host": True, "ports": "per-replica"}]
SIMPLE = st.lists(
    st.fixed_dictionaries({"event": st.sampled_from(EVENTS), "action": st.sampled_from(ACTIONS)}),
    max_size=2,
    unique_by=lambda policy: policy["event"],
)


def test_endings_with_any_policies() -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(SHAPES), st.sampled_from(NETWORKS), st.data())
    def check(shape: dict[str, Any], network: dict[str, Any], data: st.DataObject) -> None:
        parts = copy.deepcopy({**shape, "network": network})
        for owner in (parts, *parts["roles"].values()):
            if data.draw(st.integers(0, 2)) == 0:
                owner["policies"] = data.draw(SIMPLE | policies)
        note(str(parts))
        made = experiment(**parts)
        if not job_problems(made, HOSTS):
            seen[is_as_told(plan_job(made, HOSTS), data)] += 1

    check()
    assert min(seen[True], seen[False]) > 10


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_endings_with_any_success_policy_of_a_jobset(shape: dict[str, Any], network: dict[str, Any]) -> None:
    parts = {**shape, "network": network, "backend": "jobset"}
    known = pods_of(plan_job(experiment(**parts), HOSTS), *shape["roles"])
    patches = st.fixed_dictionaries(
        {},
        optional={
            "operator": st.sampled_from(["All", "Any"]),
            "targetReplicatedJobs": st.none() | st.lists(st.sampled_from(known), unique=True, min_size=1),
        },
    )

    @settings(max_examples=30, deadline=None)
    @given(patches, st.data())
    def check(patch: dict[str, Any], data: st.DataObject) -> None:
        made = experiment(**parts, manifest_overrides={"job": {"spec": {"successPolicy": patch}}})
        is_as_told(plan_job(made, HOSTS), data)

    check()
