"""The training world: which roles are in it, who launches and ends the job, and what a failure does.

The values of `restart` become restart policies of pods, retries and lifecycle policies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from trainform import defaults
from trainform.plan.model import World
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Launcher
from trainform.spec.roles import Policy, Restart, RestartRule, Role

EVALUATOR = "evaluator"
TASK_TYPES = ("chief", "worker", "ps", EVALUATOR)  # in the order in which one of them ends the job


def processes_per_node(launcher: Launcher, role: Role) -> int:
    """Return the number of training processes on each pod of the role: the launcher's own, otherwise one per
    accelerator, at least one.

    It is always one for TensorFlow and JAX, whose process drives all accelerators of its pod.
    """
    if launcher.tensorflow is not None or launcher.jax is not None:
        return 1
    if launcher.processes_per_node is not None:
        return launcher.processes_per_node
    return max(1, sum(role.accelerators.values()))


def plan_world(experiment: Experiment) -> World:
    """Return the nodes and processes of the world."""
    nodes = [role for name, role in experiment.roles.items() if in_world(experiment, name)]
    elastic = experiment.launcher.elastic
    return World(
        nodes=sum(role.replicas for role in nodes),
        processes=sum(role.replicas * processes_per_node(experiment.launcher, role) for role in nodes),
        bounds=None if elastic is None else (elastic.min_nodes, elastic.max_nodes),
    )


def in_world(experiment: Experiment, name: str) -> bool:
    """Return True if the role's pods are nodes of the world: the role is ranked, and it is not an evaluator, which
    TensorFlow keeps outside."""
    return experiment.roles[name].ranked and task_type(experiment, name) != EVALUATOR


def task_type(experiment: Experiment, name: str) -> str | None:
    """Return TensorFlow's task type of the role: the one in `task_types`, otherwise the role's name if it is a task
    type; None if there is none."""
    tensorflow = experiment.launcher.tensorflow
    if tensorflow is None or not experiment.roles[name].ranked:
        return None
    return tensorflow.task_types.get(name, name if name in TASK_TYPES else None)


def has_tf_config(experiment: Experiment) -> bool:
    """Return whether TensorFlow's pods must know each other: a single replica trains alone, but with an evaluator, that
    one must not train too."""
    ranked = sum(role.replicas for role in experiment.roles.values() if role.ranked)
    return experiment.launcher.tensorflow is not None and ranked > 1


def launching_role(experiment: Experiment) -> str | None:
    """Return the role whose pod starts all processes over SSH; None where every pod starts its own."""
    launcher = experiment.launcher.over_ssh
    if launcher is None:
        return None
    return first_ranked(experiment) if launcher.role is None else launcher.role


def launched_roles(experiment: Experiment) -> tuple[str, ...]:
    """Return the roles whose pods start with a launch script: the ranked ones, and the one whose pod launches.

    In an existing runtime the pods that serve SSH start as the runtime says, so only the launching role is left.
    """
    launching = launching_role(experiment)
    launching_alone = experiment.runtime is not None and launching is not None
    return tuple(
        name for name, role in experiment.roles.items() if name == launching or (role.ranked and not launching_alone)
    )


def first_ranked(experiment: Experiment) -> str:
    """Return the role of rank 0."""
    return next(name for name, role in experiment.roles.items() if role.ranked)


def ssh_roles(experiment: Experiment) -> tuple[str, ...]:
    """Return the roles whose pods get the SSH identity; none in an existing runtime, which brings its own."""
    launching = launching_role(experiment)
    if experiment.runtime is not None or (experiment.ssh is None and launching is None):
        return ()
    if experiment.ssh is not None and experiment.ssh.roles is not None:
        named = frozenset(experiment.ssh.roles)
        return tuple(name for name in experiment.roles if name in named)
    return launched_roles(experiment)


def ending_role(experiment: Experiment) -> str | None:
    """Return the role whose success ends the job although other pods would run on; None if every pod ends by itself.

    It is the launching role, TensorFlow's chief or else its workers, or, in a job with unranked roles, the role of rank
    0.
    """
    if len(experiment.roles) == 1:
        return None
    launching = launching_role(experiment)
    if launching is not None:
        return launching
    if experiment.launcher.tensorflow is not None:
        types = {task_type(experiment, name): name for name in reversed(experiment.roles)}
        return next((types[kind] for kind in TASK_TYPES if kind in types), None)
    extras = any(not role.ranked for role in experiment.roles.values())
    return first_ranked(experiment) if extras else None


def rank_offsets(experiment: Experiment) -> dict[str, int]:
    """Return the rank of each role's first pod: nodes are numbered in the order of roles."""
    nodes = [role.replicas if in_world(experiment, name) else 0 for name, role in experiment.roles.items()]
    return dict(zip(experiment.roles, itertools.accumulate(nodes, initial=0), strict=False))


NEVER, ON_FAILURE, ALL_WHEN_EVICTED = "never", "on-failure", "all-when-evicted"

POD_FAILED = Policy(event="PodFailed", action="TerminateJob")
TASK_FAILED = Policy(event="TaskFailed", action="TerminateJob")
POD_EVICTED = Policy(event="PodFailed", action="RestartPod")
FAILED_OR_EVICTED = tuple(Policy(event=event, action="RestartJob") for event in ("PodFailed", "PodEvicted"))
COMPLETED = Policy(event="TaskCompleted", action="CompleteJob")
ANY_EVENT = "*"


def restart_words(restart: Restart | None) -> str | None:
    """Return the words of a value of `restart`; None if it is not set."""
    return restart.when if isinstance(restart, RestartRule) else restart


def role_restart(experiment: Experiment, name: str) -> Restart:
    """Return the role's `restart`, otherwise the experiment's, otherwise `never`; in an elastic job `on-failure`, as
    torchrun expects."""
    role = experiment.roles[name]
    for chosen in (role.restart, experiment.restart):
        if chosen is not None:
            return chosen
    return ON_FAILURE if experiment.elastic and role.ranked else NEVER


def restart_rule(experiment: Experiment, name: str) -> RestartRule | None:
    """Return the rules for exit codes and disruptions of the role; None if it has none."""
    restart = role_restart(experiment, name)
    return restart if isinstance(restart, RestartRule) else None


def _words(experiment: Experiment, name: str) -> str:
    return str(restart_words(role_restart(experiment, name)))


def pod_restart(experiment: Experiment, name: str) -> str:
    """Return the restart policy of the pod's containers: `never` or `on-failure`. With rules the pod is made anew."""
    never = restart_rule(experiment, name) is not None or _words(experiment, name) in (NEVER, ALL_WHEN_EVICTED)
    return NEVER if never else ON_FAILURE


def restarts_job(experiment: Experiment, name: str) -> bool:
    """Return True if a failure or an eviction of one of the role's launched pods restarts the whole job."""
    return _words(experiment, name) == ALL_WHEN_EVICTED


def is_limited(restart: Restart | None) -> bool:
    """Return True if a value of `restart` limits the restarts of containers: `never`, `3 times`."""
    words = restart_words(restart)
    return words is not None and (words == NEVER or times(words) is not None)


def times(words: str) -> int | None:
    """Return the number in `3 times`; None for the other values of `restart`."""
    number, _, unit = words.partition(" ")
    return int(number) if unit else None


def max_retry(experiment: Experiment, name: str) -> int:
    """Return the number of container restarts, over all pods of the role, at which Volcano counts it as failed: one
    more than are allowed."""
    allowed = times(_words(experiment, name))
    role = experiment.roles[name]
    if role.max_retry is not None:
        return role.max_retry
    return defaults.MAX_RETRY if allowed is None else allowed + 1


def role_policies(experiment: Experiment) -> dict[str, tuple[Policy, ...]]:
    """Return the lifecycle policies of each role, in the order in which Volcano looks for the first that matches: the
    user's, then the defaults that remain (`default_policies`).

    The defaults are set on roles and not on the job, so that a failed pod of an unranked role never ends the training.
    Volcano checks the role's list before the job's, so the job's policies for exit codes, which act upon the event
    PodFailed, are repeated before a default for it.
    """
    policies = {}
    exit_codes = {each.exit_code: each for each in experiment.policies or () if each.exit_code is not None}
    for name, remaining in default_policies(experiment).items():
        own = experiment.roles[name].policies or ()
        hidden = any(policy.event == POD_FAILED.event for policy in remaining)
        codes = {each.exit_code for each in own}
        repeated = [policy for code, policy in exit_codes.items() if hidden and code not in codes]
        policies[name] = (*own, *repeated, *remaining)
    return policies


def default_policies(experiment: Experiment) -> dict[str, tuple[Policy, ...]]:
    """Return the default policies of each role. A policy of the user, on the role or on the job, replaces the default
    for the same event; `*`, or an empty list, replaces all defaults; the others remain."""
    ending = ending_role(experiment)
    return {
        name: tuple(
            policy
            for policy in _defaults(experiment, name, name == ending)
            if not _replaces(experiment.policies, policy) and not _replaces(role.policies, policy)
        )
        for name, role in experiment.roles.items()
    }


def _replaces(policies: list[Policy] | None, default: Policy) -> bool:
    """Return True if these policies replace the default for its event or exit code, as an empty list replaces all."""
    same = (default.event, default.exit_code)
    return policies is not None and (
        not policies or any(each.event == ANY_EVENT or (each.event, each.exit_code) == same for each in policies)
    )


def action_upon(policies: Iterable[Policy], event: str) -> str | None:
    """Return the action of the first policy that matches the event, as Volcano chooses it; None if there is none."""
    return next((policy.action for policy in policies if policy.event in (event, ANY_EVENT)), None)


def _defaults(experiment: Experiment, name: str, ends: bool) -> list[Policy]:
    """Return the defaults of a role before the user's policies. In a static world the first failure ends the job, since
    its peers would hang in a collective; the success of the ending role ends it too. An eviction restarts the job only
    from a ranked role of a static world: Volcano raises PodEvicted for pods of a scale-down too, and such roles never
    scale in place."""
    rule = restart_rule(experiment, name)
    codes = [Policy(exit_code=code, action="RestartPod") for code in (() if rule is None else rule.codes)]
    if not experiment.roles[name].ranked and not ends:
        return codes
    if codes:
        return [*codes, *([] if experiment.elastic else [POD_FAILED]), *([COMPLETED] if ends else [])]
    return [*_failure(experiment, name), *([COMPLETED] if ends else [])]


def _failure(experiment: Experiment, name: str) -> list[Policy]:
    """Return the default policies for the failure of a pod of the role.

    The kubelet (1.27 and later) first reports an evicted pod as failed; its peers fail within a second, and only then
    the pod is deleted. So a policy for failures acts on evictions too. (A `timeout` on a failure does not help: Volcano
    1.14 acts on it during its own sync, which reverts half of the action.) If containers are restarted, only an
    eviction makes a pod fail. A pod that its kubelet evicts, since the node lacks a resource, stays as failed, and
    Volcano creates no other pod of its name: RestartPod deletes it, creates it again, and counts as one of the job's
    restarts. An elastic world continues without it.
    """
    words = _words(experiment, name)
    if words == ALL_WHEN_EVICTED:
        return [*FAILED_OR_EVICTED]
    if experiment.elastic:
        unlimited = times(words) is None and experiment.roles[name].max_retry is None
        return [] if unlimited or words == NEVER else [TASK_FAILED]
    return [POD_FAILED] if words == NEVER else [POD_EVICTED, TASK_FAILED]
