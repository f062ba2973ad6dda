"""How many pods of each role must be placed together."""

from __future__ import annotations

from trainform.spec.experiment import Experiment


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
