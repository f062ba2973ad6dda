"""The Secrets that pods of jobs without a component need: no preflight has looked for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainform.cluster.facts import AppliedObject, LiveFacts
from trainform.manifests.named_objects import named_objects
from trainform.review import steps
from trainform.review.context import JobReview
from trainform.review.objects import applied, metadata_of, places_pods
from trainform.review.preview import Preview


def needed_secrets(preview: Preview, jobs: Iterable[JobReview]) -> list[AppliedObject]:
    """Return the Secrets that new pods name and the preview does not have: those to look for in the cluster."""
    own = {applied(step.new).name for step in preview.steps if step.is_object and steps.kind(step) == steps.SECRET}
    found: dict[tuple[str, str], AppliedObject] = {}
    for job in jobs:
        if job.component is None and job.job is not None and places_pods(job):
            namespace = str(metadata_of(job.job.new).get("namespace", ""))
            for template in steps.templates(job.job, job.job.new):
                for named in named_objects(template.spec):
                    if named.kind == "Secret" and not named.optional:
                        metadata = {"name": named.name, **({"namespace": namespace} if namespace else {})}
                        body = {"apiVersion": "v1", "kind": named.kind, "metadata": metadata}
                        found[namespace, named.name] = AppliedObject(body)
    return [secret for (_, name), secret in found.items() if name not in own]


def missing_secrets(needed: Sequence[AppliedObject], live: LiveFacts | None) -> tuple[str, ...]:
    """Return the needed Secrets that the cluster does not have: `the Secret hf`."""
    missing = () if live is None else live.missing
    return tuple(f"the Secret {secret.name}" for secret in needed if f"Secret/{secret.name}" in missing)
