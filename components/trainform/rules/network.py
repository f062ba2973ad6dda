"""Rules for ports, addresses, SSH, the user of the containers, and the rendezvous."""

from __future__ import annotations

from collections.abc import Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.plan.layout import RENDEZVOUS, SSH, TENSORFLOW, main_port, user_port
from trainform.plan.model import Plan, Port
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

FIELDS = {SSH: "ssh.port"}
PRIVILEGED_PORTS = 1024


def port_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield ports that collide or are outside the environment's range."""
    used = [port for role in plan.roles for ports in role.ports for port in ports]
    if experiment.network.host and not plan.naming.draws_ports:
        yield from _outside(experiment, environment, used)
        first, last = environment.port_range
        from_range = [port for port in used if user_port(experiment, port.name) is None]
        if len(from_range) > last - first + 1:
            shared = experiment.network.ports == "shared"
            reason = f"the pods need {len(from_range)} ports; the environment has {last - first + 1}"
            fix = "have `ports` of the environment widened" if shared else "use `ports: shared`"
            yield Problem("network.ports", None, reason, fix)
            return
    yield from _duplicate_ports(experiment, plan, used)


def _outside(experiment: Experiment, environment: Environment, used: list[Port]) -> Iterator[Problem]:
    first, last = environment.port_range
    for purpose in (main_port(experiment), SSH):
        chosen = user_port(experiment, purpose)
        numbers = [port.number for port in used if port.name == purpose]
        if chosen is not None and any(not first <= number <= last for number in [chosen, *numbers]):
            reason = (
                f"the port is outside the host ports of the environment ({environment.ports})"
                if len(set(numbers)) < 2
                else f"the port begins {len(numbers)} ports that do not all fit into those of the environment "
                f"({environment.ports})"
            )
            yield Problem(FIELDS.get(purpose, "network.port"), chosen, reason, "choose one inside, or leave it out")


def _duplicate_ports(experiment: Experiment, plan: Plan, used: list[Port]) -> Iterator[Problem]:
    """Yield port numbers with two purposes in one pod, or in replicas that may share a node."""
    for role in plan.roles:
        for ports in role.ports:
            if len({port.number for port in ports}) < len(ports):
                reason = f"the port is that of the launcher too (role {role.name})"
                yield Problem("ssh.port", ports[0].number, reason, "choose another one for one of the two")
                return
    purpose = SSH if user_port(experiment, SSH) is not None else main_port(experiment)
    path, chosen = FIELDS.get(purpose, "network.port"), user_port(experiment, purpose)
    if any(role.per_replica for role in plan.roles) and len({port.number for port in used}) < len(used):
        number = len([port for port in used if port.name == purpose])
        reason = f"the port begins {number} ports, and another replica has one of them for something else"
        yield Problem(path, chosen, reason, "choose one further away, or leave it out")


def address_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield values of `addresses` and `ports` that do not fit the network."""
    network = experiment.network
    per_replica, by_service = network.ports == "per-replica", network.addresses == "service"
    if per_replica and not network.host:
        reason = "the value is for the host network: pods on the pod network have all ports for themselves"
        yield Problem("network.ports", network.ports, reason, "remove it")
    for field, chosen in (("ports", per_replica), ("addresses", by_service)):
        if chosen and experiment.elastic:
            reason = "the value needs a fixed number of replicas, and the job is elastic"
            yield Problem(f"network.{field}", getattr(network, field), reason, "remove it")
    if by_service and network.host and plan.launches is not None:
        reason = f"the value gives rank 0 another port than its peers call, and {plan.launcher} knows one for all"
        fix = "remove it; `ports: per-replica` lets pods share nodes without Services"
        yield Problem("network.addresses", network.addresses, reason, fix)


def ssh_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield problems of the roles, the port and the home folder of SSH."""
    named = None if experiment.ssh is None or experiment.ssh.roles is None else frozenset(experiment.ssh.roles)
    missing = [role.name for role in plan.roles if role.launched and named is not None and role.name not in named]
    if plan.launches is not None and missing:
        reason = f"the roles leave out {', '.join(missing)}, which {plan.launcher} needs"
        yield Problem("ssh.roles", None, reason, "add them, or leave `roles` out")
    if plan.ssh is None or experiment.run_as is None or experiment.run_as.user == 0:
        return
    user = experiment.run_as.user
    if experiment.run_as.home.rstrip("/") == defaults.HOME:
        reason = f"the folder is not the home of user {user}, where SSH looks for its files"
        fix = "write its home folder in the image: `home: /home/NAME`"
        yield Problem("run_as.home", experiment.run_as.home, reason, fix)
    if experiment.ssh is not None and experiment.ssh.port is not None and experiment.ssh.port < PRIVILEGED_PORTS:
        reason = f"the port may be opened by root alone, and the containers run as user {user}"
        yield Problem("ssh.port", experiment.ssh.port, reason, "choose one from 1024 on")


PORT_VARIABLES = {RENDEZVOUS: "MASTER_PORT", TENSORFLOW: "TF_CONFIG"}
"""The variable with the launcher's own port. If the user sets it, it wins over the plan's."""
ADDRESS = "MASTER_ADDR"
_FIX = "remove it; choose the port by `network: {port: …}`"


def rendezvous_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield variables that set a port other than the plan's, if the pods cannot meet there or do not declare it."""
    name = PORT_VARIABLES[main_port(experiment)]
    reason = _fixed_port_reason(experiment, plan, name)
    if reason is None:
        return
    met = plan.rendezvous
    allowed = {str(met.port)} if met.port == met.own_port and not plan.naming.draws_ports else set()
    of_name = (variable for role in plan.roles if role.launched for variable in role.env if variable.name == name)
    # that of the launcher is the plan's own
    for variable in {each.origin: each for each in of_name if not each.origin.startswith("launcher.")}.values():
        if variable.value not in allowed:
            yield Problem(variable.origin, variable.value if isinstance(variable.value, str) else None, reason, _FIX)


def _fixed_port_reason(experiment: Experiment, plan: Plan, name: str) -> str | None:
    """Return the reason why the pods must use the planned port; None if they may choose one."""
    met = plan.rendezvous
    if experiment.network.host:
        chosen = f"the plan's is {met.own_port}" if name == "MASTER_PORT" else "the plan chooses one for each replica"
        chosen = f"{plan.backend} draws one for each pod" if plan.naming.draws_ports else chosen
        return (
            f"on the host network the port is declared as a port of the node, and {chosen}: the processes would open "
            "another one"
        )
    if plan.services and name == "MASTER_PORT" and _meets_at_service(plan):
        return f"rank 0 has a Service of its own, in which its peers reach the port {met.port} alone"
    return None


def _meets_at_service(plan: Plan) -> bool:
    """Return False if the user sets another address than the plan's."""
    addresses = {variable.value for role in plan.roles for variable in role.env if variable.name == ADDRESS}
    return addresses <= {plan.rendezvous.address, f"$({ADDRESS})"}
