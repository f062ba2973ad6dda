"""The ports that pods listen on."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

from trainform import defaults
from trainform.plan.model import Naming, Port
from trainform.plan.world import first_ranked, in_world, ssh_roles
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

RENDEZVOUS, TENSORFLOW, SSH = "rendezvous", "tensorflow", "ssh"


def plan_ports(
    experiment: Experiment, environment: Environment, naming: Naming
) -> dict[str, tuple[tuple[Port, ...], ...]]:
    """Per role one set of ports for all replicas, or one for each (`network.ports: per-replica`).

    On the pod network the usual numbers. On the host network numbers of the environment's range, one after the other
    from a start that follows from the experiment's identity alone, so that every preview finds the same ones. Two
    experiments may meet in a number: it is declared as a host port, and the scheduler keeps its users on different
    nodes. If the operator draws the numbers, the plan has those of its Services, to which peers connect.
    """
    numbers = {purpose: _numbers(experiment, naming, purpose) for purpose in (main_port(experiment), SSH)}
    host = experiment.network.host and not naming.draws_ports
    ports: dict[str, tuple[tuple[Port, ...], ...]] = {}
    free = _range(experiment, environment)
    for name, role in experiment.roles.items():
        ports[name] = ((),) * (max(1, role.replicas) if own_sets(experiment, naming) and role.ranked else 1)
    for purpose, fixed in numbers.items():
        for name in _listening_roles(experiment, naming, purpose):
            ports[name] = tuple(
                (*planned, Port(purpose, next(fixed if fixed is not None else free), host))
                if index == 0 or purpose != RENDEZVOUS
                else planned
                for index, planned in enumerate(ports[name])
            )
    return ports


def own_sets(experiment: Experiment, naming: Naming) -> bool:
    """True if each ranked replica has its own set of ports in the plan."""
    network = experiment.network
    return network.host and network.ports == "per-replica" and not naming.draws_ports


def main_port(experiment: Experiment) -> str:
    """The purpose of the launcher's own port."""
    return RENDEZVOUS if experiment.launcher.tensorflow is None else TENSORFLOW


def usual_port(experiment: Experiment, purpose: str) -> int:
    """The number on the pod network, and the constant one of a replica's Service."""
    if purpose == SSH:
        root = experiment.run_as is None or experiment.run_as.user == 0
        chosen = user_port(experiment, purpose)
        return chosen if chosen is not None else defaults.SSH_PORT if root else defaults.SSH_PORT_OF_USERS
    if experiment.network.port is not None:
        return experiment.network.port
    return defaults.TENSORFLOW_PORT if purpose == TENSORFLOW else defaults.RENDEZVOUS_PORT


def user_port(experiment: Experiment, purpose: str) -> int | None:
    """The number that the user set for the purpose; None if the user set none."""
    if purpose == SSH:
        return None if experiment.ssh is None else experiment.ssh.port
    return experiment.network.port


def _numbers(experiment: Experiment, naming: Naming, purpose: str) -> Iterator[int] | None:
    """The numbers for a purpose, one per pod or replica; None if they are taken from the environment's range."""
    chosen = user_port(experiment, purpose)
    if not experiment.network.host or naming.draws_ports:
        return itertools.repeat(usual_port(experiment, purpose))
    if chosen is None:
        return None
    return itertools.count(chosen) if experiment.network.ports == "per-replica" else itertools.repeat(chosen)


def _range(experiment: Experiment, environment: Environment) -> Iterator[int]:
    first, last = environment.port_range
    size = last - first + 1
    identity = f"{environment.namespace.name}/{experiment.name}".encode()
    start = int.from_bytes(hashlib.sha256(identity).digest()[:8], "big")
    return (first + (start + step) % size for step in itertools.count())


def _listening_roles(experiment: Experiment, naming: Naming, purpose: str) -> list[str]:
    """The roles whose pods listen for the purpose, in order; only the first pod listens for the rendezvous."""
    if purpose == SSH:
        has_agent = naming.agent is not None and experiment.ssh is None
        return [] if has_agent else [name for name in ssh_roles(experiment) if experiment.roles[name].ranked]
    if purpose == RENDEZVOUS:
        return [first_ranked(experiment)]
    return [name for name in experiment.roles if in_world(experiment, name)]
