"""Requirements of launchers on roles: the launching role, commands of roles, TensorFlow's task types."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import Problem, list_names
from trainform.plan.launch.launch import chooses_mode
from trainform.plan.model import Plan
from trainform.plan.restart import ALL_WHEN_EVICTED, FAILED_OR_EVICTED, action_upon, restart_words, times
from trainform.plan.world import EVALUATOR, TASK_TYPES, first_ranked, task_type
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def accelerate_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of accelerate."""
    launcher = experiment.launcher.accelerate
    if launcher is None:
        return
    counts = {role.accelerators[1] if role.accelerators is not None else 1 for role in plan.ranked}
    if len(counts) > 1 and launcher.processes_per_node is None:
        reason = (
            "the roles have different numbers of accelerators, and accelerate gives every machine the same number of "
            "processes"
        )
        yield Problem("roles", None, reason, "make them equal, or use torchrun")
    started = [role for role in plan.ranked if experiment.roles[role.name].command is None]
    without = [role.name for role in started if role.accelerators is None]
    if without and plan.world.processes > 1 and not chooses_mode(launcher):
        reason = (
            f"the launcher starts {plan.world.processes} processes, and without accelerators (role "
            f"{', '.join(without)}) accelerate joins them by MPI only"
        )
        yield Problem("launcher.accelerate", None, reason, "use torchrun: write `launcher: {torchrun: {script: …}}`")


def ssh_launcher_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield problems of launchers over SSH: one pod launches, and the other ranked pods only run an sshd."""
    launching = plan.launches
    role = None if launching is None else experiment.roles.get(launching)
    if launching is None or role is None:
        return
    if role.replicas != 1:
        reason = f"the role launches ({plan.launcher} starts all processes from one pod), so it must have 1 replica"
        fix = _suggest_launching_role(experiment, plan, launching)
        yield Problem(f"roles.{launching}.replicas", role.replicas, reason, fix)
    if role.ranked and launching != first_ranked(experiment):
        reason = f"the launching role is ranked, but rank 0 is in {first_ranked(experiment)}"
        path = f"launcher.{plan.launcher}.role"
        yield Problem(path, launching, reason, "put it first in `roles`, or make it `ranked: false`")
    for name, other in experiment.roles.items():
        if other.command is not None and (other.ranked or name == launching):
            reason = (
                f"the command has no place: {plan.launcher} starts the processes of ranked roles over SSH, from the "
                f"role {launching}"
            )
            fix = "remove it" if name == launching else "remove it, or make the role `ranked: false`"
            yield Problem(f"roles.{name}.command", None, reason, fix)


def _suggest_launching_role(experiment: Experiment, plan: Plan, name: str) -> str:
    """Return the fix for a launching role of several pods: another role of one pod launches, or the role is split. The
    number of ranked pods and their resources stay the same."""
    role = experiment.roles[name]
    if not role.ranked or role.replicas == 0:
        return "write 1"
    able = [other for other, each in experiment.roles.items() if not each.ranked and each.replicas == 1]
    one = next(free for free in ("master", "first") if free not in experiment.roles)
    split = (
        f"split it: `{one}: {{replicas: 1}}` with all else that {name} has, before `{name}: {{replicas: "
        f"{role.replicas - 1}}}`"
    )
    return f"write `role: {able[0]}` in `launcher.{plan.launcher}`, or {split}" if able else split


def tensorflow_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of TensorFlow's task types."""
    tensorflow = experiment.launcher.tensorflow
    if tensorflow is None:
        return
    path = "launcher.tensorflow.task_types"
    ranked = [role.name for role in plan.ranked]
    for name in tensorflow.task_types:
        if name not in experiment.roles or not experiment.roles[name].ranked:
            yield Problem(
                f"{path}.{name}", None, "the experiment has no ranked role of this name", f"known: {list_names(ranked)}"
            )
    owners: dict[str, str] = {}
    for role in plan.ranked:
        kind = task_type(experiment, role.name)
        if kind is None:
            reason = "the name is not one of TensorFlow's task types"
            fix = f"call it {', '.join(TASK_TYPES)}, or write `task_types: {{{role.name}: worker}}`"
            yield Problem(f"roles.{role.name}", None, reason, fix)
        elif kind in owners:
            reason = f"the role has the task type {kind}, as {owners[kind]} has"
            yield Problem(f"roles.{role.name}", None, reason, "make the two one role")
        elif kind in ("chief", EVALUATOR) and role.replicas > 1:
            reason = f"the number must be 1: TensorFlow has one {kind}"
            yield Problem(f"roles.{role.name}.replicas", role.replicas, reason, "write 1")
        if kind is not None:
            owners.setdefault(kind, role.name)
    if owners.keys() & TASK_TYPES and not owners.keys() & {"chief", "worker"}:
        yield Problem(
            "roles", None, "the roles have neither a chief nor a worker, so nothing trains", "add a role `worker`"
        )
    if task_type(experiment, first_ranked(experiment)) == EVALUATOR and len(plan.ranked) > 1:
        reason = "the role is the evaluator, which is outside of the cluster"
        yield Problem(f"roles.{first_ranked(experiment)}", None, reason, "put it last")


def restart_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield values of `restart` that the launcher cannot follow."""
    if experiment.restart == ALL_WHEN_EVICTED and experiment.elastic:
        yield Problem(
            "restart", experiment.restart, "the job is elastic and goes on without the evicted pod", "remove it"
        )
    elif experiment.restart == ALL_WHEN_EVICTED and not any(role.restarts_job for role in plan.roles):
        reason = "the value has no effect, since every role that trains has its own `restart`"
        yield Problem("restart", experiment.restart, reason, "remove it, or the `restart` of a role that trains")
    for planned in plan.roles:
        name, role = planned.name, experiment.roles[planned.name]
        words = restart_words(experiment, name)
        if role.restart == ALL_WHEN_EVICTED and (not planned.launched or experiment.elastic):
            whole = (
                "an elastic job goes on without the evicted pod"
                if role.ranked
                else "the end of an extra never ends the training"
            )
            reason = f"the value has no meaning here: {whole}"
            yield Problem(f"roles.{name}.restart", role.restart, reason, "write on-failure, or remove it")
        if times(words) is not None and role.max_retry is not None:
            reason = f"the role has `restart: {words}` too, which sets the same number"
            yield Problem(f"roles.{name}.max_retry", role.max_retry, reason, "keep one of the two")
    yield from _overridden_restarts(experiment, plan)


def _overridden_restarts(experiment: Experiment, plan: Plan) -> Iterator[Problem]:
    """Yield values of `restart` that the `policies` of the user override."""
    events = [(policy.action, str(policy.event)) for policy in reversed(FAILED_OR_EVICTED)]
    job = {event: action_upon(plan.policies, event) for _, event in events}
    reasons: dict[str, str] = {}
    for role in plan.roles:
        path = "restart" if experiment.roles[role.name].restart is None else f"roles.{role.name}.restart"
        for default, event in events if role.restarts_job else ():
            own = action_upon(role.policies, event)
            action = job[event] if own is None else own
            if action != default:
                reasons[path] = (
                    f"the value has no effect: `policies` replace {default} upon {event} by "
                    f"{'nothing' if action is None else action}"
                )
    for path, reason in reasons.items():
        fix = "change `policies`, or write never or on-failure here"
        yield Problem(path, ALL_WHEN_EVICTED, reason, fix)
