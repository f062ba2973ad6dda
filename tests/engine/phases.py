"""The phases of a job on the cluster and of its pods, look by look, held to what the plan and the operator promise.

A pod waits, runs and ends, and never goes back. No pod has a node before all pods that the gang needs are made, and all
of these get theirs at once; pods that wait for others are made after those. The job waits, runs and ends. What has
ended stays so.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.engine.pods import hostname
from trainform import defaults
from trainform.cluster.phases import Phase, PodState, phase_of, pod_state
from trainform.plan.model import Plan, RolePlan

Pod = dict[str, Any]
PENDING, RUNNING = "Pending", "Running"
_NEXT: Mapping[str, Sequence[str]] = {
    PENDING: (RUNNING, "Succeeded", "Failed"),
    RUNNING: ("Succeeded", "Failed"),
    "Succeeded": (),
    "Failed": (),
}
"""The phases of a pod that may follow each phase; between two looks it may go through several."""
_OF_JOBS = ("waiting", "running", "an end")
"""The course of a job, in this order."""
_WORDS: Mapping[Phase, str] = {
    Phase.QUEUED: "waiting",
    Phase.STARTING: "waiting",
    Phase.RUNNING: "running",
    Phase.SUCCEEDED: "an end",
    Phase.FAILED: "an end",
}
AT_ONCE = datetime.timedelta(seconds=10)  # in which the scheduler tells the server where each pod of a gang runs
ONE_BY_ONE = frozenset({"kubedl"})
"""The operators that make a gang of each role, by themselves."""
_WAIT_FOR: Mapping[str, Mapping[str, Sequence[str]]] = {"kubedl": {"worker": ("master", "ps")}}
"""The groups of which an operator makes pods only when all pods of others run, by itself."""


class Wrong(Exception):  # noqa: N818 - of the job, not of the program
    """What a job does that its plan does not say."""


@dataclasses.dataclass
class History:
    """One pod from its creation: the phases that were seen, and the times that the server says."""

    name: str
    created: datetime.datetime
    phases: list[str]
    scheduled: datetime.datetime | None = None
    started: datetime.datetime | None = None

    def look(self, pod: Pod) -> None:
        """What the server says of the pod now."""
        phase = _phase(pod)
        if phase != self.phases[-1]:
            if phase not in _NEXT[self.phases[-1]]:
                raise Wrong(f"{self.name} was {self.phases[-1]}, and is {phase}")
            self.phases.append(phase)
        self.scheduled = self.scheduled or _of_condition(pod, "PodScheduled")
        self.started = self.started or (_of_condition(pod, "Ready") if phase == RUNNING else None)


@dataclasses.dataclass
class Phases:
    """What a job has been through. returns: True if the job may begin again, or wait between pods that follow each
    other, so that it waits after it has run."""

    plan: Plan
    returns: bool
    pods: dict[str, History] = dataclasses.field(default_factory=dict)
    words: list[str] = dataclasses.field(default_factory=list)

    def look(self, job: Mapping[str, Any], pods: Iterable[Pod]) -> None:
        """What the cluster says now of the job and of all its pods."""
        counts: Counter[PodState] = Counter()
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if uid not in self.pods:
                self.pods[uid] = History(hostname(pod), _time(pod["metadata"]), [_phase(pod)])
            self.pods[uid].look(pod)
            counts[pod_state(pod)] += 1
        if job:
            self._next(phase_of(job, counts))

    def _next(self, phase: Phase) -> None:
        word = _WORDS.get(phase, "")
        if not word or (self.words and self.words[-1] == word):
            return
        before = self.words[-1] if self.words else "waiting"
        back = _OF_JOBS.index(word) < _OF_JOBS.index(before)
        if back and (before == "an end" or not self.returns):
            raise Wrong(f"the job was at {' -> '.join(self.words)}, and then at {word}")
        self.words.append(word)

    def hold_the_start(self, roles: Mapping[str, RolePlan]) -> None:
        """Fail if a pod has a node before its gang is whole, or is made before those that it waits for run. roles: by
        the names of pods as the plan has them. To be asked when all pods have run, and none has ended."""
        by_role: dict[str, list[History]] = {role.name: [] for role in self.plan.roles}
        for history in self.pods.values():
            if history.name in roles:
                by_role[roles[history.name].name].append(history)
        for gang in _gangs(self.plan):
            _whole({name: by_role[name] for name in gang}, gang)
        for role in self.plan.roles:
            awaited = _WAIT_FOR.get(self.plan.backend, {}).get(role.group, ())
            before = [each for other in self.plan.roles if other.group in awaited for each in by_role[other.name]]
            if before:
                _after(by_role[role.name], before)


def _gangs(plan: Plan) -> list[dict[str, int]]:
    """How many pods of each role start together: for each gang of the job. Only Volcano has any: Kueue admits all pods
    at once, and each starts as soon as it fits."""
    if plan.admission != defaults.VOLCANO:
        return []
    least = {role.name: role.min_available for role in plan.roles if role.replicas}
    if plan.backend in ONE_BY_ONE:
        return [{name: number} for name, number in least.items()]
    return [least]


def _whole(pods: Mapping[str, list[History]], least: Mapping[str, int]) -> None:
    placed = sorted(each.scheduled for found in pods.values() for each in found if each.scheduled is not None)
    if not placed:
        return
    for role, number in least.items():
        if number == 0:
            continue
        made = sorted(each.created for each in pods[role])
        if len(made) < number or made[number - 1] > placed[0]:
            raise Wrong(
                f"a pod had a node at {placed[0]}, before the {number} pods of {role} were made at {_written(made)}"
            )
        nodes = sorted(each.scheduled for each in pods[role] if each.scheduled is not None)
        if len(nodes) < number or nodes[number - 1] - placed[0] > AT_ONCE:
            raise Wrong(
                f"a pod had a node at {placed[0]}, and the {number} pods of {role} had theirs at {_written(nodes)}"
            )


def _written(times: Iterable[datetime.datetime]) -> str:
    return ", ".join(map(str, times))


def _after(pods: Sequence[History], others: Sequence[History]) -> None:
    """Fail if a pod is made before the last of the others runs."""
    started = [each.started for each in others if each.started is not None]
    for each in pods if started else ():
        if each.created < max(started):
            raise Wrong(f"{each.name} was made at {each.created}, and waits for pods that run from {max(started)} on")


def _phase(pod: Pod) -> str:
    return str(pod["status"].get("phase", PENDING))


def _of_condition(pod: Pod, kind: str) -> datetime.datetime | None:
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == kind and condition["status"] == "True":
            return _time(condition, "lastTransitionTime")
    return None


def _time(holder: Mapping[str, Any], field: str = "creationTimestamp") -> datetime.datetime:
    return datetime.datetime.fromisoformat(holder[field])
