"""The preflight of components. It is left out in unit tests of users' programs (`pulumi.runtime.set_mocks`), which have no cluster."""

from __future__ import annotations

from collections.abc import Callable

from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from trainform.cluster.read import Cluster
from trainform.spec.environment import Environment


def mocked() -> bool:
    """True if the program runs under `set_mocks`, where there is no cluster and no engine that calls hooks."""
    return isinstance(get_monitor(), MockMonitor)


def preflight(check: Callable[[Cluster], None], environment: Environment) -> None:
    """Run the check on the environment's live cluster; raise ClusterError with everything that the check finds."""
    if not mocked():
        check(Cluster(environment.cluster.context))
