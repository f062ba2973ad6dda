"""The split of a role whose first pod launches: that pod becomes a role in the plan, since it runs another program."""

from __future__ import annotations

import dataclasses

from msgspec import structs

from trainform.errors import Problem
from trainform.plan.model import Plan
from trainform.plan.world import launching_role
from trainform.spec.experiment import Experiment

LAUNCHER = "launcher"


def split_role(experiment: Experiment) -> str | None:
    """Return the role whose first pod launches while its others serve; None if there is none, or if the rules refuse
    the split: a role has the name already, or only a part of the pods may start."""
    name = launching_role(experiment)
    role = None if name is None else experiment.roles.get(name)
    if role is None or not role.ranked or role.replicas < 2 or LAUNCHER in experiment.roles:
        return None
    return name if role.min_available in (None, role.replicas) else None


def split_launcher(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment with the first pod of the role as a role before it, which all lists of roles name too."""

    def both(names: list[str] | None) -> dict[str, list[str] | None]:
        return {"roles": [LAUNCHER, *names] if names is not None and name in names else names}

    roles = {}
    for key, role in experiment.roles.items():
        if key == name:
            roles[LAUNCHER] = role.model_copy(update={"replicas": 1, "min_available": None})
            role = role.model_copy(update={"replicas": role.replicas - 1, "min_available": None})
        roles[key] = role
    launcher, ssh = experiment.launcher, experiment.ssh
    own = getattr(launcher, launcher.kind).model_copy(update={"role": LAUNCHER})
    return experiment.model_copy(
        update={
            "launcher": launcher.model_copy(update={launcher.kind: own}),
            "roles": roles,
            "storage": {key: each.model_copy(update=both(each.roles)) for key, each in experiment.storage.items()},
            "prepare": [step.model_copy(update=both(step.roles)) for step in experiment.prepare],
            "ssh": None if ssh is None else ssh.model_copy(update=both(ssh.roles)),
        }
    )


def split_parts(experiment: Experiment, plan: Plan) -> Experiment:
    """Return the experiment with the roles of its plan."""
    split = [role.written for role in plan.roles if role.written != role.name]
    return split_launcher(experiment, *split) if split else experiment


def in_file(problem: Problem, plan: Plan) -> Problem:
    """Return the problem at the role of the file."""
    field, _, rest = problem.path.partition(".")
    name, dot, below = rest.partition(".")
    role = plan.by_name.get(name) if field == "roles" else None
    written = name if role is None else role.written
    return problem if written == name else dataclasses.replace(problem, path=f"roles.{written}{dot}{below}")


def name_origin(plan: Plan, role: str) -> Plan:
    """Return the plan of a split experiment in which the launching role names the role of the file as its origin."""
    first, own = plan.by_name[LAUNCHER], f"roles.{role}."
    env = tuple(
        structs.replace(each, origin=each.origin.replace(f"roles.{LAUNCHER}.", own, 1))
        if each.origin.startswith(f"roles.{LAUNCHER}.")
        else each
        for each in first.env
    )
    image = f"{own}image" if first.image_origin != "image" else first.image_origin
    first = structs.replace(first, written=role, env=env, image_origin=image)
    return structs.replace(plan, roles=tuple(first if each.name == LAUNCHER else each for each in plan.roles))
