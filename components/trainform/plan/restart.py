"""What follows a failure: the words of `restart` as restart policies of pods, retries and lifecycle policies."""

from __future__ import annotations

from collections.abc import Iterable, Set

from trainform.catalog import defaults
from trainform.plan.world import ending_role
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Policy

NEVER, ON_FAILURE, ALL_WHEN_EVICTED = "never", "on-failure", "all-when-evicted"

POD_FAILED = Policy(event="PodFailed", action="TerminateJob")
TASK_FAILED = Policy(event="TaskFailed", action="TerminateJob")
POD_EVICTED = Policy(event="PodFailed", action="RestartPod")
FAILED_OR_EVICTED = tuple(Policy(event=event, action="RestartJob") for event in ("PodFailed", "PodEvicted"))
COMPLETED = Policy(event="TaskCompleted", action="CompleteJob")
ANY_EVENT = "*"


def restart_words(experiment: Experiment, name: str) -> str:
    """The role's word, else the experiment's, else never; an elastic job's pods come back by themselves, as torchrun expects."""
    role = experiment.roles[name]
    for said in (role.restart, experiment.restart):
        if said is not None:
            return said
    return ON_FAILURE if experiment.elastic and role.ranked else NEVER


def pod_restart(experiment: Experiment, name: str) -> str:
    """Whether the pod's own containers are started again: `never` or `on-failure`."""
    return NEVER if restart_words(experiment, name) in (NEVER, ALL_WHEN_EVICTED) else ON_FAILURE


def restarts_job(experiment: Experiment, name: str) -> bool:
    """Whether the end of a pod that was not meant to end, and that a launch script has started, starts the whole job anew."""
    return restart_words(experiment, name) == ALL_WHEN_EVICTED


def times(words: str) -> int | None:
    """The number in `3 times`, None in other words."""
    number, _, unit = words.partition(" ")
    return int(number) if unit else None


def max_retry(experiment: Experiment, name: str) -> int:
    """The number of container restarts, over all pods of the role, at which Volcano counts it as failed: one more than are allowed."""
    said = times(restart_words(experiment, name))
    role = experiment.roles[name]
    if role.max_retry is not None:
        return role.max_retry
    return defaults.MAX_RETRY if said is None else said + 1


def role_policies(experiment: Experiment) -> dict[str, tuple[Policy, ...]]:
    """Lifecycle policies per role, in the order in which Volcano looks for the first one that fits: the user's, then
    the defaults that stay beside them (`default_policies`).

    The defaults stand at the role and not at the job, so that a failed extra never ends the training. Volcano asks the
    role's list before the job's, so the job's policies for exit codes, which act upon the event PodFailed, are repeated
    before a default for it.
    """
    policies = {}
    exit_codes = {each.exit_code: each for each in _given(experiment.policies) if each.exit_code is not None}
    for name, stay in default_policies(experiment).items():
        own = _given(experiment.roles[name].policies)
        hidden = any(policy.event == POD_FAILED.event for policy in stay)
        codes = {each.exit_code for each in own}
        repeated = [policy for code, policy in exit_codes.items() if hidden and code not in codes]
        policies[name] = (*own, *repeated, *stay)
    return policies


def default_policies(experiment: Experiment) -> dict[str, tuple[Policy, ...]]:
    """The plan's own policies that each role has. A policy of the user's at the role or at the job takes the place of
    the default for the same event, `*` of all of them, and so does an empty list; the others stay."""
    ending = ending_role(experiment)
    of_job = {policy.event for policy in _given(experiment.policies)}
    return {
        name: tuple(
            policy
            for policy in _defaults(experiment, name, name == ending)
            if not _takes_all(experiment.policies, of_job) and policy.event not in of_job
            if not any(given.event in (policy.event, ANY_EVENT) for given in _given(role.policies))
            if role.policies is None or role.policies
        )
        for name, role in experiment.roles.items()
    }


def _takes_all(policies: list[Policy] | None, events: Set[str | None]) -> bool:
    """Whether nothing of the defaults stays beside these: they are for every event, or the list is empty on purpose."""
    return ANY_EVENT in events or (policies is not None and not policies)


def action_upon(policies: Iterable[Policy], event: str) -> str | None:
    """What Volcano does upon the event: the action of the first policy that is for it; None where there is none."""
    return next((policy.action for policy in policies if policy.event in (event, ANY_EVENT)), None)


def _given(policies: list[Policy] | None) -> list[Policy]:
    return [] if policies is None else policies


def _defaults(experiment: Experiment, name: str, ends: bool) -> list[Policy]:
    """The first failure in a static world ends the job (its peers would hang in a collective), and so does the success
    of the role that ends it. For the same reason an eviction restarts the job only from a ranked role of a static
    world: Volcano raises PodEvicted for the pods of a voluntary scale-down too, and those roles never scale in place."""
    if not experiment.roles[name].ranked and not ends:
        return []
    return [*_failure(experiment, name), *([COMPLETED] if ends else [])]


def _failure(experiment: Experiment, name: str) -> list[Policy]:
    """What the failure of a pod does to the whole job.

    The kubelet (1.27 and later) says first that an evicted pod has failed, its peers fail within a second, and only then it is gone: what
    spares a failure, spares an eviction. (Not `timeout` on a failure, to see what follows: Volcano 1.14 acts on it beside its own
    sync, which undoes the half of it.) Where containers are started again, a pod fails by an eviction alone. One that its kubelet evicts,
    since its node runs out of something, stays there as failed, and Volcano makes none of the same name beside it: RestartPod
    deletes it, makes it anew, and counts as one of the job's restarts. An elastic world goes on without it.
    """
    words = restart_words(experiment, name)
    if words == ALL_WHEN_EVICTED:
        return [*FAILED_OR_EVICTED]
    if experiment.elastic:
        return [] if times(words) is None else [TASK_FAILED]
    return [POD_FAILED] if words == NEVER else [POD_EVICTED, TASK_FAILED]
