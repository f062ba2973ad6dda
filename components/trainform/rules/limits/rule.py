"""Rules and findings."""

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
