"""The variables of a role's containers: those that the launcher needs, then the user's, which win. Each knows its
origin. `$(NAME)` in texts of containers refers to one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from trainform import defaults
from trainform.plan.layout import RENDEZVOUS, Layout, service_name
from trainform.plan.model import EnvVar
from trainform.plan.world import processes_per_node, task_type
from trainform.spec.quantities import seconds
from trainform.spec.roles import EnvSource

RESERVED_PREFIX = "TRAINFORM_"
RANK_OFFSET = "TRAINFORM_RANK_OFFSET"
REPLICA_INDEX = "TRAINFORM_REPLICA_INDEX"  # from the downward API; which label it is, the backend knows
MASKED = "TRAINFORM_MASKED"  # variables with values of Secrets, which run.sh masks
WAIT_SECONDS = "TRAINFORM_WAIT_SECONDS"
OWN_ADDRESS = "TRAINFORM_OWN_ADDR"
POD_ADDRESS = "TRAINFORM_POD_ADDR"
TASK_TYPE, SERVICE = "TRAINFORM_TASK_TYPE", "TRAINFORM_SERVICE"


class Variable(Struct, frozen=True):
    """One variable that the plan computes: its value for a role, None where the role has none, and a text for the
    launch contract."""

    name: str
    text: str
    value: Callable[[Layout, str], str | EnvSource | None]


def _static(value: Callable[[Layout, str], str]) -> Callable[[Layout, str], str | None]:
    """Return the value in a static job, None in an elastic one, whose pod template must not depend on the current
    number of replicas."""
    return lambda layout, role: value(layout, role) if layout.experiment.launcher.elastic is None else None


def _elastic(value: Callable[[Layout, str], str]) -> Callable[[Layout, str], str | None]:
    return lambda layout, role: None if layout.experiment.launcher.elastic is None else value(layout, role)


def _own_address(layout: Layout, role: str) -> str | None:
    opens = layout.listens_on(role, 0, RENDEZVOUS)
    return layout.pod_address(role, 0) if opens is not None and layout.behind_services else None


def _pod_address(layout: Layout, role: str) -> EnvSource | None:
    return EnvSource(field="status.podIP") if layout.elastic_on_host else None


def _nodes(layout: Layout, role: str) -> str:
    elastic = layout.experiment.launcher.elastic
    return str(layout.world.nodes) if elastic is None else f"{elastic.min_nodes}:{elastic.max_nodes}"


def _max_restarts(layout: Layout, role: str) -> str | None:
    torchrun = layout.experiment.launcher.torchrun
    return None if torchrun is None else str(torchrun.max_restarts)


def _rdzv_backend(layout: Layout, role: str) -> str | None:
    accelerate = layout.experiment.launcher.accelerate
    return None if accelerate is None else accelerate.rdzv_backend


def _master(value: Callable[[Layout], str]) -> Callable[[Layout, str], str | None]:
    """Return the value, but None if the operator draws the ports and sets this variable itself, or if pods have no
    names in DNS."""
    return lambda layout, role: None if layout.naming.draws_ports or layout.naming.agent is not None else value(layout)


_MASTER = (
    Variable(
        "MASTER_ADDR",
        "name of rank 0's pod, or of its Service",
        _master(lambda layout: layout.address(layout.first_ranked, 0)),
    ),
    Variable(
        "MASTER_PORT",
        "`network.port`, else 29500, or a planned port on the host network",
        _master(lambda layout: str(layout.rendezvous_port)),
    ),
)
_PROCESSES = (
    Variable("NUM_PROCESSES", "processes over all nodes", _static(lambda layout, role: str(layout.world.processes))),
    Variable(
        "NPROC_PER_NODE",
        "`processes_per_node`, else the pod's accelerators, else 1",
        lambda layout, role: str(processes_per_node(layout.experiment.launcher, layout.experiment.roles[role])),
    ),
)
_RANKED = (
    Variable(RANK_OFFSET, "rank of the role's first pod", _static(lambda layout, role: str(layout.rank_offsets[role]))),
    Variable(OWN_ADDRESS, "behind a Service: the name by which rank 0 knows itself", _own_address),
)
_SIZE = Variable("WORLD_SIZE", "nodes: pods of ranked roles", _static(_nodes))
_OF_EVERY_POD = (
    *_MASTER,
    _SIZE,
    *_PROCESSES,
    *_RANKED,
)
_WAIT = Variable(
    WAIT_SECONDS, "`network.wait` in seconds", lambda layout, role: str(seconds(layout.experiment.network.wait))
)


def _hostfile(layout: Layout) -> str:
    """Return the hostfile of the pod that launches: the operator's if it writes one, otherwise ours."""
    own = layout.naming.hostfile if layout.naming.agent is None else layout.naming.agent.hostfile
    return f"{defaults.LAUNCH_MOUNT}/{defaults.HOSTFILE}" if own is None else own


def _launching(value: Callable[[Layout], str | None]) -> Callable[[Layout, str], str | None]:
    """Return the value in the pod that launches, None in the others."""
    return lambda layout, role: value(layout) if role == layout.launching else None


def _agent_program(layout: Layout) -> str | None:
    return None if layout.naming.agent is None else layout.naming.agent.program


def _if_agent(layout: Layout) -> str | None:
    return None if layout.naming.agent is None else "1"


# Open MPI 4 reads OMPI_MCA_orte_*, Open MPI 5 (PRRTE) only PRTE_MCA_* and would run everything on one node without them
# (open-mpi/ompi; kubeflow/trainer#4028). Each version ignores what is the other's.
_MPI = (
    Variable(
        "OMPI_MCA_orte_default_hostfile",
        "hostfile, for Open MPI 4, unless the operator has an agent",
        _launching(lambda layout: _hostfile(layout) if layout.naming.agent is None else None),
    ),
    Variable("PRTE_MCA_prte_default_hostfile", "hostfile, for Open MPI 5", _launching(_hostfile)),
    Variable(
        "PRTE_MCA_plm_ssh_agent", "the operator's agent instead of SSH, for Open MPI 5", _launching(_agent_program)
    ),
    # With more nodes than a launcher's tree has branches (64) Open MPI lets nodes start nodes, and the agent works in
    # no other pod
    Variable(
        "OMPI_MCA_plm_rsh_no_tree_spawn",
        "1 with an operator's agent: the launching pod starts every node",
        _launching(_if_agent),
    ),
    Variable("PRTE_MCA_plm_ssh_no_tree_spawn", "the same, for Open MPI 5", _launching(_if_agent)),
    Variable(
        "PRTE_MCA_prte_keep_fqdn_hostnames",
        "false: Open MPI 5 would take its own host for another",
        _launching(lambda _: "false"),
    ),
    Variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true: full names, for Open MPI 4", _launching(lambda _: "true")),
    Variable("OMPI_ALLOW_RUN_AS_ROOT", "1: containers usually run as root", _launching(lambda _: "1")),
    Variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "the same", _launching(lambda _: "1")),
)
_TENSORFLOW = (
    Variable(TASK_TYPE, "TensorFlow's task type of the role", lambda layout, role: task_type(layout.experiment, role)),
    Variable(
        SERVICE,
        "behind Services: stem of their names",
        lambda layout, role: service_name(layout.experiment.name, role) if layout.behind_services else None,
    ),
)


VARIABLES: dict[str, tuple[Variable, ...]] = {
    "torchrun": (
        *_OF_EVERY_POD,
        Variable("NNODES", "elastic: `min_nodes:max_nodes`", _elastic(_nodes)),
        Variable(
            "RDZV_ID",
            "elastic: name of the first pod",
            _elastic(lambda layout, role: layout.pod(layout.first_ranked, 0)),
        ),
        Variable(POD_ADDRESS, "elastic on the host network: address of the pod", _pod_address),
        Variable("MAX_RESTARTS", "`max_restarts`", _max_restarts),
        _WAIT,
    ),
    "accelerate": (*_OF_EVERY_POD, Variable("RDZV_BACKEND", "`rdzv_backend`", _rdzv_backend), _WAIT),
    "deepspeed": (*_MASTER, *_PROCESSES, _WAIT),
    "mpi": (*_MASTER, *_PROCESSES, *_MPI, _WAIT),
    "tensorflow": (*_TENSORFLOW, _WAIT),
    "jax": (*_MASTER, Variable("JAX_NUM_PROCESSES", "nodes: one process on each", _nodes), *_RANKED, _WAIT),
    "command": (*_OF_EVERY_POD, _WAIT),
    "entrypoint": (*_MASTER, _SIZE, Variable("RANK", "index of the pod", lambda layout, role: f"$({REPLICA_INDEX})")),
}
"""Variables of the pods that a launcher starts, by the launcher's name."""


def launcher_values(layout: Layout, role_name: str) -> dict[str, str | EnvSource]:
    """Return the variables that the launcher needs in the role's pods, whatever the user sets."""
    if role_name not in layout.launched:
        return {}
    values = ((each.name, each.value(layout, role_name)) for each in VARIABLES[layout.experiment.launcher.kind])
    return {name: value for name, value in values if value is not None}


def role_env(layout: Layout, role_name: str) -> tuple[EnvVar, ...]:
    """Return every variable once, in the order launcher, experiment, role; a later value replaces an earlier one of the
    same name."""
    experiment = layout.experiment
    role = experiment.roles[role_name]
    origin = f"launcher.{experiment.launcher.kind}"
    planned = launcher_values(layout, role_name)
    merged = {name: EnvVar(name, value, origin) for name, value in planned.items()}
    user_set = experiment.env.keys() | role.env.keys()
    if {"MASTER_ADDR", "MASTER_PORT"} & user_set:
        merged.pop(OWN_ADDRESS, None)  # rank 0 meets its peers at the user's address too
    for path, variables in (("env", experiment.env), (f"roles.{role_name}.env", role.env)):
        for name, value in variables.items():
            other = planned.get(name)
            instead = other if isinstance(other, str) and other != value else ""
            merged[name] = EnvVar(name, value, f"{path}.{name}", instead)
    return tuple(merged.values())


_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^)]*)\)")  # as Kubernetes expands them; `$$(NAME)` stays `$(NAME)`


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with each `$(NAME)` of a known variable replaced by the value, and each `$$` by one `$`."""

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else variables.get(name, match[0])

    head, tail = replaced(text, value)
    return head + tail.replace("$$", "$")


def references(text: str) -> Iterator[str]:
    """Yield the name of each variable that Kubernetes puts into the text."""
    head, _ = _parted(text)
    return (match["name"] for match in _REFERENCE.finditer(head) if match["name"] is not None)


def replaced(text: str, value: Callable[[re.Match[str]], str]) -> tuple[str, str]:
    """Return the text up to its last reference with the values of all `$(NAME)` and `$$` in it, and the rest."""
    head, tail = _parted(text)
    return _REFERENCE.sub(value, head), tail


def _parted(text: str) -> tuple[str, str]:
    """Return the text up to the last `)`, and the rest, in which `_REFERENCE` would read to the end for each `$(`."""
    end = text.rfind(")") + 1
    return text[:end], text[end:]
