"""The Secrets that pods of jobs without a component need: no preflight has looked for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainform.cluster.facts import AppliedObject, LiveFacts
from trainform.manifests.shapes import mapping
from trainform.review import steps
from trainform.review.context import JobReview
from trainform.review.objects import applied, metadata_of, places_pods
from trainform.review.preview import Preview

REFERENCES = (("secretKeyRef", "name"), ("secretRef", "name"), ("secret", "secretName"), ("secret", "name"))
"""Fields of pods that name a Secret, and the word in them that does."""


def needed_secrets(preview: Preview, jobs: Iterable[JobReview]) -> list[AppliedObject]:
    """Return the Secrets that new pods name and the preview does not have: those to look for in the cluster."""
    own = {applied(step.new).name for step in preview.steps if step.is_object and steps.kind(step) == steps.SECRET}
    found: dict[tuple[str, str], AppliedObject] = {}
    for job in jobs:
        if job.component is None and job.job is not None and places_pods(job):
            namespace = str(metadata_of(job.job.new).get("namespace", ""))
            for template in steps.templates(job.job, job.job.new):
                for name in _names(template.spec):
                    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
                    found[namespace, name] = AppliedObject({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    return [secret for (_, name), secret in found.items() if name not in own]


def missing_secrets(needed: Sequence[AppliedObject], live: LiveFacts | None) -> tuple[str, ...]:
    """Return the needed Secrets that the cluster does not have: `the Secret hf`."""
    missing = () if live is None else live.missing
    return tuple(f"the Secret {secret.name}" for secret in needed if f"Secret/{secret.name}" in missing)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for field, word in REFERENCES:
            named = mapping(value.get(field))
            if isinstance(named.get(word), str) and not named.get("optional"):
                yield named[word]
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(item)
