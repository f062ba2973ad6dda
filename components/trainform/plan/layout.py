"""Names, addresses and ports of every replica, which the plan of each role needs of the other roles."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping

from msgspec import Struct

from trainform import defaults
from trainform.plan.model import Host, Port, World, group_name, job_name
from trainform.plan.operator import Naming
from trainform.plan.world import (
    COMPLETED,
    ending_role,
    first_ranked,
    has_tf_config,
    in_world,
    launched_roles,
    launching_role,
    plan_world,
    processes_per_node,
    rank_offsets,
    role_policies,
    ssh_roles,
)
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Policy

RENDEZVOUS, TENSORFLOW, SSH = "rendezvous", "tensorflow", "ssh"


def plan_ports(
    experiment: Experiment, environment: Environment, naming: Naming
) -> dict[str, tuple[tuple[Port, ...], ...]]:
    """Return for each role one set of ports for all replicas, or one for each (`network.ports: per-replica`).

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
    """Return True if each ranked replica has its own set of ports in the plan."""
    network = experiment.network
    return network.host and network.ports == "per-replica" and not naming.draws_ports


def main_port(experiment: Experiment) -> str:
    """Return the purpose of the launcher's own port."""
    return RENDEZVOUS if experiment.launcher.tensorflow is None else TENSORFLOW


def usual_port(experiment: Experiment, purpose: str) -> int:
    """Return the number on the pod network, and the constant one of a replica's Service."""
    if purpose == SSH:
        root = experiment.run_as is None or experiment.run_as.user == 0
        chosen = user_port(experiment, purpose)
        return chosen if chosen is not None else defaults.SSH_PORT if root else defaults.SSH_PORT_OF_USERS
    if experiment.network.port is not None:
        return experiment.network.port
    return defaults.TENSORFLOW_PORT if purpose == TENSORFLOW else defaults.RENDEZVOUS_PORT


def user_port(experiment: Experiment, purpose: str) -> int | None:
    """Return the number that the user set for the purpose; None if the user set none."""
    if purpose == SSH:
        return None if experiment.ssh is None else experiment.ssh.port
    return experiment.network.port


def _numbers(experiment: Experiment, naming: Naming, purpose: str) -> Iterator[int] | None:
    """Return the numbers for a purpose, one per pod or replica; None if they are taken from the environment's range."""
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
    """Return the roles whose pods listen for the purpose, in order; only the first pod listens for the rendezvous."""
    if purpose == SSH:
        has_agent = naming.agent is not None and experiment.ssh is None
        return [] if has_agent else [name for name in ssh_roles(experiment) if experiment.roles[name].ranked]
    if purpose == RENDEZVOUS:
        return [first_ranked(experiment)]
    return [name for name in experiment.roles if in_world(experiment, name)]


class Layout(Struct, frozen=True, dict=True):
    """The replicas of an experiment in one revision.

    Values that depend on all roles are fields, so that code which reads them for each role or replica has linear cost.
    """

    experiment: Experiment
    environment: Environment
    revision: str
    naming: Naming  # the operator's names of pods
    groups: Mapping[str, str]  # the operator's name of each role
    ports: dict[str, tuple[tuple[Port, ...], ...]]  # for each role one set for all replicas, or one for each
    world: World
    rank_offsets: dict[str, int]  # rank of each role's first pod
    first_ranked: str  # role of rank 0
    launching: str | None  # role whose pod starts all processes over SSH; None if every pod starts its own
    launched: frozenset[str]  # roles whose pods the launcher starts
    ssh_roles: tuple[str, ...]  # roles that get the SSH identity
    tf_config: bool  # whether the plan computes TF_CONFIG
    ending: str | None  # role whose success should end the job; None if all pods end it together
    policies: dict[str, tuple[Policy, ...]]  # lifecycle policies of each role

    @property
    def scripted(self) -> frozenset[str]:
        """Return the roles whose pods a launch script starts: none where the image's own ENTRYPOINT runs."""
        return self.launched if self.experiment.launcher.entrypoint is None else frozenset()

    def per_replica(self, role: str) -> bool:
        """Return True if each replica of the role has its own ports, and so its own template."""
        return own_sets(self.experiment, self.naming) and self.experiment.roles[role].ranked

    @functools.cached_property
    def ends_by_number(self) -> bool:
        """Return True if the operator ends the job by the number of pods that have succeeded, since several groups of
        pods end it together."""
        role = self.ending
        if role is None or role not in self.experiment.roles or not self.naming.ends_by_number:
            return False
        several = self.per_replica(role) and self.experiment.roles[role].replicas > 1
        return several and COMPLETED in self.policies[role]

    @property
    def launches_by_index(self) -> bool:
        """Return True if the first pod of the launching role launches, and its others serve, by the same template."""
        role = self.experiment.roles.get(self.launching) if self.launching is not None else None
        return role is not None and role.replicas > 1

    def stays(self, role: str) -> bool:
        """Return True if the role's pods must not succeed before those that end the job, since the operator would count
        them."""
        return self.ends_by_number and role != self.ending

    @functools.cached_property
    def job(self) -> str:
        """Return the name of the job object."""
        return job_name(self.experiment.name, self.revision)

    def own_ports(self, role: str, index: int) -> tuple[Port, ...]:
        """Return the ports on which the replica listens."""
        sets = self.ports[role]
        return sets[index] if len(sets) > 1 else sets[0]

    def address(self, role: str, index: int) -> str:
        """Return the address by which peers reach the replica."""
        if self.experiment.network.addresses == "service" and self.experiment.roles[role].ranked:
            return f"{service_name(self.experiment.name, role)}-{index}"
        return self.pod_address(role, index)

    def pod_address(self, role: str, index: int) -> str:
        """Return the DNS name of the replica's pod, also if trainform makes a Service in front of it."""
        return self.naming.address_of(self.pod(role, index), self.experiment.name, self.job)

    def pod(self, role: str, index: int) -> str:
        """Return the name of the pod."""
        own, group = self.per_replica(role), self.groups[role]
        return self.naming.pod_name(self.job, group_name(group, index) if own else group, 0 if own else index)

    def listens_on(self, role: str, index: int, purpose: str) -> int | None:
        """Return the port that the replica itself opens for the purpose; None if it opens none."""
        return next((port.number for port in self.own_ports(role, index) if port.name == purpose), None)

    def peer_port(self, role: str, index: int, purpose: str) -> int:
        """Return the port to which peers connect: the replica's own, or the constant one of its Service."""
        own = None if self.experiment.network.addresses == "service" else self.listens_on(role, index, purpose)
        return usual_port(self.experiment, purpose) if own is None else own

    @property
    def behind_services(self) -> bool:
        """Return True if Services are in front of the replicas, with other ports than those that the replicas open."""
        return self.experiment.network.addresses == "service" and self.experiment.network.host

    @property
    def elastic_on_host(self) -> bool:
        """Return True if torchrun looks for the rendezvous by the name of its node, which other pods may not know."""
        return self.experiment.elastic and self.experiment.network.host

    @property
    def rendezvous_port(self) -> int:
        """Return the port at which peers reach rank 0."""
        return self.peer_port(self.first_ranked, 0, main_port(self.experiment))

    def hosts(self) -> Iterator[Host]:
        """Yield every node of the world in order of rank, with the number of its processes."""
        for name, role in self.experiment.roles.items():
            if in_world(self.experiment, name):
                slots = processes_per_node(self.experiment.launcher, role)
                yield from (Host(self.address(name, index), slots) for index in range(role.replicas))

    def ssh_ports(self) -> tuple[tuple[str, int], ...]:
        """Return patterns of host names with their ports of sshd, of which the first that matches counts; empty if all
        pods have the same port."""
        # `worker-x` comes before `worker`, whose pattern matches it too
        names = sorted(self.experiment.roles, key=len, reverse=True)
        if self.experiment.network.addresses == "service":
            return ()
        revision = "?" * defaults.REVISION_DIGITS
        patterns = [
            (f"{self.experiment.name}-{revision}-{self._pattern(name, index)}", port.number)
            for name in names
            for index, ports in enumerate(self.ports[name])
            for port in ports
            if port.name == SSH
        ]
        return tuple(patterns) if len({number for _, number in patterns}) > 1 else ()

    @property
    def ssh_port(self) -> int:
        """Return the port of sshd for every host that no pattern of `ssh_ports` matches."""
        serving = [name for name in self.experiment.roles if any(port.name == SSH for port in self.own_ports(name, 0))]
        return self.peer_port(serving[0], 0, SSH) if serving else usual_port(self.experiment, SSH)

    def _pattern(self, role: str, index: int) -> str:
        group = self.groups[role]
        return f"{group_name(group, index) if self.per_replica(role) else group}-*"


def lay_out(
    experiment: Experiment, environment: Environment, revision: str, naming: Naming, groups: Mapping[str, str]
) -> Layout:
    """Return the layout of an experiment with these names of pods and groups."""
    has_agent = naming.agent is not None and experiment.ssh is None  # an agent of the operator instead of SSH
    return Layout(
        experiment,
        environment,
        revision,
        naming,
        groups,
        ports=plan_ports(experiment, environment, naming),
        world=plan_world(experiment),
        rank_offsets=rank_offsets(experiment),
        first_ranked=first_ranked(experiment),
        launching=launching_role(experiment),
        launched=frozenset(launched_roles(experiment)),
        ssh_roles=() if has_agent else ssh_roles(experiment),
        tf_config=has_tf_config(experiment) and not naming.draws_ports,  # an operator that draws the ports sets it
        ending=ending_role(experiment),
        policies=role_policies(experiment),
    )


def service_name(experiment: str, role: str) -> str:
    """Return the first part of the names of the replicas' own Services; these names do not contain the revision."""
    return f"{experiment}-{role}"
