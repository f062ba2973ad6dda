"""The rendezvous port."""

from __future__ import annotations

import hashlib

from trainform.catalog import defaults
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def rendezvous_port(experiment: Experiment, environment: Environment) -> int:
    """As said; else the launcher's usual port on the pod network; else one of the environment's range.

    On the host network the choice follows from the experiment's identity alone, so that every preview finds the same port. Two
    experiments may get the same one: it is declared as a host port, and the scheduler keeps them on different nodes.
    """
    if experiment.network.port is not None:
        return experiment.network.port
    if not experiment.network.host:
        return defaults.RENDEZVOUS_PORT
    first, last = environment.port_range
    identity = f"{environment.namespace.name}/{experiment.name}".encode()
    return first + int.from_bytes(hashlib.sha256(identity).digest()[:8], "big") % (last - first + 1)
