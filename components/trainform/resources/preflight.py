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
from trainform.cluster.outcome import StackContext, object_key
from trainform.cluster.read import Cluster
from trainform.escaping import escaped
from trainform.manifests.shapes import mapping
from trainform.resources.moved import objects_in_state, refuse_moved
from trainform.spec.environment import Environment

Result = TypeVar("Result")


def mocked() -> bool:
    """True if the program runs under `set_mocks`, where there is no cluster and no engine that calls hooks."""
    return isinstance(get_monitor(), MockMonitor)


def preflight(check: Callable[[Cluster, StackContext], Result], environment: Environment) -> Result | None:
    """Run the check on the environment's live cluster and return its result; None without a cluster. Raise ClusterError
    with everything that the check finds. Before that, InputError if the environment is bound to another cluster."""
    if mocked():
        return None
    cluster = Cluster(environment.cluster.context)
    refuse_another(cluster.api, environment)
    refuse_moved(cluster.api, environment)
    _show_once(unbound_note(cluster.api, environment))
    return check(cluster, _stack(environment))


def _stack(environment: Environment) -> StackContext:
    """Return the stack of the program."""
    declared = {
        *(("Queue", name) for name, queue in environment.queues.items() if queue.create),
        *(("PersistentVolumeClaim", name) for name in environment.claims),
        *(("PriorityClass", name) for name in environment.priority_classes),
        *((("Namespace", environment.namespace.name),) if environment.namespace.create else ()),
    }
    applied = {
        object_key(inputs): inputs
        for inputs in (mapping(outputs.get("__inputs")) for outputs in objects_in_state())
        if mapping(inputs.get("metadata")).get("name")
    }
    return StackContext(pulumi.get_stack(), frozenset(declared), applied, pulumi.runtime.is_dry_run())


@functools.cache
def _show_once(text: str) -> None:
    """Show a note among the diagnostics, once for all components of a program."""
    if text:
        pulumi.log.info(escaped(text))
