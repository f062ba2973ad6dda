"""The user's value wins: on every variable that the plan computes, in every role, also against the launch script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import install, start
from tests.support.samples import env, environment, experiment
from trainform.job.render import render_job
from trainform.plan.model import Plan
from trainform.plan.variables import VARIABLES


def plan(**parts: Any) -> Plan:
    """Also where `check` refuses the value, such as a port at which only one role would meet."""
    return render_job(experiment(**parts), environment()).plan


SCRIPT = {"script": "/app/train.py"}
BOUNDS = {"elastic": {"min_nodes": 1, "max_nodes": 4}}
EIGHT = {"accelerators": {"a800": 8}}
WATCHER = {"replicas": 2, "ranked": False, "command": ["python", "watch.py"]}
ROLES: dict[str, Any] = {"master": EIGHT, "worker": {"replicas": 3, **EIGHT}, "watcher": WATCHER}
APART: dict[str, Any] = {"launcher": {"ranked": False}, "worker": {"replicas": 3, **EIGHT}, "watcher": WATCHER}
PARTS: dict[str, Any] = {
    "torchrun": {"launcher": {"torchrun": SCRIPT}, "roles": ROLES},
    "torchrun, elastic": {"launcher": {"torchrun": {**SCRIPT, **BOUNDS}}, "roles": ROLES},
    "torchrun, services": {
        "launcher": {"torchrun": SCRIPT}, "roles": ROLES, "network": {"host": True, "addresses": "service"},
    },
    "accelerate": {"launcher": {"accelerate": SCRIPT}, "roles": ROLES},
    "deepspeed": {"launcher": {"deepspeed": SCRIPT}, "roles": ROLES},
    "deepspeed, apart": {"launcher": {"deepspeed": {**SCRIPT, "role": "launcher"}}, "roles": APART},
    "mpi": {"launcher": {"mpi": {"command": ["python", "/app/train.py"]}}, "roles": ROLES},
    "mpi, apart": {"launcher": {"mpi": {"command": ["python", "/app/train.py"], "role": "launcher"}}, "roles": APART},
    "tensorflow": {
        "launcher": {"tensorflow": {"command": ["python", "/app/train.py"], "task_types": {"master": "chief"}}},
        "roles": ROLES,
    },
    "jax": {"launcher": {"jax": {"command": ["python", "/app/train.py"]}}, "roles": ROLES},
    "command": {"launcher": {"command": ["python", "/app/train.py"]}, "roles": ROLES},
}  # fmt: skip
# On the host network the port is declared as one of the node, so nobody may open another.
REFUSED = {("torchrun, services", "MASTER_PORT")}
CASES = [
    (case, variable.name, role)
    for case, parts in PARTS.items()
    for variable in VARIABLES[case.partition(",")[0]]
    if not variable.name.startswith("TRAINFORM_") and (case, variable.name) not in REFUSED
    for role in parts["roles"]
]
SCRIPTED = ("RANK", "TF_CONFIG", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")
IN_SCRIPTS = [(case, name, role) for case in PARTS for name in SCRIPTED for role in PARTS[case]["roles"]]
OVER_SSH = ("deepspeed", "mpi")


def launching(case: str) -> str:
    return "launcher" if "apart" in case else "master"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return install(tmp_path, Path("/bin/sh"))


def said(case: str, role: str, variables: dict[str, Any]) -> dict[str, Any]:
    """The case with the role's own variables."""
    roles = PARTS[case]["roles"]
    return {**PARTS[case], "roles": {**roles, role: {**roles[role], "env": variables}}}


def test_every_variable_is_there_for_some_role() -> None:
    """The cases below prove nothing of a variable that no case has."""
    found: dict[str, set[str]] = {}
    for case, parts in PARTS.items():
        made = plan(**parts)
        found.setdefault(case.partition(",")[0], set()).update(
            name for role in made.roles for name in env(made, role.name)
        )
    scripted = {name: variables for name, variables in VARIABLES.items() if name != "entrypoint"}
    expected = {name: {variable.name for variable in variables} for name, variables in scripted.items()}
    elsewhere = {
        "torchrun": {"TRAINFORM_POD_ADDR"},  # of an elastic job on the host network
        "accelerate": {"TRAINFORM_OWN_ADDR"},  # the variable for rank 0 behind a Service is torchrun's case
        "command": {"TRAINFORM_OWN_ADDR"},
        "jax": {"TRAINFORM_OWN_ADDR"},
        "tensorflow": {"TRAINFORM_SERVICE"},
        "mpi": {  # of operators with an agent of their own
            "PRTE_MCA_plm_ssh_agent",
            "OMPI_MCA_plm_rsh_no_tree_spawn",
            "PRTE_MCA_plm_ssh_no_tree_spawn",
        },
    }
    assert {name: expected[name] - found[name] for name in expected} == {
        name: elsewhere.get(name, set()) for name in expected
    }


@pytest.mark.parametrize(("case", "role"), [(case, role) for case in PARTS for role in PARTS[case]["roles"]])
def test_in_the_template(case: str, role: str) -> None:
    """All at once; each alone is seen in the process."""
    names = [name for found, name, said_for in CASES if (found, said_for) == (case, role)]
    made = plan(**said(case, role, dict.fromkeys(names, "of the role")), env=dict.fromkeys(names, "of the experiment"))
    for other in made.roles:
        value, path = ("of the role", f"roles.{role}.env") if other.name == role else ("of the experiment", "env")
        for name in names:
            assert env(made, other.name)[name] == value
            (found,) = [entry for entry in other.env if entry.name == name]
            assert found.origin == f"{path}.{name}"


@pytest.mark.parametrize(("case", "variable"), dict.fromkeys(found[:2] for found in [*IN_SCRIPTS, *CASES]))
def test_in_the_process(case: str, variable: str, tools: Path) -> None:
    """What the container's process sees in the end, after the script."""
    role = launching(case) if case.partition(",")[0] in OVER_SSH else "worker"
    made = plan(**said(case, role, {variable: "77"}))
    assert start(made, role, 0, tools).env[variable] == "77"


def test_a_value_from_a_secret(tools: Path) -> None:
    source = {"secret": {"name": "cluster", "key": "address"}}
    made = plan(**said("torchrun", "worker", {"MASTER_ADDR": source}))
    assert start(made, "worker", 1, tools).options()["--master-addr"] == "<cluster/address>"


FLAGS = {
    "torchrun": {
        "RANK": "--node-rank", "WORLD_SIZE": "--nnodes", "MASTER_ADDR": "--master-addr", "MASTER_PORT": "--master-port",
        "NPROC_PER_NODE": "--nproc-per-node", "MAX_RESTARTS": "--max-restarts",
    },
    "torchrun, elastic": {"NNODES": "--nnodes", "RDZV_ID": "--rdzv-id", "NPROC_PER_NODE": "--nproc-per-node"},
    "accelerate": {
        "RANK": "--machine_rank", "NUM_PROCESSES": "--num_processes", "WORLD_SIZE": "--num_machines",
        "RDZV_BACKEND": "--rdzv_backend",
        "MASTER_ADDR": "--main_process_ip", "MASTER_PORT": "--main_process_port",
    },
    "deepspeed": {"MASTER_ADDR": "--master_addr", "MASTER_PORT": "--master_port"},
    "mpi": {"NUM_PROCESSES": "-np"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("case", "variable", "flag"), [(case, *pair) for case in FLAGS for pair in FLAGS[case].items()]
)
def test_on_the_line_that_starts(case: str, variable: str, flag: str, tools: Path) -> None:
    made = plan(**said(case, "master", {variable: "77"}))
    assert start(made, "master", 0, tools).options()[flag] == "77"
    if case in ("torchrun", "accelerate"):
        assert start(made, "worker", 0, tools).options()[flag] != "77"


# Volcano's svc plugin appends these to every container, and of a variable that stands twice the last value counts.
OVERWRITTEN = [
    ("VC_WORKER_HOSTS", "a,b", "a,b"),
    ("VC_WORKER_HOSTS", "", ""),
    ("VC_WORKER_NUM", {"secret": {"name": "cluster", "key": "size"}}, "<cluster/size>"),
    ("VC_WATCHER_HOSTS", {"field": "status.podIP"}, "<status.podIP>"),
    ("VC_MASTER_HOSTS", "$(HOME) a 'b' \"c\" *", "$(HOME) a 'b' \"c\" *"),
    ("VC_TASK_INDEX", "7", "7"),
]


@pytest.mark.parametrize(("variable", "value", "expected"), OVERWRITTEN)
@pytest.mark.parametrize("role", ["master", "worker", "watcher"])
def test_the_user_wins_over_variables_that_volcano_appends(
    role: str, variable: str, value: Any, expected: str, tools: Path
) -> None:
    made = plan(**said("torchrun", role, {variable: value}))
    assert start(made, role, 0, tools).env[variable] == expected
    everywhere = plan(**PARTS["torchrun"], env={variable: value})
    assert start(everywhere, role, 0, tools).env[variable] == expected
