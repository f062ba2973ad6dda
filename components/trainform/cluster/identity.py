"""Which cluster answers: the UID of its namespace kube-system, which it keeps as long as it lives and no other cluster
has.

A kubeconfig leads wherever its file says, and another file may have a context of the same name. An environment that
names the UID is bound to its cluster: no other one is read or changed for it.
"""

from __future__ import annotations

import contextlib

from trainform import defaults
from trainform.cluster.api import ClusterApi
from trainform.errors import ClusterError, InputError, Problem
from trainform.spec.environment import Environment

FIELD = "cluster.uid"


def refuse_another(connection: ClusterApi, environment: Environment) -> None:
    """Raise `InputError` unless the connection leads to the cluster to which the environment is bound. One that names
    no UID is bound to none."""
    problem = environment_problem(connection, environment)
    if problem is not None:
        raise InputError([problem])


def refuse_another_if_reached(environment: Environment, seconds: float) -> None:
    """The same over a connection of its own. What cannot be reached is no other cluster, and whoever reads it says why
    not."""
    if environment.cluster.uid is not None:
        with (
            contextlib.suppress(ClusterError),
            contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api,
        ):
            refuse_another(api, environment)


def environment_problem(connection: ClusterApi, environment: Environment) -> Problem | None:
    """What is wrong if the environment is bound, and the connection does not lead to its cluster."""
    if environment.cluster.uid is None:
        return None
    gone = (
        "write the UID of the new one, and `pulumi refresh --run-program=false -s STACK` forgets the objects of the "
        "old one"
    )
    return identity_problem(connection, environment.cluster.uid, f"the environment {environment.name}", gone)


def identity_problem(connection: ClusterApi, wanted: str, bound: str, gone: str) -> Problem | None:
    """What is wrong if the connection does not lead to the cluster with this UID. bound: what is bound to that cluster.
    gone: what to do if that cluster is no more."""
    found = connection.uid()
    if found == wanted:
        return None
    if found is None:
        reason = (
            f"{bound} is bound to this cluster, and this account may not read which one {place(connection)} leads to"
        )
        return Problem(
            FIELD, wanted, reason, f"ask the platform team for `get` of the namespace {defaults.KUBE_SYSTEM}"
        )
    reason = f"{bound} is bound to this cluster, and {place(connection)} leads to another one, whose UID is {found}"
    example = ", as that of a sandbox which was made anew" if is_sandbox(connection) else ""
    fix = f"set KUBECONFIG to the file of the right cluster; if that cluster is gone for ever{example}: {gone}"
    return Problem(FIELD, wanted, reason, fix)


def place(connection: ClusterApi) -> str:
    """Where a connection leads: the context, the kubeconfig that has it, and the server."""
    config = connection.config
    file = "the pod's service account" if config.fname is None else str(config.fname)
    return f"the context {config.context_name} of {file} ({connection.server})"


def is_sandbox(connection: ClusterApi) -> bool:
    """True if the kubeconfig is that of a sandbox, whose UID ends with it."""
    return connection.config.context.cluster.startswith(defaults.SANDBOX_CONTEXT)


def unbound_note(connection: ClusterApi, environment: Environment) -> str:
    """A note if nothing binds the environment to the cluster; "" if it is bound, or on a sandbox, which is for trying
    things."""
    if environment.cluster.uid is not None or is_sandbox(connection):
        return ""
    return (
        f"the environment {environment.name} is not bound to its cluster: it names no {FIELD}, so that this stack "
        f"works on whichever cluster {place(connection)} leads to; `trainform doctor -e {environment.name}` shows "
        "the line to write"
    )
