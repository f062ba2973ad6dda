"""Rules, their findings, and what they judge: objects as they are applied, and the pods that they create."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from msgspec import Struct

from trainform.errors import list_names
from trainform.manifests.templates import Template
from trainform.spec.environment import Environment
from trainform.spec.limits import Severity
from trainform.spec.queue_fields import QueueRequest

ADD_ON, CACHE = "add-on", "cache"


class Named(Struct, frozen=True):
    """Something other than pods that an object, or the metadata of its pods, names or asks the operator for."""

    what: str
    """`queue`, `priority_class`, `ttl` (seconds until a job is deleted after its end), `manager` (a controller),
    `CACHE` (of data), or `ADD_ON` (containers, images and volumes that an operator adds)."""
    admission: str | None  # the admission that reads it; None for the operator
    where: str
    value: object  # None if it is not set and the default counts
    key: str | None = None  # of the object
    template: Template | None = None  # the pods whose metadata name it


class Judged(Struct, frozen=True):
    """Objects that are judged together: those of an experiment or of an environment, or one object of a program."""

    objects: dict[str, dict[str, Any]]  # by `Manifest.key`
    templates: tuple[Template, ...]  # with merge patches applied
    written: dict[str, Any] = {}
    """The user's file as plain data: inputs of components keep all of it, also a patch that another one undoes."""
    queue: str | None = None  # of the pods
    own_queue: QueueRequest | None = None  # of the experiment
    names: tuple[Named, ...] = ()
    kept: frozenset[str] = frozenset()  # keys of objects that `destroy` keeps
    ranked: frozenset[str] | None = None  # roles whose pods have a rank; None if all may
    admitted: bool = True  # False if the backend does not support the environment's admission, which its rule reports

    def containers(self) -> Iterator[tuple[Template, str, dict[str, Any]]]:
        """Yield every container with its template and its path in it."""
        for template in self.templates:
            for where, container in template.named_containers:
                yield template, where, container

    def of_kind(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the objects of the kind, each with its key."""
        return ((key, body) for key, body in self.objects.items() if body.get("kind") == kind)


FINGERPRINT_DIGITS = 16  # with 8, a collision can be found in a second


class Finding(Struct, frozen=True):
    """One violation of a rule."""

    where: str
    """The path in the pod template, with items by their names (`spec.containers.main.image`), or in the object."""
    value: object  # None if it is not shown
    reason: str
    fix: str
    template: Template | None = None  # None if it is about an object, or about all pods together
    key: str | None = None  # of the object; None for pods
    bound: object = None  # data to which a waiver is bound instead of the value
    everywhere: bool = False  # several objects of a job repeat the value, and a waiver holds for all of them


def not_allowed(what: str, allowed: Collection[str], limit: str, environment: Environment) -> tuple[str, str]:
    """Return reason and fix for a value that is not in a list of the environment's limits."""
    listed, instead = (list_names(allowed), "use an allowed one") if allowed else ("none", "remove it")
    reason = f"the environment {environment.name} does not allow {what} (allowed: {listed})"
    return reason, f"{instead}, or ask the platform team for limits.{limit}"


class Rule(Struct, frozen=True):
    """A rule: a pure function of rendered objects and the environment."""

    code: str  # never changes
    title: str  # the rule as a sentence
    find: Callable[[Judged, Environment], Iterator[Finding]]
    limits: tuple[str, ...] = ()  # the fields of the environment that it reads
    severity: Severity = "error"  # unless the environment sets another one
    fixed: bool = False  # the environment cannot lower the severity

    def severity_in(self, environment: Environment) -> Severity:
        """Return the severity of its findings in the environment."""
        return self.severity if self.fixed else environment.limits.severity.get(self.code, self.severity)


class Judgement(Struct, frozen=True):
    """A finding with its rule and its severity in the environment."""

    rule: Rule
    severity: Severity
    finding: Finding

    def fingerprint(self, owner: str) -> str:
        """Return the hash to which a waiver is bound. owner: the name of the experiment or of the object.

        It changes with the rule, the place and `bound`, or else the value, or else the reason. It does not change with
        the revision of the job.
        """
        finding = self.finding
        part = finding.key if finding.template is None else finding.template.role
        shown = finding.reason if finding.value is None else finding.value
        bound = shown if finding.bound is None else finding.bound
        place = (None, "") if finding.everywhere else (part, finding.where)
        identity = [self.rule.code, owner, *place, bound]
        text = json.dumps(identity, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]
