"""The identity of a cluster: the UID of its namespace kube-system, which is unique and never changes.

Two kubeconfigs may have a context of the same name. An environment that names the UID is bound to that cluster.
"""

from __future__ import annotations

import contextlib

from trainform import defaults
from trainform.cluster.api import ClusterApi
from trainform.errors import ClusterError, InputError, Problem
from trainform.spec.environment import Environment

FIELD = "cluster.uid"


def refuse_another(connection: ClusterApi, environment: Environment) -> None:
    """Raise `InputError` unless the connection leads to the cluster to which the environment is bound."""
    problem = environment_problem(connection, environment)
    if problem is not None:
        raise InputError([problem])


def refuse_another_if_reached(environment: Environment, seconds: float) -> None:
    """Do the same over a new connection. A cluster that cannot be reached is not refused: the next read reports why."""
    if environment.cluster.uid is not None:
        with (
            contextlib.suppress(ClusterError),
            contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api,
        ):
            refuse_another(api, environment)


def environment_problem(connection: ClusterApi, environment: Environment) -> Problem | None:
    """Return the problem if the environment is bound to another cluster than that of the connection."""
    if environment.cluster.uid is None:
        return None
    gone = (
        "write the UID of the new one, and `pulumi refresh --run-program=false -s STACK` forgets the objects of the "
        "old one"
    )
    return identity_problem(connection, environment.cluster.uid, f"the environment {environment.name}", gone)


def identity_problem(connection: ClusterApi, expected: str, bound: str, gone: str) -> Problem | None:
    """Return the problem if the connection does not lead to the cluster with this UID. bound: what is bound to that
    cluster. gone: the fix if that cluster no longer exists."""
    found = connection.uid()
    if found == expected:
        return None
    if found is None:
        reason = (
            f"{bound} is bound to this cluster, and this account may not read which one {place(connection)} leads to"
        )
        fix = f"ask the platform team for `get` of the namespace {defaults.KUBE_SYSTEM}"
        return Problem(FIELD, expected, reason, fix)
    reason = f"{bound} is bound to this cluster, and {place(connection)} leads to another one, whose UID is {found}"
    example = ", such as an earlier sandbox" if is_sandbox(connection) else ""
    fix = f"set KUBECONFIG to the file of the right cluster; if that cluster is gone for ever{example}: {gone}"
    return Problem(FIELD, expected, reason, fix)


def place(connection: ClusterApi) -> str:
    """Return the target of a connection: the context, its kubeconfig, and the server."""
    config = connection.config
    file = "the pod's service account" if config.fname is None else str(config.fname)
    return f"the context {config.context_name} of {file} ({connection.server})"


def is_sandbox(connection: ClusterApi) -> bool:
    """Return True if the kubeconfig is that of a sandbox, whose UID changes with each sandbox."""
    return connection.config.context.cluster.startswith(defaults.SANDBOX_CONTEXT)


def unbound_note(connection: ClusterApi, environment: Environment) -> str:
    """Return a note if the environment is not bound to its cluster; "" if it is bound, or on a sandbox."""
    if environment.cluster.uid is not None or is_sandbox(connection):
        return ""
    return (
        f"the environment {environment.name} is not bound to its cluster: it names no {FIELD}, so that this stack "
        f"works on whichever cluster {place(connection)} leads to; `trainform doctor -e {environment.name}` shows "
        "the line to write"
    )
