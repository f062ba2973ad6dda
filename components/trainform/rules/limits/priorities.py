"""The priority of pods and of jobs in their queue."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

SYSTEM_PREFIX = "system-"


def priority_classes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Priority classes that the environment does not allow, and priorities without a class."""
    of_pods = [(template, template.spec.get("priorityClassName")) for template in judged.templates]
    for template, name in of_pods:
        yield from _class(Finding("spec.priorityClassName", name, "", "", template), environment)
        if template.spec.get("priority") is not None:
            reason = "the pods set a priority as a number, which only a priority class may give"
            fix = "remove it; write `priority_class`"
            yield Finding("spec.priority", template.spec["priority"], reason, fix, template)
    for named in judged.names:
        if named.what == "priority_class" and named.value not in [name for _, name in of_pods]:
            yield from _class(Finding(named.where, named.value, "", "", named.template, named.key), environment)


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
