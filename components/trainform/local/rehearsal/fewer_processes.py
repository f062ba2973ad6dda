"""CPU processes instead of accelerators: the same plan with fewer of them on each node."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from trainform.job.render import draft_plan
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

PROCESSES = 2
"""The default for each node: enough to see two processes on a node, and few enough for a laptop."""


def smaller_plan(plan: Plan, experiment: Experiment, environment: Environment, processes: int) -> Plan:
    """Return the plan with at most this many processes on each node. Names and the pods that end the job stay."""
    smaller = draft_plan(_reduced(experiment, processes), environment, plan.run, plan.revision)
    return structs.replace(smaller, ends_with=plan.ends_with)


def differences(plan: Plan, smaller: Plan) -> Iterator[str]:
    """Yield a line for the user for each role that runs with fewer processes."""
    for role, fewer in zip(plan.roles, smaller.roles, strict=True):
        if role.accelerators is not None and role.accelerators != fewer.accelerators:
            kind, count = role.accelerators
            now = fewer.accelerators[1] if fewer.accelerators is not None else 0
            yield f"{role.name}: {now} CPU processes instead of {count} {kind}"


def _reduced(experiment: Experiment, processes: int) -> Experiment:
    launcher = experiment.launcher
    chosen = getattr(launcher, launcher.kind)
    user_set = launcher.processes_per_node
    if user_set is not None:
        chosen = chosen.model_copy(update={"processes_per_node": min(user_set, processes)})
    roles = {
        name: role.model_copy(
            update={"accelerators": {kind: min(count, processes) for kind, count in role.accelerators.items()}}
        )
        for name, role in experiment.roles.items()
    }
    return experiment.model_copy(
        update={"roles": roles, "launcher": launcher.model_copy(update={launcher.kind: chosen})}
    )
