"""The training world: which roles are in it, and how each launcher uses a role."""

from __future__ import annotations

import itertools

from trainform.plan.model import World
from trainform.spec.experiment import Experiment
from trainform.spec.launchers import Launcher
from trainform.spec.roles import Role

EVALUATOR = "evaluator"
TASK_TYPES = ("chief", "worker", "ps", EVALUATOR)  # in the order in which one of them ends the job


def processes_per_node(launcher: Launcher, role: Role) -> int:
    """The number of training processes on each pod of the role: the launcher's own, otherwise one per accelerator, at
    least one.

    It is always one for TensorFlow, whose process drives all accelerators of its pod.
    """
    if launcher.tensorflow is not None:
        return 1
    if launcher.processes_per_node is not None:
        return launcher.processes_per_node
    return max(1, sum(role.accelerators.values()))


def plan_world(experiment: Experiment) -> World:
    """Nodes and processes of the world."""
    nodes = [role for name, role in experiment.roles.items() if in_world(experiment, name)]
    elastic = experiment.launcher.elastic
    return World(
        nodes=sum(role.replicas for role in nodes),
        processes=sum(role.replicas * processes_per_node(experiment.launcher, role) for role in nodes),
        bounds=None if elastic is None else (elastic.min_nodes, elastic.max_nodes),
    )


def in_world(experiment: Experiment, name: str) -> bool:
    """True if the role's pods are nodes of the world: the role is ranked, and it is not an evaluator, which TensorFlow
    keeps outside."""
    return experiment.roles[name].ranked and task_type(experiment, name) != EVALUATOR


def task_type(experiment: Experiment, name: str) -> str | None:
    """TensorFlow's task type of the role: the one in `task_types`, otherwise the role's name if it is a task type; None
    if there is none."""
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
    """The role whose pod starts all processes over SSH; None where every pod starts its own."""
    launcher = experiment.launcher.over_ssh
    if launcher is None:
        return None
    return first_ranked(experiment) if launcher.role is None else launcher.role


def launched_roles(experiment: Experiment) -> tuple[str, ...]:
    """The roles whose pods start with a launch script: the ranked ones, and the one whose pod launches.

    In an existing runtime the pods that serve SSH start as the runtime says, so only the launching role is left.
    """
    launching = launching_role(experiment)
    launching_alone = experiment.runtime is not None and launching is not None
    return tuple(
        name for name, role in experiment.roles.items() if name == launching or (role.ranked and not launching_alone)
    )


def first_ranked(experiment: Experiment) -> str:
    """The role of rank 0."""
    return next(name for name, role in experiment.roles.items() if role.ranked)


def ssh_roles(experiment: Experiment) -> tuple[str, ...]:
    """The roles whose pods get the SSH identity; none in an existing runtime, which brings its own."""
    launching = launching_role(experiment)
    if experiment.runtime is not None or (experiment.ssh is None and launching is None):
        return ()
    if experiment.ssh is not None and experiment.ssh.roles is not None:
        named = frozenset(experiment.ssh.roles)
        return tuple(name for name in experiment.roles if name in named)
    return launched_roles(experiment)


def ending_role(experiment: Experiment) -> str | None:
    """The role whose success ends the job although other pods would run on; None if every pod ends by itself.

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
    """Rank of each role's first pod: nodes are numbered in the order of roles."""
    nodes = [role.replicas if in_world(experiment, name) else 0 for name, role in experiment.roles.items()]
    return dict(zip(experiment.roles, itertools.accumulate(nodes, initial=0), strict=False))
