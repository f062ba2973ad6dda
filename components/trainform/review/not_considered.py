"""What decides about room for pods and capacity does not judge, as sentences: where it is said, a verdict that they fit may be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review.context import Context, JobReview
from trainform.review.objects import places_pods, templates_of
from trainform.rules.limits.affinity import REQUIRED

BETWEEN_PODS = {"podAffinity": "pod affinity", "podAntiAffinity": "pod anti-affinity"}


def not_considered(context: Context) -> Iterator[str]:
    """What of the pods that need room was left out of account."""
    for job in filter(places_pods, context.jobs):
        yield from _of_pods(job, context)


def _of_pods(job: JobReview, context: Context) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    templates = templates_of(job, context.environment)
    for template in () if templates is None else templates:
        for rule in _rules(template):
            found.setdefault(rule, []).append(template.role)
    for rule, roles in found.items():
        yield f"The {rule} of the pods of {', '.join(dict.fromkeys(roles))} was not considered, so they may find less room."


def _rules(template: Template) -> Iterator[str]:
    """The rules of the pods that are about other pods."""
    affinity = mapping(template.spec.get("affinity"))
    yield from (name for part, name in BETWEEN_PODS.items() if mapping(affinity.get(part)).get(REQUIRED))
    spread = mappings(template.spec.get("topologySpreadConstraints"))
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spread):
        yield "topology spread"
