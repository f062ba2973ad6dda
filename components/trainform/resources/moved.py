"""A stack whose objects are on another cluster than the one that its environment names, or, where it names none, than
the one that answers.

The engine would replace every object: it makes the new ones, and then deletes the old ones by their names, which it
finds on the new cluster since the context is the same. Where the environment has lost the line it replaces nothing, and
makes there what has changed since. The program learns from the stack's own state where its objects are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import FIELD, identity_problem
from trainform.errors import InputError, Problem, TrainformError
from trainform.spec.environment import Environment

PROVIDER = "pulumi:providers:kubernetes"
OBJECT = "kubernetes:"


def refuse_moved(cluster: ClusterApi, environment: Environment) -> None:
    """Raise `InputError` if objects of the stack are on another cluster than the one that the environment names, or,
    where it names none, than the one that answers. cluster: the connection to that one."""
    problems = [*_problems(cluster, environment.cluster.uid)]
    if problems:
        raise InputError(problems)


def _problems(cluster: ClusterApi, uid: str | None) -> Iterator[Problem]:
    stack = pulumi.get_stack()
    forget = f"`pulumi refresh --run-program=false -s {stack}`"
    for other in sorted(_clusters_with_objects() - {uid}):
        if uid is not None:
            reason = (
                f"the objects of the stack {stack} are on the cluster {other}, and an update would delete those of "
                "the same names on this one"
            )
            fix = (
                f"to move: `trainform destroy {stack}` with the old UID and kubeconfig first; if the old cluster is "
                f"gone for ever: {forget}, which forgets its objects"
            )
            yield Problem(FIELD, uid, reason, fix)
        else:
            problem = identity_problem(cluster, other, f"the stack {stack}", f"{forget} forgets its objects")
            yield from () if problem is None else (problem,)


def objects_in_state() -> list[Mapping[str, Any]]:
    """Return the outputs of the stack's Kubernetes objects; `__inputs` is what was sent last."""
    return [each["outputs"] for each in _state().values() if str(each.get("type", "")).startswith(OBJECT)]


def _clusters_with_objects() -> set[str]:
    """The UIDs in the stack's state, if the state has objects of Kubernetes."""
    resources = _state()
    if not any(str(each.get("type", "")).startswith(OBJECT) for each in resources.values()):
        return set()
    providers = (each["outputs"] for each in resources.values() if each.get("type") == PROVIDER)
    return {uid for provider in providers if (uid := provider.get("clusterIdentifier"))}


@functools.cache
def _state() -> Mapping[str, Mapping[str, Any]]:
    """Type and outputs of each resource in the state, by its URN, as a `StackReference` reads those of another
    stack."""
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
