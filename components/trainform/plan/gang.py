"""How many pods of each role must be placed together, and what happens when one fails."""

from __future__ import annotations

from trainform.spec.experiment import Experiment
from trainform.spec.roles import Policy

ON_FAILURE = Policy(event="PodFailed", action="TerminateJob")
ON_COMPLETION = Policy(event="TaskCompleted", action="CompleteJob")


def gang(experiment: Experiment) -> dict[str, int]:
    """Pods per role that must be placed together. In an elastic job the ranked roles share `min_nodes`, first role first."""
    elastic = experiment.launcher.elastic
    left = None if elastic is None else elastic.min_nodes
    needed = {}
    for name, role in experiment.roles.items():
        if role.min_available is not None:
            needed[name] = role.min_available
        elif role.ranked and left is not None:
            needed[name] = min(role.replicas, left)
            left -= needed[name]
        else:
            needed[name] = role.replicas
    return needed


def role_policies(experiment: Experiment) -> dict[str, tuple[Policy, ...]]:
    """Lifecycle policies per role: the user's, else the plan's own for ranked roles.

    The plan's own stand at the role and not at the job, so that a failed extra never ends the training: the first failure in
    a static world ends the job (its peers would hang in a collective), and where extras run on, the end of the role of rank 0
    ends the job.
    """
    extras = any(not role.ranked for role in experiment.roles.values())
    policies = {}
    first = True
    for name, role in experiment.roles.items():
        own: list[Policy] = []
        if role.ranked and experiment.policies is None:
            own = [] if experiment.elastic else [ON_FAILURE]
            own += [ON_COMPLETION] if extras and first else []
        first = first and not role.ranked
        policies[name] = tuple(own if role.policies is None else role.policies)
    return policies
