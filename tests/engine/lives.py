"""Many jobs at once on the sandbox, each from its start to its end, held to its plan: which pods run, what ends it, and
what does not.

A test takes the part of the kubelet: pods end when it says so. Every job is a story of its own, told by a generator
that is asked again after each look at the cluster, so that all of them wait together.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from tests.engine.admission import make
from tests.engine.kubelet import fails, succeeds
from tests.engine.live import Live
from tests.engine.phases import Phases, Wrong
from tests.engine.pods import hostname, is_running
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import ends_by
from trainform.backends.volcano.backend import is_unheeded
from trainform.job.render import job_manifests
from trainform.manifests.manifest import Manifest, job_body
from trainform.plan.model import Plan, RolePlan
from trainform.plan.world import POD_FAILED

PATIENCE = 75.0  # seconds in which nothing at all happens to the pods of a job
SETTLED = 6.0  # seconds in which a controller has counted what it was told, and acted
LOOK = 0.5
ON_SUCCESS = ("TaskCompleted", "*")

Pod = dict[str, Any]
Story = Iterator[None]


@dataclasses.dataclass
class Life:
    """One job on the cluster. fails: the role of which one pod fails, before the job ends well. chance: what happens
    first of things that may happen in any order."""

    live: Live
    data: dict[str, Any]
    plan: Plan
    fails: str | None
    chance: random.Random
    wrong: str = ""
    job: dict[str, Any] = dataclasses.field(default_factory=dict)
    pods: dict[str, Pod] = dataclasses.field(default_factory=dict)
    seen: set[str] = dataclasses.field(default_factory=set)
    ended_well: set[str] = dataclasses.field(default_factory=set)
    moved: float = dataclasses.field(default_factory=time.monotonic)

    @functools.cached_property
    def manifests(self) -> list[Manifest]:
        return job_manifests(self.plan)

    @functools.cached_property
    def planned(self) -> dict[str, RolePlan]:
        """The role of each pod, by the pod's name."""
        return {pod.name: self.plan.by_name[pod.role] for pod in self.plan.pods()}

    @functools.cached_property
    def phases(self) -> Phases:
        """What the job and its pods have been through."""
        returns = self.fails is not None or has_policies(self.data)
        return Phases(self.plan, returns)

    @property
    def word(self) -> str:
        """What became of the job, as the gates of a promotion know it."""
        return BACKENDS[self.plan.backend].OUTCOME(self.job, [*self.pods.values()]).word

    @property
    def ended(self) -> bool:
        return self.word != "not ended"

    def running(self) -> dict[str, Pod]:
        return {name: pod for name, pod in self.pods.items() if is_running(pod)}

    def looks(self, job: dict[str, Any], every: Sequence[Pod]) -> None:
        """What the cluster says now. every: the pods of the job, those too that are on their way out."""
        pods = {
            hostname(pod): pod for pod in sorted(every, key=is_running)
        }  # of two with one name that which is not on its way out
        self.phases.look(job, every)
        if (job.get("status"), _phases(pods)) != (self.job.get("status"), _phases(self.pods)):
            self.moved = time.monotonic()
        self.job, self.pods = job, pods
        self.seen |= self.running().keys()

    def story(self) -> Story:
        yield from self._starts()
        if self.fails is not None and not (yield from self._fails(self.plan.by_name[self.fails])):
            return
        yield from self._ends()
        unknown = self.seen - self.planned.keys()
        if unknown:
            raise Wrong(f"pods that the plan has not: {', '.join(sorted(unknown))}")

    # --- what happens

    def _starts(self) -> Story:
        while not self.planned.keys() <= self.seen:
            if self.ended:
                raise Wrong(f"has ended ({self.word}) before all pods have run: {self._missing()}")
            self._patient(f"never starts: {self._missing()}")
            yield
        self.phases.hold_the_start(self.planned)

    def _fails(self, role: RolePlan) -> Generator[None, None, bool]:
        """One pod of the role fails; returns whether the job goes on, as the plan says."""
        (name, pod) = self.chance.choice(
            [each for each in sorted(self.running().items()) if self.planned[each[0]] is role]
        )
        before = {each["metadata"]["uid"] for each in self.pods.values()}
        fails(self.live, pod)
        if role.restarts_job and self.plan.max_retry > 1:
            yield from self._until(lambda: self._all_new(before), "the job to begin again")
            return True
        if _fails_for_good(self.plan, role) and not self._unheeded(role):
            yield from self._until(lambda: self.ended, f"the end after a failure of {name}")
            if self.word != "failed":
                raise Wrong(f"has {self.word} after a failure of {name}")
            yield from self._stays_ended()
            return False
        yield from self._goes_on(f"after {name} has failed")
        return not (self._unheeded(role) and ends_by(role.name, self.plan.ends_with))  # nothing ends it

    def _ends(self) -> Story:
        plan, endable = self.plan, [name for name in self.planned if self._may_end(name)]
        own = [name for name, role in self.planned.items() if role.name == plan.ending_role]
        whole = [ending.pods for ending in plan.ends_with] == [f"the role {plan.ending_role}"]
        if plan.ends_with and not whole:
            roles = [role for ending in plan.ends_with for role in ending.roles]
            chosen = self.chance.choice(roles) if roles else None
            last = [name for name in self.planned if chosen in (None, self.planned[name].name)]
        elif whole:
            others = [name for name in endable if name not in own]
            *early, one = self.chance.sample(own, len(own))
            last = [one]
            early += self.chance.sample(others, self.chance.randint(0, len(others)))
            yield from self._early(early)
        else:
            if any(note.startswith("nothing ends this job") for note in plan.notes):
                yield from self._early(own)
                endable = [name for name in endable if name not in own]
                if len(endable) < len(self.planned) - len(own):
                    return  # others never end by themselves, which the note says
            *early, one = self.chance.sample(endable, len(endable))
            last = [one]
            yield from self._early(early)
        if _begins_again(plan):
            return  # by a policy of the user's
        yield from self._success(last)

    def _early(self, names: Sequence[str]) -> Story:
        if names:
            self._succeed({name: self.pods[name] for name in names if name in self.running()})
            yield from self._goes_on(f"after {', '.join(sorted(names))}")

    def _success(self, last: Sequence[str]) -> Story:
        self._succeed({name: self.pods[name] for name in last if name in self.running()})
        yield from self._until(lambda: self.ended, f"the end after {', '.join(sorted(last))}")
        good = {"succeeded"} if self.fails is None else {"succeeded", "succeeded in part"}
        if self.fails is not None and self._lacks(self.plan.by_name[self.fails]):
            good = {"failed"}
        if self.word not in good and not has_policies(self.data):
            raise Wrong(f"has {self.word}, and all its pods have ended well")
        yield from self._stays_ended()

    def _stays_ended(self) -> Story:
        """Nothing is left running, and nothing starts again."""
        word, before = self.word, {*self.phases.pods}
        yield from self._until(lambda: not self.running() and not self._waiting(), "the other pods to go")
        until = time.monotonic() + SETTLED
        while time.monotonic() < until:
            yield
            again = [each.name for uid, each in self.phases.pods.items() if uid not in before]
            if again or self.running() or self._waiting():
                raise Wrong(f"pods after the end ({word}): {_phases(self.pods)}, of which are new: {again}")
            if not self.ended:
                raise Wrong(f"goes on after its end ({word})")

    # --- how it is seen

    def _goes_on(self, when: str) -> Story:
        until = time.monotonic() + SETTLED
        while time.monotonic() < until:
            yield
            if self.ended:
                raise Wrong(f"has ended ({self.word}) {when}")

    def _until(self, condition: Callable[[], bool], what: str) -> Story:
        self.moved = time.monotonic()
        yield
        while not condition():
            self._patient(f"waits for {what}")
            yield

    def _still(self, seconds: float) -> bool:
        return time.monotonic() - self.moved > seconds

    def _patient(self, what: str) -> None:
        if self._still(PATIENCE):
            raise Wrong(f"{what}; pods {_phases(self.pods)}, status {json.dumps(self.job.get('status'))[:600]}")

    def _waiting(self) -> list[str]:
        return [name for name, pod in self.pods.items() if pod["status"].get("phase") == "Pending"]

    def _missing(self) -> str:
        return ", ".join(sorted(self.planned.keys() - self.seen))

    def _all_new(self, before: set[str]) -> bool:
        running = self.running()
        return running.keys() == self.planned.keys() and not before & {
            pod["metadata"]["uid"] for pod in running.values()
        }

    def _unheeded(self, role: RolePlan) -> bool:
        """Return True if a failed pod of the role stays so while the job goes on."""
        if self.plan.operator.mpi_job == "v2beta1":
            return role.name != self.plan.launches  # mpirun ends, and no pod of a sandbox has one
        if self.plan.backend != defaults.VOLCANO:
            return False
        return role.restart == "never" and is_unheeded(self.plan, role, POD_FAILED)

    def _lacks(self, role: RolePlan) -> bool:
        """Return True if fewer pods of the role are left than the job needs, after one has failed."""
        of_volcano = self.plan.backend == defaults.VOLCANO
        return of_volcano and self._unheeded(role) and role.launched and role.min_available == role.replicas

    def _may_end(self, name: str) -> bool:
        """False for what runs until the job ends: servers of SSH, and what `stay.sh` keeps."""
        role = self.planned[name]
        serves = self.plan.launches is not None and role.ranked and role.name != self.plan.launches
        return not role.stays and not serves

    def _succeed(self, pods: dict[str, Pod]) -> None:
        for name, pod in pods.items():
            self.ended_well.add(name)
            succeeds(self.live, pod)


def _phases(pods: dict[str, Pod]) -> dict[str, str]:
    return {name: str(pod["status"].get("phase")) for name, pod in pods.items()}


def _fails_for_good(plan: Plan, role: RolePlan) -> bool:
    """A failure ends the job: of pods with a launch script that nothing starts again, or that would be started again
    one time too often. On JobSet and Trainer an extra's does too, if the user limits its restarts."""
    decides = role.ranked or role.name in (plan.launches, plan.ending_role)
    decides = decides or (role.limited and plan.backend in ("jobset", "trainer"))
    allowed = (plan.max_retry if role.restarts_job else role.max_retry) - 1
    return decides and (allowed == 0 or role.restart == "never")


def has_policies(data: dict[str, Any]) -> bool:
    """The user says what follows, and not the plan alone."""
    return any("policies" in part for part in (data, *data["roles"].values()))


def _begins_again(plan: Plan) -> bool:
    policies = [*plan.policies, *(policy for role in plan.roles for policy in role.policies)]
    return any(policy.event in ON_SUCCESS and policy.action.startswith(("Restart", "Resume")) for policy in policies)


def live_together(live: Live, lives: Sequence[Life], namespace: str) -> None:
    """All stories to their ends; what is wrong is in each life."""
    stories: list[tuple[Life, Story]] = []
    for life in lives:
        try:
            make(live, life.plan, life.manifests)
        except AssertionError as refused:
            life.wrong = f"the server refuses it: {refused}"[:1500]
        else:
            life.moved = time.monotonic()
            stories.append((life, life.story()))
    while stories:
        time.sleep(LOOK)
        pods = _pods(live, namespace)
        jobs = _jobs(live, stories)  # later: pods go when their job has ended
        for life, story in [*stories]:
            try:
                life.looks(jobs.get(_key(job_body(life.manifests)), {}), pods.get(life.plan.job, []))
                next(story)
            except StopIteration:
                stories.remove((life, story))
            except Wrong as wrong:
                life.wrong = str(wrong)
                stories.remove((life, story))


def _key(body: dict[str, Any]) -> tuple[str, str, str]:
    return body["apiVersion"], body["kind"], body["metadata"]["name"]


def _jobs(live: Live, stories: Sequence[tuple[Life, Story]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the job objects of all stories: one look for each kind."""
    bodies = [job_body(life.manifests) for life, _ in stories]
    kinds = {(body["apiVersion"], body["kind"]): body for body in bodies}
    return {
        (version, kind, found["metadata"]["name"]): found
        for (version, kind), body in kinds.items()
        for found in live.find_like(body)
    }


def _pods(live: Live, namespace: str) -> dict[str, list[Pod]]:
    """Return the pods of each job."""
    found: dict[str, list[Pod]] = {}
    for pod in live.find_all("pods", namespace):
        labels = pod["metadata"].get("labels", {})
        found.setdefault(f"{labels.get(defaults.NAME_LABEL)}-{labels.get(defaults.REVISION_LABEL)}", []).append(pod)
    return found
