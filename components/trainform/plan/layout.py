"""Who stands where: names, addresses and ports of every replica, before anything is written for it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from trainform.catalog import defaults
from trainform.plan.model import Host, Naming, Port, World, group_name, job_name
from trainform.plan.naming import chosen_backend, groups_of, naming_of
from trainform.plan.ports import SSH, main_port, own_sets, plan_ports, usual_port
from trainform.plan.restart import COMPLETED, role_policies
from trainform.plan.world import (
    ending_role,
    first_ranked,
    has_tf_config,
    in_world,
    launched_roles,
    launching_role,
    plan_world,
    processes_per_node,
    rank_offsets,
    ssh_roles,
)
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Policy


@dataclasses.dataclass(frozen=True)
class Layout:
    """The replicas of an experiment under one revision. `ports`: per role, one set for all replicas or one for each.

    What follows from all roles together is worked out once, so that what asks for it once per role or replica stays linear.
    """

    experiment: Experiment
    environment: Environment
    revision: str
    ports: dict[str, tuple[tuple[Port, ...], ...]]

    @functools.cached_property
    def naming(self) -> Naming:
        """How the operator calls pods."""
        return naming_of(self.experiment, self.environment, self.job)

    @functools.cached_property
    def groups(self) -> dict[str, str]:
        """The operator's word for each role."""
        return groups_of(self.experiment, chosen_backend(self.experiment, self.environment))

    @functools.cached_property
    def world(self) -> World:
        """Nodes and processes of the world."""
        return plan_world(self.experiment)

    @functools.cached_property
    def rank_offsets(self) -> dict[str, int]:
        """Rank of each role's first pod."""
        return rank_offsets(self.experiment)

    @functools.cached_property
    def first_ranked(self) -> str:
        """The role of rank 0."""
        return first_ranked(self.experiment)

    @functools.cached_property
    def launching(self) -> str | None:
        """The role whose pod starts all processes over SSH; None where every pod starts its own."""
        return launching_role(self.experiment)

    @functools.cached_property
    def launched(self) -> frozenset[str]:
        """Roles whose pods a launch script starts."""
        return frozenset(launched_roles(self.experiment))

    @functools.cached_property
    def ssh_roles(self) -> tuple[str, ...]:
        """Roles that get the SSH identity: where the operator has a way of its own, only at the user's word."""
        return () if self.naming.agent is not None and self.experiment.ssh is None else ssh_roles(self.experiment)

    @functools.cached_property
    def tf_config(self) -> bool:
        """Whether the plan works TF_CONFIG out: an operator that draws the ports tells the pods itself."""
        return has_tf_config(self.experiment) and not self.naming.draws_ports

    def per_replica(self, role: str) -> bool:
        """Whether each replica of the role has ports, and so a template, of its own."""
        return own_sets(self.experiment, self.naming) and self.experiment.roles[role].ranked

    @functools.cached_property
    def ending(self) -> str | None:
        """The role whose success is to end the job; None where all pods end it together."""
        return ending_role(self.experiment)

    @functools.cached_property
    def policies(self) -> dict[str, tuple[Policy, ...]]:
        """Lifecycle policies of each role."""
        return role_policies(self.experiment)

    @functools.cached_property
    def ends_by_number(self) -> bool:
        """Whether the operator ends the job by the number of pods that have succeeded: several groups of pods end it
        together."""
        role = self.ending
        if role is None or role not in self.experiment.roles or not self.naming.ends_by_number:
            return False
        several = self.per_replica(role) and self.experiment.roles[role].replicas > 1
        return several and COMPLETED in self.policies[role]

    def stays(self, role: str) -> bool:
        """Whether the role's pods must not succeed before those that end the job, since they would be counted."""
        return self.ends_by_number and role != self.ending

    @functools.cached_property
    def job(self) -> str:
        """Name of the job object."""
        return job_name(self.experiment.name, self.revision)

    def own_ports(self, role: str, index: int) -> tuple[Port, ...]:
        """What the replica listens on."""
        sets = self.ports[role]
        return sets[index] if len(sets) > 1 else sets[0]

    def address(self, role: str, index: int) -> str:
        """The name by which peers call the replica."""
        if self.experiment.network.addresses == "service" and self.experiment.roles[role].ranked:
            return f"{service_name(self.experiment.name, role)}-{index}"
        return self.pod_address(role, index)

    def pod_address(self, role: str, index: int) -> str:
        """The replica itself, without a Service of ours between that has ports of its own."""
        return self.naming.address_of(self.pod(role, index), self.experiment.name)

    def pod(self, role: str, index: int) -> str:
        """Name of the pod."""
        own, group = self.per_replica(role), self.groups[role]
        return self.naming.pod_name(self.job, group_name(group, index) if own else group, 0 if own else index)

    def listens_on(self, role: str, index: int, purpose: str) -> int | None:
        """The number that the replica itself opens, None where it opens none."""
        return next((port.number for port in self.own_ports(role, index) if port.name == purpose), None)

    def called_at(self, role: str, index: int, purpose: str) -> int:
        """The number that peers call: that of the replica, or the constant one of its Service."""
        if self.experiment.network.addresses == "service":
            return usual_port(self.experiment, purpose)
        own = self.listens_on(role, index, purpose)
        return usual_port(self.experiment, purpose) if own is None else own

    @property
    def behind_services(self) -> bool:
        """Whether Services stand before the replicas, with other ports than those that these open."""
        return self.experiment.network.addresses == "service" and self.experiment.network.host

    @property
    def rendezvous_port(self) -> int:
        """The number that peers call rank 0 at."""
        return self.called_at(self.first_ranked, 0, main_port(self.experiment))

    def hosts(self) -> Iterator[Host]:
        """Every node of the world in order of rank, with the processes that it holds."""
        for name, role in self.experiment.roles.items():
            if in_world(self.experiment, name):
                slots = processes_per_node(self.experiment.launcher, role)
                yield from (Host(self.address(name, index), slots) for index in range(role.replicas))

    def ssh_ports(self) -> tuple[tuple[str, int], ...]:
        """sshd's ports where they are not the same for all: patterns of host names, the first that fits holds."""
        names = sorted(
            self.experiment.roles, key=len, reverse=True
        )  # `worker-x` before `worker`, whose pattern fits it too
        if self.experiment.network.addresses == "service":
            return ()
        revision = "?" * defaults.REVISION_DIGITS
        found = [
            (f"{self.experiment.name}-{revision}-{self._pattern(name, index)}", port.number)
            for name in names
            for index, ports in enumerate(self.ports[name])
            for port in ports
            if port.name == SSH
        ]
        return tuple(found) if len({number for _, number in found}) > 1 else ()

    @property
    def ssh_port(self) -> int:
        """The port of sshd that holds where `ssh_ports` says nothing."""
        serving = [name for name in self.experiment.roles if any(port.name == SSH for port in self.own_ports(name, 0))]
        return self.called_at(serving[0], 0, SSH) if serving else usual_port(self.experiment, SSH)

    def _pattern(self, role: str, index: int) -> str:
        group = self.groups[role]
        return f"{group_name(group, index) if self.per_replica(role) else group}-*"


def lay_out(experiment: Experiment, environment: Environment, revision: str) -> Layout:
    """The layout of an experiment."""
    return Layout(experiment, environment, revision, plan_ports(experiment, environment))


def service_name(experiment: str, role: str) -> str:
    """What the names of the replicas' own Services begin with; they do not follow the revision."""
    return f"{experiment}-{role}"
