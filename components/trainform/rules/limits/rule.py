"""What a rule is, and what it finds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator

from msgspec import Struct

from trainform.errors import list_names
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment
from trainform.spec.limits import Severity

FINGERPRINT_DIGITS = 16  # of 8, two findings with the same can be searched for in a second


class Finding(Struct, frozen=True):
    """One thing that breaks a rule."""

    where: str
    """The path in the pod template, with items by their names (`spec.containers.main.image`), or in the object."""
    value: object  # None where it is not shown
    reason: str
    fix: str
    template: Template | None = None  # None if it is about an object, or about all pods together
    key: str | None = None  # of the object; None for pods
    bound: object = None  # what a waiver is bound to where the value is not all of it
    everywhere: bool = False  # several objects of a job repeat the value, and a waiver holds for all of them


def not_allowed(what: str, allowed: Collection[str], limit: str, environment: Environment) -> tuple[str, str]:
    """Return reason and fix for something that is not in a list of the environment's limits."""
    listed, instead = (list_names(allowed), "use an allowed one") if allowed else ("none", "remove it")
    reason = f"the environment {environment.name} does not allow {what} (allowed: {listed})"
    return reason, f"{instead}, or ask the platform team for limits.{limit}"


class Rule(Struct, frozen=True):
    """A rule: a pure function of rendered objects and the environment."""

    code: str  # its name for ever
    title: str  # what holds, as a sentence
    find: Callable[[Judged, Environment], Iterator[Finding]]
    limits: tuple[str, ...] = ()  # the fields of the environment that it reads
    severity: Severity = "error"  # where the environment does not set it
    fixed: bool = False  # the environment cannot lower the severity

    def severity_in(self, environment: Environment) -> Severity:
        """The severity of its findings in the environment."""
        return self.severity if self.fixed else environment.limits.severity.get(self.code, self.severity)


class Judgement(Struct, frozen=True):
    """A finding with its rule and its severity in the environment."""

    rule: Rule
    severity: Severity
    finding: Finding

    def fingerprint(self, owner: str) -> str:
        """What a waiver is bound to: it changes with the rule, the place or the value, and not with the revision of the
        job. Where no value is shown, the reason stands for it, and `bound` for both. owner: the name of the experiment
        or of the object."""
        finding = self.finding
        part = finding.key if finding.template is None else finding.template.role
        shown = finding.reason if finding.value is None else finding.value
        found = shown if finding.bound is None else finding.bound
        place = (None, "") if finding.everywhere else (part, finding.where)
        identity = [self.rule.code, owner, *place, found]
        text = json.dumps(identity, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]
