"""The table of checks: the function, the commands that need it, and the fix."""

from __future__ import annotations

import contextlib
import dataclasses
import os

from trainform import defaults
from trainform.errors import TrainformError
from trainform.local.doctor import cluster, machine
from trainform.local.doctor.check_runs import Check, Finding, Findings, Request, State
from trainform.local.sandbox.folder import Layout, chosen_folder
from trainform.local.sandbox.state import read_settings
from trainform.local.sandbox.status import is_up
from trainform.project import sandbox_up

FILES_ALONE = ("init", "new", "check", "plan", "render", "schema", "toolchain")  # commands that need no check
JOBS = ("preview", "review", "apply", "up")  # `pulumi preview` and `pulumi up` of an experiment, and what runs them
PROGRAM = (*JOBS, "environment")  # `pulumi up` of the environment's own stack
ENGINE = (*PROGRAM, "destroy", "promote", "history")
CLUSTER = (*ENGINE, "drift", "stacks", "diff")
BUILT = ("sandbox", "demo", "test")
VERBS = (*FILES_ALONE, *ENGINE, "rollback", "drift", "stacks", "diff", "rehearse", *BUILT)
LOGIN = (
    "choose where Pulumi keeps the states of stacks: `pulumi login --local` (a folder of this machine), `pulumi "
    "login s3://BUCKET`, or `pulumi login` (Pulumi Cloud, with an account there)"
)
SLOW = "check the network or VPN with `kubectl get --raw /readyz`; if it is only slow: trainform doctor --timeout 30"
OPERATOR = "install one in the cluster: docs/reference/backends.md compares them"
RIGHTS = "ask the platform team for these permissions"
OWN_RIGHTS = "ask the cluster's administrator for these permissions, or let the platform team run that stack"
THERE = ("kubeconfig", "cluster")

ON_MACHINE = (
    Check("python", machine.look_at_python, (*PROGRAM, "demo")),
    Check("tool_chain", machine.look_at_tool_chain, BUILT, "trainform toolchain ensure"),
    Check("docker", machine.look_at_docker, ("rehearse",)),
    Check("pulumi", machine.look_at_pulumi, (*ENGINE, "rollback"), after=("python",)),
    Check("pulumi_login", machine.look_at_login, (*ENGINE, "rollback"), LOGIN, ("pulumi",)),
)
IN_CLUSTER = (
    Check("kubeconfig", cluster.look_at_kubeconfig, CLUSTER),
    Check("cluster", cluster.look_at_cluster, CLUSTER, SLOW, THERE[:1]),
    Check("identity", cluster.look_at_identity, CLUSTER, needs=THERE),
    Check("operators", cluster.look_at_operators, PROGRAM, OPERATOR, THERE),
    Check("environment", cluster.look_at_environment, JOBS, needs=THERE, needs_environment=True),
    Check("rights", cluster.look_at_rights, ("apply", "up"), RIGHTS, THERE, needs_environment=True),
    Check(
        "environment_rights",
        cluster.look_at_environment_rights,
        ("environment",),
        OWN_RIGHTS,
        THERE,
        needs_environment=True,
    ),
)
CHECKS = (*ON_MACHINE, *IN_CLUSTER)


USE_SANDBOX = 'eval "$(trainform sandbox env)"'
FIXED_BY_SANDBOX = ("pulumi", "pulumi_login", "kubeconfig", "cluster")


def apply_sandbox_fix(findings: Findings, request: Request) -> dict[str, Finding]:
    """Return the findings with one command as the fix of the checks that a sandbox fixes, if it is the cause."""
    fix = ""
    with contextlib.suppress(TrainformError):  # its folder cannot be read
        fix = _sandbox_fix(request)
    fixed = [name for name in FIXED_BY_SANDBOX if fix and findings[name].state is State.MISSING]
    return {**findings, **{name: dataclasses.replace(findings[name], fix=fix) for name in fixed}}


def _sandbox_fix(request: Request) -> str:
    """Return the command, an empty text if this shell uses the sandbox that is up, or if none is."""
    folder = chosen_folder()
    used = os.environ.get("KUBECONFIG") == str(Layout(folder).kubeconfig)
    if not is_up(folder):
        name = None if request.environment is None else request.environment.name
        return f"{sandbox_up(request.root, name)} && {USE_SANDBOX}" if used else ""
    settings = read_settings(folder)
    known = settings is not None and request.context in (None, defaults.SANDBOX_CONTEXT, *settings.contexts)
    return USE_SANDBOX if known and not used else ""
