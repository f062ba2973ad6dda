"""Checks that the objects which an environment names exist in the cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import cast

from msgspec import Struct

from trainform import defaults
from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.operators import KUEUE
from trainform.cluster.queues import UNOPENED_FIX, missing_queue_fix, open_queue_fix
from trainform.doctor.cluster import connection
from trainform.doctor.model import Finding, Findings, Request, State
from trainform.doctor.runner import in_parallel
from trainform.project import deploy
from trainform.spec.environment import Environment


def _environment_of(request: Request) -> Environment:
    """Return the environment, for checks that apply only with one."""
    return cast(Environment, request.environment)


class NamedObjects(Struct, frozen=True):
    """Objects of one kind that an environment names. `path`: that of their collection. `names`: returns the names. `fix`: returns the fix for a
    missing one. `judge`: returns the finding for an existing one."""

    path: str
    names: Callable[[Environment], Iterable[str]]
    fix: Callable[[Environment, str], str]
    judge: Callable[[str, Answer], Finding] = lambda name, answer: Finding(State.OK, name)
    verbs: tuple[str, ...] = ("preview", "review", "apply", "up")

    def named(self, request: Request) -> list[str]:
        """Return the names, each once; none without an environment."""
        return [] if request.environment is None else list(dict.fromkeys(self.names(request.environment)))

    def applies(self, request: Request) -> bool:
        """True if the environment names any."""
        return bool(self.named(request))

    def look(self, request: Request, findings: Findings) -> Finding:
        """Check that all exist."""
        environment, names = _environment_of(request), self.named(request)
        path = self.path.format(namespace=environment.namespace.name)
        looks = [functools.partial(self._look_at_one, connection(findings), path, name, environment) for name in names]
        wrong = [finding for finding in in_parallel(looks) if finding.state is not State.OK]
        if not wrong:
            return Finding(State.OK, ", ".join(names))
        state = State.MISSING if any(finding.state is State.MISSING for finding in wrong) else State.UNKNOWN
        fixes = dict.fromkeys(finding.fix for finding in wrong if finding.fix)
        return Finding(state, ", ".join(finding.text for finding in wrong), "; ".join(fixes))

    def _look_at_one(self, api: ClusterApi, path: str, name: str, environment: Environment) -> Finding:
        answer = api.get(f"{path}/{name}", metadata_only="secrets" in path)
        if answer.missing:
            return Finding(State.MISSING, f"{name} does not exist", self.fix(environment, name))
        if not answer.found:
            return Finding(State.UNKNOWN, f"{name}: this account has no permission to read it ({answer.message})")
        with api.reading(f"{path}/{name}"):
            return self.judge(name, answer)


def _environment_stack_fix(environment: Environment, name: str) -> str:
    return deploy(environment.name)


def _namespace_fix(environment: Environment, name: str) -> str:
    return (
        _environment_stack_fix(environment, name)
        if environment.namespace.create
        else f"kubectl create namespace {name}"
    )


def _queues(environment: Environment) -> Iterable[str]:
    return () if environment.admission == defaults.KUEUE else (defaults.QUEUE, *environment.queues)


def _queue_fix(environment: Environment, name: str) -> str:
    listed = environment.queues.get(name)
    return missing_queue_fix(name, environment.name, listed is not None and listed.create)


def _queue_is_open(name: str, queue: Answer) -> Finding:
    """Check that a queue is open, since only an open queue accepts jobs."""
    state = queue.body.get("status", {}).get("state")
    if state == "Open":
        return Finding(State.OK, name)
    if not state:
        return Finding(State.MISSING, f"{name} is not open yet", UNOPENED_FIX)
    return Finding(State.MISSING, f"{name} is {state}", open_queue_fix(name))


NAMED_OBJECTS = {
    "namespace": NamedObjects("/api/v1/namespaces", lambda environment: [environment.namespace.name], _namespace_fix),
    "queues": NamedObjects(f"/apis/{QUEUE_API}/queues", _queues, _queue_fix, _queue_is_open),
    "priority_classes": NamedObjects(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        lambda environment: environment.priority_classes,
        _environment_stack_fix,
    ),
    "storage_classes": NamedObjects(
        "/apis/storage.k8s.io/v1/storageclasses",
        lambda environment: environment.storage_classes.values(),
        lambda environment, name: f"correct `storage_classes` of {environment.name}: kubectl get storageclasses",
        verbs=("preview", "review", "apply", "up", "environment"),
    ),
    "claims": NamedObjects(
        "/api/v1/namespaces/{namespace}/persistentvolumeclaims",
        lambda environment: environment.claims,
        _environment_stack_fix,
    ),
    "pull_secrets": NamedObjects(
        "/api/v1/namespaces/{namespace}/secrets",
        lambda environment: environment.image_pull_secrets,
        lambda environment, name: f"kubectl create secret docker-registry NAME -n {environment.namespace.name}",
    ),
}


def look_at_local_queues(request: Request, findings: Findings) -> Finding:
    """Check that the namespace has a LocalQueue, which experiments name if Kueue admits them."""
    namespace = _environment_of(request).namespace.name
    api, path = connection(findings), f"/apis/{KUEUE.api_version}/namespaces/{namespace}/localqueues"
    answer = api.get(path)
    if not answer.found:
        return Finding(State.UNKNOWN, f"this account has no permission to list them ({answer.message})")
    with api.reading(path):
        names = [str(item["metadata"]["name"]) for item in answer.body["items"]]
    if not names:
        return Finding(State.MISSING, f"there is no LocalQueue in the namespace {namespace}")
    return Finding(State.OK, ", ".join(names))
