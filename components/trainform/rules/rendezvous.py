"""Rules on the port at which the processes meet, where the user says another one than the plan: in a variable, or by an
option of the launcher.

On the pod network each pod has all ports for itself, and any port will do if it is the same for all. On the host
network the plan's is declared as a port of the node: no limit would see another one, and the scheduler would put two
users of it on one node. Behind a Service of its own rank 0 is reached at the Service's port alone.
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
"""The variable in which the processes read the launcher's own port; it wins over the plan's where the user sets it."""
ADDRESS = "MASTER_ADDR"
_FIX = "remove it; choose the port by `network: {port: …}`"

_Said = tuple[str, str | EnvSource]
"""A field, and the port that it says."""


def rendezvous_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """A problem for each field that says a port at which nobody meets, or that nothing declares."""
    name = PORT_VARIABLES[main_port(experiment)]
    meeting = [role for role in plan.roles if role.launched and plan.launches in (None, role.name)]
    said = [*_by_variables(experiment, plan, name), *_by_options(experiment, plan, meeting)]
    why = _fixed(experiment, plan, name)
    if why is None:
        yield from _different(experiment, plan, meeting) if name == "MASTER_PORT" else ()
        return
    allowed = _allowed(plan)
    for path, value in dict(said).items():
        if value not in allowed:
            yield Problem(path, value if isinstance(value, str) else None, why, _FIX)


def _fixed(experiment: Experiment, plan: Plan, name: str) -> str | None:
    """Why the port is not the pods' own matter; None if it is."""
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
    """False if the user says another address than the plan's."""
    addresses = {variable.value for role in plan.roles for variable in role.env if variable.name == ADDRESS}
    addresses |= {option.value for option in own_options(experiment.launcher) if option.planned == f"${ADDRESS}"}
    return addresses <= {plan.rendezvous.address, f"$({ADDRESS})"}


def _allowed(plan: Plan) -> set[str]:
    """The numbers that are the planned port for rank 0 and for its peers."""
    met = plan.rendezvous
    return {str(met.port)} if met.port == met.own_port and not plan.naming.draws_ports else set()


def _by_variables(experiment: Experiment, plan: Plan, name: str) -> Iterator[_Said]:
    """Path and value of each field that sets the variable in pods that are launched."""
    if name in experiment.env and any(
        role.launched and name not in experiment.roles[role.name].env for role in plan.roles
    ):
        yield f"env.{name}", experiment.env[name]
    for role in plan.roles:
        if role.launched and name in experiment.roles[role.name].env:
            yield f"roles.{role.name}.env.{name}", experiment.roles[role.name].env[name]


def _by_options(experiment: Experiment, plan: Plan, meeting: list[RolePlan]) -> Iterator[_Said]:
    """Path and port of each option of the launcher that says one."""
    for option in own_options(experiment.launcher):
        for role in meeting if option.planned.endswith("$MASTER_PORT") else ():
            values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
            address, _, port = expanded(option.value, values).rpartition(":")
            if not _is_elsewhere(option, address, plan):
                yield option.path, port


def _is_elsewhere(option: Option, address: str, plan: Plan) -> bool:
    """Whether the option names a rendezvous that is not the job's own."""
    own = {plan.rendezvous.address, plan.rendezvous.own_address, "localhost", "127.0.0.1", ""}
    return ADDRESS in option.planned and address not in own


def _different(experiment: Experiment, plan: Plan, meeting: list[RolePlan]) -> Iterator[Problem]:
    """Roles whose pods would meet at another port than those of the first one."""
    ports = {role.name: each for role in meeting for each in role.env if each.name == "MASTER_PORT"}
    first = next(iter(ports.values()), None)
    if plan.launcher == "command" or first is None or isinstance(first.value, EnvSource):
        return  # what a command reads is its own matter
    for name, variable in ports.items():
        if isinstance(variable.value, str) and variable.value != first.value:
            path = f"roles.{name}.env.MASTER_PORT"
            said = variable if variable.origin == path else first
            reason = (
                f"the pods of {meeting[0].name} meet at the port {first.value}, and those of {name} at "
                f"{variable.value}: they never find each other"
            )
            yield Problem(said.origin, said.value if isinstance(said.value, str) else None, reason, _FIX)
