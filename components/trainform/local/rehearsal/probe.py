"""`--probe`: small programs replace the training script. Variables describe the world that the plan expects."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.local.rehearsal.workload import Workload, planned_name
from trainform.plan.launch.launch import COMMAND_SCRIPT
from trainform.plan.model import Plan, Pod, RolePlan
from trainform.spec.launchers import Launcher

PROGRAMS = Path(__file__).parent / "probes"
MOUNT = "/etc/trainform-probe"
CONFIG_MAP = "trainform-probe"
SECONDS = 120.0
WATCH = "probe_watch.py"
OWN_NAME = "TRAINFORM_EXPECT_NAME"


class Probe(Struct, frozen=True):
    """The program that replaces the script. ordered: the plan decides the ranks. watched: the launcher's agents meet
    before they start a script, so a second program names the nodes that are missing."""

    program: str
    arguments: tuple[str, ...] = ()
    ordered: bool = True
    watched: bool = False


PROBES = {
    "torchrun": Probe("probe_torch.py", ("--with", "torch"), watched=True),
    "accelerate": Probe("probe_torch.py", ("--with", "accelerate"), watched=True),
    "deepspeed": Probe("probe_torch.py", ("--with", "deepspeed")),
    "mpi": Probe("probe_mpi.py", ordered=False),  # mpirun's options say which rank goes where
    "tensorflow": Probe("probe_tensorflow.py"),
    "jax": Probe("probe_jax.py"),
    "command": Probe("probe_torch.py", ("--with", "torch")),
    "entrypoint": Probe("probe_torch.py", ("--with", "torch")),
}
"""The probe of each launcher, by the launcher's name."""

# the plan does not know which processes such a program starts itself
ONE_PER_POD = frozenset({"command", "tensorflow", "jax", "entrypoint"})


def check_probe(plan: Plan) -> None:
    """Raise InputError for roles whose own command the launcher does not start: a probe cannot take its place."""
    own = [role for role in plan.roles if role.launched and _starts(role, COMMAND_SCRIPT)]
    if own and plan.launcher not in ONE_PER_POD:
        reason = "is not started by the launcher, so a probe cannot take its place"
        fix = "rehearse without --probe, or remove the role's own command"
        raise InputError([Problem(f"roles.{role.name}.command", "…", reason, fix) for role in own])


def probed(workload: Workload, plan: Plan, launcher: Launcher, seconds: float = SECONDS) -> Workload:
    """Return the workload with the probe instead of the script in every launched pod. seconds: for the world to
    form."""
    pods = copy.deepcopy(workload.pods)
    for pod in pods:
        insert_probe(pod, plan, launcher, {"value": planned_name(pod)}, seconds)
    return dataclasses.replace(workload, pods=pods, config_maps={**workload.config_maps, CONFIG_MAP: programs()})


def programs() -> dict[str, str]:
    """Return the probes' programs by file name; they import one another from the folder that holds them."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(PROGRAMS.glob("probe_*.py"))}


def expectations(plan: Plan) -> dict[str, dict[str, str]]:
    """Return the variables TRAINFORM_EXPECT_* of each launched role, which the probes compare with their world."""
    if plan.launcher == "tensorflow":
        return {role.name: _cluster(plan) | _task(role) for role in plan.roles if role.launched}
    world = _world(plan)
    return {role.name: world for role in plan.roles if role.launched}


def probe_args(launcher: Launcher, exported: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the container's arguments with the probe instead of the program. The launcher's own options stay.
    exported: variables that mpirun sets for all processes."""
    probe = PROBES[launcher.kind]
    words = (f"{MOUNT}/{probe.program}", *probe.arguments)
    if launcher.script is not None:
        return (*launcher.script.launcher_args, *words)
    mpi = launcher.mpi
    options = () if mpi is None else (*mpi.launcher_args, *(word for name in exported for word in ("-x", name)))
    return (*options, _interpreter(launcher.program), *words)


def _interpreter(command: list[str]) -> str:
    """Return the user's Python, else `python3`: an image may have several, and only one with the framework."""
    is_python = bool(command) and PurePosixPath(command[0]).name.startswith("python")
    return command[0] if is_python else "python3"


def _world(plan: Plan) -> dict[str, str]:
    """Return the variables that describe the expected world of ranks."""
    pods = _nodes(plan)
    slots = {pod.name: _processes(plan, pod, place) for place, pod in enumerate(pods)}
    variables = {
        "TRAINFORM_EXPECT_HOSTS": json.dumps([pod.address for pod in pods]),
        "TRAINFORM_EXPECT_SLOTS": json.dumps(slots),
    }
    if plan.world.bounds is not None:
        low, high = plan.world.bounds
        return variables | {"TRAINFORM_EXPECT_NODES_MIN": str(low), "TRAINFORM_EXPECT_NODES_MAX": str(high)}
    variables["TRAINFORM_EXPECT_NODES"] = str(len(pods))
    variables["TRAINFORM_EXPECT_PROCESSES"] = str(sum(slots.values()))
    # a c10d rendezvous numbers the nodes anew
    if PROBES[plan.launcher].ordered and _value(plan.roles, "RDZV_BACKEND") != "c10d":
        variables["TRAINFORM_EXPECT_ORDER"] = "plan"
    return variables


def _nodes(plan: Plan) -> list[Pod]:
    """Return the pods of the world in order of rank; in an elastic job the pods that exist at the beginning."""
    ranked = {role.name for role in plan.ranked}
    return [
        pod for pod in plan.pods() if pod.role in ranked and (pod.rank is not None or plan.world.bounds is not None)
    ]


def _processes(plan: Plan, pod: Pod, place: int) -> int:
    """Return the number of processes on a node: from the hostfile, else from the variable that the launcher reads."""
    if plan.launcher in ONE_PER_POD:
        return 1
    if plan.hosts:
        return plan.hosts[place].slots
    role = next(role for role in plan.roles if role.name == pod.role)
    user_set = _value((role,), "NPROC_PER_NODE")
    if user_set is not None and user_set.isdigit():
        return int(user_set)
    return 1 if role.accelerators is None else role.accelerators[1]


def _cluster(plan: Plan) -> dict[str, str]:
    """Return the number of tasks in TensorFlow's cluster, by type; the evaluator is not part of the cluster."""
    kinds = {role.name: _task(role)["TRAINFORM_EXPECT_TASK"] for role in plan.roles}
    return {"TRAINFORM_EXPECT_CLUSTER": json.dumps(Counter(kinds[pod.role] for pod in _nodes(plan)))}


def _task(role: RolePlan) -> dict[str, str]:
    kind = _value((role,), "TRAINFORM_TASK_TYPE")
    return {"TRAINFORM_EXPECT_TASK": role.name if kind is None else kind}


def _value(roles: tuple[RolePlan, ...], name: str) -> str | None:
    """Return the text of a variable in the first role that has it; None if no role has it as text."""
    values = (variable.value for role in roles for variable in role.env if variable.name == name)
    return next((value for value in values if isinstance(value, str)), None)


def _starts(role: RolePlan, script: str) -> bool:
    return any(word.endswith(f"/{script}") for word in role.command)


def insert_probe(
    pod: dict[str, Any], plan: Plan, launcher: Launcher, own_name: dict[str, Any] | None, seconds: float = SECONDS
) -> None:
    """Put the probe into a pod or its template, in place. The ConfigMap has to exist. own_name: the variable with the
    pod's name, since on the host network the hostname is the node's; None to use the hostname."""
    name = pod["metadata"].get("labels", {}).get(defaults.ROLE_LABEL)
    role = next((role for role in plan.roles if role.name == name and (role.launched or role.ranked)), None)
    if role is None:
        return
    pod["spec"].setdefault("volumes", []).append({"name": CONFIG_MAP, "configMap": {"name": CONFIG_MAP}})
    main = pod["spec"]["containers"][0]
    main.setdefault("volumeMounts", []).append({"name": CONFIG_MAP, "mountPath": MOUNT, "readOnly": True})
    if not role.launched:
        return  # mpirun may start the program there
    expected = expectations(plan)[role.name] | {"TRAINFORM_PROBE_TIMEOUT": f"{seconds:g}"}
    main.setdefault("env", []).extend({"name": key, "value": value} for key, value in expected.items())
    if own_name is not None:
        main["env"].append({"name": OWN_NAME, **own_name})
    if not role.command:
        main |= {"command": [*probe_args(launcher)], "args": []}
    elif _starts(role, defaults.LAUNCH_SCRIPT) or _starts(role, COMMAND_SCRIPT):
        # an existing runtime has its own sshd, which does not give its sessions the variables of the container
        main["args"] = list(probe_args(launcher, expected if plan.runtime is not None else ()))
        if PROBES[plan.launcher].watched:
            main["command"] = ["python3", f"{MOUNT}/{WATCH}", *main["command"]]
