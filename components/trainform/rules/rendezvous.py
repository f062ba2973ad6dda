"""Rules for a rendezvous port that the user sets in a variable or by an option of the launcher.

On the pod network each pod has all ports for itself, so any port works that is the same for all pods. On the host
network the plan declares its port as a host port: no limit would see another port, and the scheduler could place two
pods with it on one node. If rank 0 has its own Service, its peers reach only the port of the Service.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import Problem
from trainform.plan.launch.options import Option, own_options
from trainform.plan.model import Plan, RolePlan
from trainform.plan.ports import RENDEZVOUS, TENSORFLOW, main_port
from trainform.plan.references import expanded
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.roles import EnvSource

PORT_VARIABLES = {RENDEZVOUS: "MASTER_PORT", TENSORFLOW: "TF_CONFIG"}
"""The variable with the launcher's own port. If the user sets it, it wins over the plan's."""
ADDRESS = "MASTER_ADDR"
_FIX = "remove it; choose the port by `network: {port: …}`"

_PortSetting = tuple[str, str | EnvSource]
"""A field, and the port that it sets."""


def rendezvous_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield each field that sets a port other than the plan's, if the pods cannot meet there or do not declare it."""
    name = PORT_VARIABLES[main_port(experiment)]
    meeting = [role for role in plan.roles if role.launched and plan.launches in (None, role.name)]
    settings = [*_variable_ports(experiment, plan, name), *_option_ports(experiment, plan, meeting)]
    reason = _fixed_port_reason(experiment, plan, name)
    if reason is None:
        yield from _different_ports(experiment, plan, meeting) if name == "MASTER_PORT" else ()
        return
    allowed = _allowed(plan)
    for path, value in dict(settings).items():
        if value not in allowed:
            yield Problem(path, value if isinstance(value, str) else None, reason, _FIX)


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
    if plan.services and name == "MASTER_PORT" and _meets_at_service(experiment, plan):
        return f"rank 0 has a Service of its own, in which its peers reach the port {met.port} alone"
    return None


def _meets_at_service(experiment: Experiment, plan: Plan) -> bool:
    """Return False if the user sets another address than the plan's."""
    addresses = {variable.value for role in plan.roles for variable in role.env if variable.name == ADDRESS}
    addresses |= {option.value for option in own_options(experiment.launcher) if option.planned == f"${ADDRESS}"}
    return addresses <= {plan.rendezvous.address, f"$({ADDRESS})"}


def _allowed(plan: Plan) -> set[str]:
    """Return the port numbers that are right for rank 0 and for its peers."""
    met = plan.rendezvous
    return {str(met.port)} if met.port == met.own_port and not plan.naming.draws_ports else set()


def _variable_ports(experiment: Experiment, plan: Plan, name: str) -> Iterator[_PortSetting]:
    """Yield path and value of each field that sets the variable in launched pods."""
    if name in experiment.env and any(
        role.launched and name not in experiment.roles[role.name].env for role in plan.roles
    ):
        yield f"env.{name}", experiment.env[name]
    for role in plan.roles:
        if role.launched and name in experiment.roles[role.name].env:
            yield f"roles.{role.name}.env.{name}", experiment.roles[role.name].env[name]


def _option_ports(experiment: Experiment, plan: Plan, meeting: list[RolePlan]) -> Iterator[_PortSetting]:
    """Yield path and port of each option of the launcher that sets one."""
    for option in own_options(experiment.launcher):
        for role in meeting if option.planned.endswith("$MASTER_PORT") else ():
            values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
            address, _, port = expanded(option.value, values).rpartition(":")
            if not _is_elsewhere(option, address, plan):
                yield option.path, port


def _is_elsewhere(option: Option, address: str, plan: Plan) -> bool:
    """Return True if the option names a rendezvous outside the job."""
    own = {plan.rendezvous.address, plan.rendezvous.own_address, "localhost", "127.0.0.1", ""}
    return ADDRESS in option.planned and address not in own


def _different_ports(experiment: Experiment, plan: Plan, meeting: list[RolePlan]) -> Iterator[Problem]:
    """Yield roles whose pods would meet at another port than those of the first role."""
    ports = {role.name: each for role in meeting for each in role.env if each.name == "MASTER_PORT"}
    first = next(iter(ports.values()), None)
    if plan.launcher == "command" or first is None or isinstance(first.value, EnvSource):
        return  # a command may not read the variable, and a source is not known here
    for name, variable in ports.items():
        if isinstance(variable.value, str) and variable.value != first.value:
            path = f"roles.{name}.env.MASTER_PORT"
            setting = variable if variable.origin == path else first
            reason = (
                f"the pods of {meeting[0].name} meet at the port {first.value}, and those of {name} at "
                f"{variable.value}: they never find each other"
            )
            yield Problem(setting.origin, setting.value if isinstance(setting.value, str) else None, reason, _FIX)
