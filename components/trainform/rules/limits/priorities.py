"""The priority of pods and of jobs in their queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.errors import list_names
from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding, Raw
from trainform.spec.environment import Environment

SYSTEM_PREFIX = "system-"


def priority_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Priority classes that the environment does not allow, and priorities without a class."""
    of_pods = [(template, template.spec.get("priorityClassName")) for template in judged.templates]
    for template, name in of_pods:
        yield from _class(Finding("spec.priorityClassName", name, "", "", template), environment)
        if template.spec.get("priority") is not None:
            reason = "the pods set a priority as a number, which only a priority class may give"
            fix, raw = "remove it; write `priority_class`", Raw("spec.priority", "remove it; write `priorityClassName`")
            yield Finding(raw.where, template.spec["priority"], reason, fix, template, raw=raw)
    for named in judged.names:
        if named.what == "priority_class" and named.value not in [name for _, name in of_pods]:
            yield from _class(Finding(named.where, named.value, "", "", named.template, named.key), environment)
    for key, body in judged.of_kind("PriorityClass"):
        yield from _made(key, body, environment)


def _made(key: str, body: dict[str, Any], environment: Environment) -> Iterator[Finding]:
    """A priority class that an object makes."""
    name = mapping(body.get("metadata")).get("name")
    yield from _class(Finding("metadata.name", name, "", "", key=key), environment)
    if body.get("globalDefault") is True:
        reason = "the priority class is that of all pods of the cluster that name none"
        yield Finding("globalDefault", True, reason, "remove it; name the class in pods", key=key)
    listed = environment.priority_classes.get(str(name))
    if listed is not None and body.get("value") != listed.value:
        reason = (
            f"the priority class {name} belongs to the environment {environment.name}, which has {listed.value} here"
        )
        yield Finding("value", body.get("value"), reason, "change the environment's file instead", key=key)


def _class(finding: Finding, environment: Environment) -> Iterator[Finding]:
    """The finding with its words if the environment does not allow the class."""
    if finding.value in (None, ""):
        return
    limits, own = environment.limits, environment.priority_classes
    allowed = limits.priority_classes if limits.priority_classes is not None else list(own) if own else None
    name = str(finding.value)
    if name not in allowed if allowed is not None else name.startswith(SYSTEM_PREFIX):
        listed = f"any but {SYSTEM_PREFIX}…" if allowed is None else list_names(allowed) if allowed else "none"
        yield Finding(
            finding.where,
            finding.value,
            f"the environment {environment.name} does not allow this priority class (allowed: {listed})",
            "use another one, or ask the platform team for limits.priority_classes",
            finding.template,
            finding.key,
            everywhere=True,
        )
