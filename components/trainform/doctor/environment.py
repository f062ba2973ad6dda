"""Looks for what an environment names: is it in the cluster?"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import cast

from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.catalog import defaults
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.operators import OPERATORS
from trainform.cluster.queues import missing_queue_fix
from trainform.doctor.cluster import connection
from trainform.doctor.looking import side_by_side
from trainform.doctor.model import Asked, Finding, Findings, State
from trainform.spec.environment import Environment


def of(asked: Asked) -> Environment:
    """The environment, for checks that apply with one only."""
    return cast(Environment, asked.environment)


@dataclasses.dataclass(frozen=True)
class Named:
    """Objects of one kind that an environment names. path: of their collection. names: which. fix: what to do about one that is missing.
    judge: whether one that is there is right."""

    path: str
    names: Callable[[Environment], Iterable[str]]
    fix: Callable[[Environment, str], str]
    judge: Callable[[str, Answer], Finding] = lambda name, answer: Finding(State.OK, name)
    verbs: tuple[str, ...] = ("preview", "up")

    def named(self, asked: Asked) -> list[str]:
        """Each name once; none without an environment."""
        return [] if asked.environment is None else list(dict.fromkeys(self.names(asked.environment)))

    def applies(self, asked: Asked) -> bool:
        """True where the environment names any."""
        return bool(self.named(asked))

    def look(self, asked: Asked, findings: Findings) -> Finding:
        """Whether each is there."""
        environment, names = of(asked), self.named(asked)
        path = self.path.format(namespace=environment.namespace.name)
        looks = [functools.partial(self._one, connection(findings), path, name, environment) for name in names]
        wrong = [finding for finding in side_by_side(looks) if finding.state is not State.OK]
        if not wrong:
            return Finding(State.OK, ", ".join(names))
        state = State.MISSING if any(finding.state is State.MISSING for finding in wrong) else State.UNKNOWN
        fixes = dict.fromkeys(finding.fix for finding in wrong if finding.fix)
        return Finding(state, ", ".join(finding.text for finding in wrong), "; ".join(fixes))

    def _one(self, api: ClusterApi, path: str, name: str, environment: Environment) -> Finding:
        answer = api.get(f"{path}/{name}", metadata_only="secrets" in path)
        if answer.missing:
            return Finding(State.MISSING, f"{name}: not there", self.fix(environment, name))
        if not answer.found:
            return Finding(State.UNKNOWN, f"{name}: this account may not know ({answer.message})")
        with api.reading(f"{path}/{name}"):
            return self.judge(name, answer)


def _made_here(environment: Environment, name: str) -> str:
    return f"pulumi up -s {environment.name}"


def _namespace_fix(environment: Environment, name: str) -> str:
    return _made_here(environment, name) if environment.namespace.create else f"kubectl create namespace {name}"


def _queues(environment: Environment) -> Iterable[str]:
    return () if environment.admission == defaults.KUEUE else (defaults.QUEUE, *environment.queues)


def _queue_fix(environment: Environment, name: str) -> str:
    listed = environment.queues.get(name)
    return missing_queue_fix(name, environment.name, listed is not None and listed.create)


def _open(name: str, queue: Answer) -> Finding:
    """Volcano takes jobs into an open queue only."""
    state = queue.body.get("status", {}).get("state")
    if state == "Open":
        return Finding(State.OK, name)
    if not state:
        return Finding(
            State.MISSING, f"{name}: not opened yet", "look at the volcano-controllers deployment and its log"
        )
    return Finding(State.MISSING, f"{name}: is {state}", f"vcctl queue operate --action open --name {name}")


NAMED = {
    "namespace": Named("/api/v1/namespaces", lambda environment: [environment.namespace.name], _namespace_fix),
    "queues": Named(f"/apis/{QUEUE_API}/queues", _queues, _queue_fix, _open),
    "priority_classes": Named(
        "/apis/scheduling.k8s.io/v1/priorityclasses", lambda environment: environment.priority_classes, _made_here
    ),
    "storage_classes": Named(
        "/apis/storage.k8s.io/v1/storageclasses",
        lambda environment: environment.storage_classes.values(),
        lambda environment, name: f"correct `storage_classes` of {environment.name}: kubectl get storageclasses",
        verbs=("preview", "up", "environment"),
    ),
    "claims": Named(
        "/api/v1/namespaces/{namespace}/persistentvolumeclaims", lambda environment: environment.claims, _made_here
    ),
    "pull_secrets": Named(
        "/api/v1/namespaces/{namespace}/secrets",
        lambda environment: environment.image_pull_secrets,
        lambda environment, name: f"kubectl create secret docker-registry NAME -n {environment.namespace.name}",
    ),
}


def look_at_local_queues(asked: Asked, findings: Findings) -> Finding:
    """With Kueue's admission experiments name queues of the namespace."""
    namespace = of(asked).namespace.name
    kueue = next(operator for operator in OPERATORS if operator.name == defaults.KUEUE)
    api, path = connection(findings), f"/apis/{kueue.api_version}/namespaces/{namespace}/localqueues"
    answer = api.get(path)
    if not answer.found:
        return Finding(State.UNKNOWN, f"this account may not know ({answer.message})")
    with api.reading(path):
        names = [str(item["metadata"]["name"]) for item in answer.body["items"]]
    if not names:
        return Finding(State.MISSING, f"there is no LocalQueue in the namespace {namespace}")
    return Finding(State.OK, ", ".join(names))
