"""The table of checks: what is checked, which commands need it, and the command that fixes it."""

from __future__ import annotations

from trainform import defaults
from trainform.doctor import cluster, machine, pulumi
from trainform.doctor.environment import NAMED_OBJECTS, look_at_local_queues
from trainform.doctor.model import Check, Request
from trainform.toolchain.oserrors import FIX as CACHE_FIX

PROGRAM = (
    "preview",
    "review",
    "apply",
    "up",
    "environment",
)  # commands in which Pulumi runs a Python program for a user's cluster
PYTHON = (*PROGRAM, "demo")  # or for the sandbox
ENGINE = (*PROGRAM, "destroy", "promote", "history")
STATE = (*ENGINE, "rollback")
CLUSTER = (*ENGINE, "drift", "stacks", "diff")
SLOW = "check the network or VPN with `kubectl get --raw /readyz`; if it is only slow: trainform doctor --timeout 30"
LOGIN = (
    "choose where Pulumi keeps the states of stacks: `pulumi login --local` (a folder of this machine), `pulumi login s3://BUCKET`, or `pulumi login` "
    "(Pulumi Cloud, with an account there); the sandbox has its own: `trainform sandbox up`, and the `eval` that it names"
)
BUILT = ("sandbox", "demo", "test")
ADDONS = ",".join(defaults.ADD_ONS)  # without spaces: one word of a shell


def _with_kueue(request: Request) -> bool:
    return request.environment is not None and request.environment.admission == defaults.KUEUE


CHECKS = (
    Check("python", machine.look_at_python, verbs=PYTHON),
    Check("pip", machine.look_at_pip, verbs=PYTHON, needs=("python",)),
    Check("pulumi", pulumi.look_at_pulumi, verbs=STATE),
    Check("pulumi_plugin", pulumi.look_at_plugin, verbs=PROGRAM, needs=("python", "pulumi")),
    Check("pulumi_login", pulumi.look_at_state, LOGIN, verbs=STATE),
    Check("kubeconfig", cluster.look_at_kubeconfig, verbs=CLUSTER),
    Check("cluster", cluster.look_at_cluster, SLOW, CLUSTER, ("kubeconfig",)),
    Check("identity", cluster.look_at_identity, verbs=CLUSTER, needs=("kubeconfig", "cluster")),
    Check("account", cluster.look_at_account, "log in to the cluster again", CLUSTER, ("kubeconfig", "cluster")),
    Check(
        "operators",
        cluster.look_at_operators,
        "install one in the cluster: docs/reference/backends.md compares them",
        PROGRAM,
        ("kubeconfig", "cluster"),
    ),
    Check(
        "rights",
        cluster.look_at_rights,
        "ask the platform team for these permissions",
        ("apply", "up"),
        ("kubeconfig", "cluster"),
        after=("operators",),
    ),
    Check(
        "environment_rights",
        cluster.look_at_environment_rights,
        "ask the cluster's administrator for these permissions, or let the platform team run that stack",
        ("environment",),
        ("kubeconfig", "cluster"),
    ),
    *(
        Check(name, named.look, "", named.verbs, ("kubeconfig", "cluster"), applies=named.applies)
        for name, named in NAMED_OBJECTS.items()
    ),
    Check(
        "local_queues",
        look_at_local_queues,
        "ask the platform team for a LocalQueue",
        ("preview", "review", "apply", "up"),
        ("kubeconfig", "cluster", "operators"),
        applies=_with_kueue,
    ),
    Check("docker", machine.look_at_docker, verbs=("rehearse",)),
    Check("tool_chain", machine.look_at_tool_chain, "trainform toolchain ensure", BUILT),
    Check("addons", machine.look_at_addons, f"trainform toolchain ensure --with {ADDONS}", ("test",)),
    Check("disk", machine.look_at_disk, CACHE_FIX, (*BUILT, "toolchain"), after=("tool_chain",)),
    Check("go", machine.look_at_go, "install Go from go.dev/dl"),
    Check("make", machine.look_for_program("make"), "apt-get install make", ("test",)),
    Check("git", machine.look_for_program("git"), "apt-get install git", ("test",)),
    Check("kubectl", machine.look_at_kubectl, "install it from kubernetes.io/docs/tasks/tools"),
)
