"""The table of checks: what is checked, which commands need it, and the command that fixes it."""

from __future__ import annotations

from trainform.doctor import cluster, machine
from trainform.doctor.model import Check

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
    Check("environment", cluster.look_at_environment, JOBS, needs=THERE, of_environment=True),
    Check("rights", cluster.look_at_rights, ("apply", "up"), RIGHTS, THERE, of_environment=True),
    Check(
        "environment_rights",
        cluster.look_at_environment_rights,
        ("environment",),
        OWN_RIGHTS,
        THERE,
        of_environment=True,
    ),
)
CHECKS = (*ON_MACHINE, *IN_CLUSTER)
