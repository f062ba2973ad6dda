"""Rules on ports, addresses, SSH, the containers' user and the steps of `prepare`."""

from __future__ import annotations

from collections.abc import Iterator

from trainform import defaults
from trainform.errors import Problem, list_names
from trainform.plan.model import Plan, Port
from trainform.plan.ports import SSH, main_port, user_port
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

FIELDS = {SSH: "ssh.port"}
PRIVILEGED_PORTS = 1024


def port_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Ports that collide or lie outside the environment's range."""
    used = [port for role in plan.roles for ports in role.ports for port in ports]
    if experiment.network.host and not plan.naming.draws_ports:
        yield from _outside(experiment, environment, used)
        first, last = environment.port_range
        from_range = [port for port in used if user_port(experiment, port.name) is None]
        if len(from_range) > last - first + 1:
            shared = experiment.network.ports == "shared"
            yield Problem(
                "network.ports",
                None,
                f"the pods need {len(from_range)} ports; the environment has {last - first + 1}",
                "have `ports` of the environment widened" if shared else "use `ports: shared`",
            )
            return
    yield from _taken_twice(experiment, plan, used)


def _outside(experiment: Experiment, environment: Environment, used: list[Port]) -> Iterator[Problem]:
    first, last = environment.port_range
    for purpose in (main_port(experiment), SSH):
        chosen = user_port(experiment, purpose)
        numbers = [port.number for port in used if port.name == purpose]
        if chosen is not None and any(not first <= number <= last for number in [chosen, *numbers]):
            yield Problem(
                FIELDS.get(purpose, "network.port"),
                chosen,
                f"the port is outside the host ports of the environment ({environment.ports})"
                if len(set(numbers)) < 2
                else f"the port begins {len(numbers)} ports that do not all fit into those of the environment "
                f"({environment.ports})",
                "choose one inside, or leave it out",
            )


def _taken_twice(experiment: Experiment, plan: Plan, used: list[Port]) -> Iterator[Problem]:
    """A number for two purposes: in one pod or in its Service, which fails, or in two replicas, which could then not
    share a node."""
    for role in plan.roles:
        for ports in role.ports:
            if len({port.number for port in ports}) < len(ports):
                yield Problem(
                    "ssh.port",
                    ports[0].number,
                    f"the port is that of the launcher too (role {role.name})",
                    "choose another one for one of the two",
                )
                return
    for service in plan.services:
        called = [number for _, number, _ in service.ports]
        if len(set(called)) < len(called):
            purpose = SSH if user_port(experiment, SSH) is not None else main_port(experiment)
            yield Problem(
                FIELDS.get(purpose, "network.port"),
                user_port(experiment, purpose),
                f"the port is the constant port of something else too in the replicas' Services ({service.name})",
                "choose another one, or leave it out",
            )
            return
    if any(role.per_replica for role in plan.roles) and len({port.number for port in used}) < len(used):
        purpose = SSH if user_port(experiment, SSH) is not None else main_port(experiment)
        number = len([port for port in used if port.name == purpose])
        yield Problem(
            FIELDS.get(purpose, "network.port"),
            user_port(experiment, purpose),
            f"the port begins {number} ports, and another replica has one of them for something else",
            "choose one further away, or leave it out",
        )


def address_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Addresses and ports that do not fit the network."""
    network = experiment.network
    per_replica, by_service = network.ports == "per-replica", network.addresses == "service"
    if per_replica and not network.host:
        yield Problem(
            "network.ports", network.ports,
            "the value is for the host network: pods on the pod network have all ports for themselves", "remove it"
        )  # fmt: skip
    for field, chosen in (("ports", per_replica), ("addresses", by_service)):
        if chosen and experiment.elastic:
            yield Problem(
                f"network.{field}", getattr(network, field),
                "the value needs a fixed number of replicas, and the job is elastic", "remove it"
            )  # fmt: skip
    if by_service and network.host and plan.launches is not None:
        yield Problem(
            "network.addresses",
            network.addresses,
            f"the value gives rank 0 another port than its peers call, and {plan.launcher} knows one for all",
            "remove it; `ports: per-replica` lets pods share nodes without Services",
        )


def ssh_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Roles of `ssh` that do not fit."""
    listed = () if experiment.ssh is None or experiment.ssh.roles is None else experiment.ssh.roles
    for index, name in enumerate(listed):
        if name not in experiment.roles:
            yield Problem(
                f"ssh.roles[{index}]",
                name,
                "the experiment has no role of this name",
                f"known: {list_names(experiment.roles)}",
            )
    named = frozenset(listed)
    missing = [role.name for role in plan.roles if role.launched and role.name not in named]
    if plan.launches is not None and experiment.ssh is not None and experiment.ssh.roles is not None and missing:
        yield Problem(
            "ssh.roles", None, f"the roles leave out {', '.join(missing)}, which {plan.launcher} needs",
            "add them, or leave `roles` out"
        )  # fmt: skip
    if plan.ssh is None or experiment.run_as is None or experiment.run_as.user == 0:
        return
    user = experiment.run_as.user
    if experiment.run_as.home.rstrip("/") == defaults.HOME:
        yield Problem(
            "run_as.home", experiment.run_as.home,
            f"the folder is not the home of user {user}, where SSH looks for its files",
            "write its home folder in the image: `home: /home/NAME`"
        )  # fmt: skip
    if experiment.ssh is not None and experiment.ssh.port is not None and experiment.ssh.port < PRIVILEGED_PORTS:
        yield Problem(
            "ssh.port", experiment.ssh.port,
            f"the port may be opened by root alone, and the containers run as user {user}", "choose one from 1024 on"
        )  # fmt: skip


def prepare_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Names and roles of `prepare` that do not fit."""
    seen = {defaults.MAIN_CONTAINER}
    for index, step in enumerate(experiment.prepare):
        if step.name in seen:
            yield Problem(
                f"prepare[{index}].name", step.name, "the name is that of another container of the pod", "rename it"
            )
        seen.add(step.name)
        for place, name in enumerate(step.roles if step.roles is not None else ()):
            if name not in experiment.roles:
                yield Problem(
                    f"prepare[{index}].roles[{place}]", name, "the experiment has no role of this name",
                    f"known: {list_names(experiment.roles)}"
                )  # fmt: skip
