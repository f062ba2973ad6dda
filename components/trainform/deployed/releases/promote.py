"""Make a release of what is deployed. Pure functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome
from trainform.deployed.releases.release import Origin
from trainform.deployed.releases.source import Source
from trainform.deployed.updates import Update
from trainform.errors import Problem, TrainformError, list_names
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import mapping
from trainform.plan.images import digest_of, named_images, pinned, pulled
from trainform.plan.inputs import parse_dates, resolve_with_overlays, resolved
from trainform.plan.record import Record
from trainform.spec.experiment import Experiment

UNKNOWN = "unknown"  # of a job that the cluster has no more


def experiment_of(source: Source) -> dict[str, Any]:
    """Return the experiment of a release: for all environments, with every default and the digests that were run."""
    model = recorded(source.record, source.stack)
    return experiment_for_release(pinned(model, source.ran, source.record.environment.get("registries", {})))


def recorded(record: Record, stack: str) -> Experiment:
    """Return the deployed experiment with its overlays. TrainformError if this version cannot read it."""
    try:
        return Experiment.model_validate(parse_dates(record.whole))
    except (ValueError, TypeError, AttributeError):
        by = "an unknown version of trainform" if record.version is None else f"trainform {record.version}"
        raise TrainformError(
            f"what is deployed in {stack} was recorded by {by}, and cannot be read by this version",
            f"`pulumi up -s {stack.rpartition('/')[2]}` records it again, or use that version",
        ) from None


def experiment_for_release(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment with every default, as a release has it."""
    return parse_dates(resolve_with_overlays(experiment) if experiment.environments else resolved(experiment))


def origin(
    stack: str,
    environment: str,
    record: Record,
    update: Update,
    outcome: Outcome | None = None,
    seconds: int | None = None,
) -> Origin:
    """Return where a record was deployed. The parent is the release that the stack followed then."""
    return Origin(
        stack=stack,
        environment=environment,
        revision=record.revision,
        run=record.run,
        version=record.version,
        commit=update.commit or None,
        dirty=update.dirty,
        updated=update.ended or None,
        parent=update.release or None,
        outcome=UNKNOWN if outcome is None else outcome.word,
        seconds=seconds,
    )


def unpinned(job: RenderedJob, source: Source) -> Iterator[Problem]:
    """Yield a problem for each image of the target's pods without a digest."""
    for path, image in _images_of_pods(job).items():
        if digest_of(image) is None:
            fix = "write its digest, IMAGE@sha256:…, run `pulumi up` of the source, and promote that"
            yield Problem(path, image, _why(image, source), fix)


def not_of_source(job: RenderedJob, source: Source) -> dict[str, str]:
    """Return the images of the target's pods whose digest the source has neither named nor run, by their paths."""
    images = *named_images(source.record.experiment).values(), *source.ran, *itertools.chain(*source.ran.values())
    known = {digest_of(image) for image in images}
    return {path: image for path, image in _images_of_pods(job).items() if digest_of(image) not in known}


def _images_of_pods(job: RenderedJob) -> dict[str, str]:
    """Return the images that the experiment names and its pods have, by their paths."""
    templates = BACKENDS[job.plan.backend].templates(job.plan, job.manifests)
    used = {name for template in templates for name in _names(template.spec)}
    named = named_images(resolved(job.experiment)).items()
    return {path: image for path, image in named if pulled(image, job.environment.registries) in used}


def _names(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the images of a pod, also of its volumes."""
    for field in ("containers", "initContainers"):
        yield from (str(container.get("image", "")) for container in spec.get(field, []))
    yield from (str(mapping(volume.get("image")).get("reference", "")) for volume in spec.get("volumes", []))


def _why(image: str, source: Source) -> str:
    name = pulled(image, source.record.environment.get("registries", {}))
    ran: Sequence[str] = sorted(source.ran.get(name, ()))
    if not ran:
        return "the image has no digest, and the cluster has no pod of the source that has run it"
    return f"the image has no digest, and the nodes of the source have run it as {list_names(ran)}"
