"""The preflight of components, which is left out under `pulumi.runtime.set_mocks`: unit tests have no cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import FIELD, identity_problem, place, refuse_another, unbound_note
from trainform.cluster.live_objects import ObjectReader, key_of
from trainform.cluster.outcome import Outcome, StackContext
from trainform.console.lines import escaped
from trainform.errors import ClusterError, InputError, Problem, TrainformError
from trainform.manifests.manifest import CLAIM, mapping
from trainform.spec.environment import Environment

PROVIDER = "pulumi:providers:kubernetes"
OBJECT = "kubernetes:"
OWN = "trainform:index:"  # in the URN of a provider that a component has made


def mocked() -> bool:
    """Return True if the program runs under `set_mocks`, where there is no cluster and no engine that calls hooks."""
    return isinstance(get_monitor(), MockMonitor)


def preflight(check: Callable[[ClusterApi, StackContext], Outcome], environment: Environment) -> Outcome:
    """Run the check on the environment's live cluster and return its result, which is empty under mocks. Raise
    ClusterError with everything that the check finds. Before that, InputError if the environment is bound to another
    cluster."""
    if mocked():
        return Outcome()
    with ThreadPoolExecutor(1) as beside:
        connecting = beside.submit(ClusterApi, environment.cluster.context)
        _state()  # the engine reads it while the client is imported
        cluster = connecting.result()
    refuse_another(cluster, environment)
    _refuse_moved(cluster, environment)
    _show_once(unbound_note(cluster, environment))
    return check(cluster, _stack(environment))


def _stack(environment: Environment) -> StackContext:
    """Return the stack of the program."""
    declared = {
        *(("Queue", name) for name, queue in environment.queues.items() if queue.create),
        *((CLAIM, name) for name in environment.claims),
        *(("PriorityClass", name) for name in environment.priority_classes),
        *((("Namespace", environment.namespace.name),) if environment.namespace.create else ()),
    }
    applied = {
        key_of(inputs): inputs
        for inputs in (mapping(outputs.get("__inputs")) for outputs in _objects_in_state())
        if mapping(inputs.get("metadata")).get("name")
    }
    return StackContext(pulumi.get_stack(), frozenset(declared), applied, pulumi.runtime.is_dry_run())


@functools.cache
def _show_once(text: str) -> None:
    """Show a note among the diagnostics, once for all components of a program."""
    if text:
        pulumi.log.info(escaped(text))


# --- objects on another cluster


def _refuse_moved(api: ClusterApi, environment: Environment) -> None:
    """Raise `InputError` if objects of the stack are on another cluster than the one that the environment names; if it
    names none, than the one that answers.

    The engine would replace every object: it creates the new ones, then deletes the old ones by name. The context is
    the same, so it would delete the new ones. If the environment no longer names a cluster, the engine replaces
    nothing, and creates on the new cluster only what has changed since.
    """
    stack, uid, problems = pulumi.get_stack(), environment.cluster.uid, list[Problem]()
    forget = f"`pulumi refresh --run-program=false -s {stack}`"
    for other in sorted(_clusters_with_objects() - {uid}):
        if uid is None:
            problem = identity_problem(api, other, f"the stack {stack}", f"{forget} forgets its objects")
            problems += [] if problem is None else [problem]
            continue
        reason = (
            f"the objects of the stack {stack} are on the cluster {other}, and an update would delete those of the "
            "same names on this one"
        )
        fix = (
            f"to move: `trainform destroy {stack}` with the old UID and kubeconfig first; if the old cluster is gone "
            f"for ever: {forget}, which forgets its objects"
        )
        problems.append(Problem(FIELD, uid, reason, fix))
    if problems:
        raise InputError(problems)
    _refuse_another_context(api, environment)


def _refuse_another_context(api: ClusterApi, environment: Environment) -> None:
    """Raise `ClusterError` if the context is not the one of the state, and no object of the stack is behind it.

    The state of a stack that is bound to no cluster has a context alone. With another one the engine updates the
    provider and nothing else: the objects stay on the old cluster, and later changes go to objects of the same names
    on the new one. A renamed context leads to the same objects, which have the same UIDs.
    """
    own = (each["outputs"] for urn, each in _state().items() if each.get("type") == PROVIDER and OWN in urn)
    contexts = [outputs.get("context") for outputs in own if not outputs.get("clusterIdentifier")]
    here, reader, stack = environment.cluster.context, ObjectReader(api), pulumi.get_stack()
    if not contexts or here in contexts or not _objects_in_state():
        return
    if any(_is_here(reader, outputs) for outputs in _objects_in_state()):
        return
    before = f"the context {contexts[0]}" if contexts[0] else "whichever context was the current one"
    reason = (
        f"`cluster.context` names another cluster: the objects of the stack {stack} were created through {before}, "
        f"and none of them is on the cluster of {place(api)}; an update would leave them running there, and change "
        "objects of the same names here"
    )
    fix = (
        f"to move: `trainform destroy {stack}` with the old context first, or write another environment for the new "
        "cluster"
    )
    raise ClusterError(reason, fix)


def _is_here(reader: ObjectReader, outputs: Mapping[str, Any]) -> bool:
    """Return True if the cluster has this very object."""
    metadata = mapping(outputs.get("metadata"))
    live = reader.objects([key_of(outputs)])
    uids = [mapping(mapping(each.body).get("metadata")).get("uid") for each in live.values()]
    return metadata.get("uid") is not None and metadata["uid"] in uids


def _clusters_with_objects() -> set[str]:
    """Return the UIDs in the stack's state, if the state has objects of Kubernetes."""
    if not _objects_in_state():
        return set()
    providers = (each["outputs"] for each in _state().values() if each.get("type") == PROVIDER)
    return {uid for provider in providers if (uid := provider.get("clusterIdentifier"))}


def _objects_in_state() -> list[Mapping[str, Any]]:
    """Return the outputs of the stack's Kubernetes objects; `__inputs` is what was sent last."""
    return [each["outputs"] for each in _state().values() if str(each.get("type", "")).startswith(OBJECT)]


@functools.cache
def _state() -> Mapping[str, Mapping[str, Any]]:
    """Return type and outputs of each resource in the state by its URN, as a `StackReference` reads another stack."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    try:
        answer = pulumi.runtime.invoke("pulumi:pulumi:readStackResourceOutputs", {"stackName": name}).value
    except Exception as error:  # the SDK raises no kind of its own
        reason = (
            f"the state of the stack {name} cannot be read, so it is unknown on which cluster its objects are: {error}"
        )
        raise TrainformError(reason, "`pulumi stack -s STACK` shows whether the backend answers") from None
    found: Mapping[str, Mapping[str, Any]] = {} if answer is None else answer["outputs"]
    return found
