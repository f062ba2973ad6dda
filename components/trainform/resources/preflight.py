"""The preflight of components. It is left out in unit tests of users' programs (`pulumi.runtime.set_mocks`), which have
no cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from trainform.cluster.identity import refuse_another, unbound_note
from trainform.cluster.read import Cluster
from trainform.escaping import escaped
from trainform.resources.moved import refuse_moved
from trainform.spec.environment import Environment

Result = TypeVar("Result")


def mocked() -> bool:
    """True if the program runs under `set_mocks`, where there is no cluster and no engine that calls hooks."""
    return isinstance(get_monitor(), MockMonitor)


def preflight(check: Callable[[Cluster], Result], environment: Environment) -> Result | None:
    """Run the check on the environment's live cluster and return its result; None without a cluster. Raise ClusterError
    with everything that the check finds. Before that, InputError if the environment is bound to another cluster."""
    if mocked():
        return None
    cluster = Cluster(environment.cluster.context)
    refuse_another(cluster, environment)
    refuse_moved(cluster, environment)
    _show_once(unbound_note(cluster, environment))
    return check(cluster)


@functools.cache
def _show_once(text: str) -> None:
    """Show a note among the diagnostics, once for all components of a program."""
    if text:
        pulumi.log.info(escaped(text))
