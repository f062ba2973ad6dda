"""Steps of `prepare`: the pods that run them, and their init containers."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainform.plan.launch.checkout import CHECKOUT_SCRIPT, checkout_env
from trainform.plan.world import launching_role
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import FIRST_POD, Step
from trainform.spec.roles import InitContainer

FIRST_POD_SCRIPT = "first_pod.sh"


def step_roles(experiment: Experiment, step: Step) -> tuple[str, ...]:
    """The roles whose pods run the step. With `first-pod` it is the role of that pod, for which the others wait: the pod that launches, otherwise
    the first in order of rank."""
    named = [name for name, role in experiment.roles.items() if role.ranked] if step.roles is None else step.roles
    if step.on != FIRST_POD:
        return tuple(dict.fromkeys(named))
    launching = launching_role(experiment)
    if launching is not None and (step.roles is None or launching in named):
        return (launching,)
    return tuple(name for name, role in experiment.roles.items() if name in named and role.replicas > 0)[:1]


def in_first_pod(experiment: Experiment, name: str) -> tuple[str, ...]:
    """The steps that only the first of the role's pods runs, by their names. A script decides that in the pods, since they share a template; the
    template of a role that scales in place must not depend on the current number of its replicas."""
    role = experiment.roles[name]
    scales = name != launching_role(experiment) and (not role.ranked or experiment.elastic)
    if role.replicas <= 1 and not scales:
        return ()
    first = (step for step in experiment.prepare if step.on == FIRST_POD)
    return tuple(step.name for step in first if name in step_roles(experiment, step))


def containers(steps: Iterable[Step], first: Collection[str], mount: str) -> tuple[InitContainer, ...]:
    """The steps as init containers. first: those that only the first pod runs. mount: the folder of the launch files."""
    return tuple(
        InitContainer(
            name=step.name,
            image=step.image,
            command=[*(_script(mount, FIRST_POD_SCRIPT) if step.name in first else ()), *_command(step, mount)],
            # In a value Kubernetes expands only variables that are defined before it, such as a token in the address.
            env=step.env | checkout_env(step),
        )
        for step in steps
    )


def _command(step: Step, mount: str) -> list[str]:
    return _script(mount, CHECKOUT_SCRIPT) if step.command is None else step.command


def _script(mount: str, name: str) -> list[str]:
    return ["/bin/sh", f"{mount}/{name}"]
