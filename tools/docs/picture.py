"""The picture of an experiment of the repository, as the documents and the tests show it:
`docs/figures/picture.svg`."""

from __future__ import annotations

from pathlib import Path

from trainform.backends.table import BACKENDS
from trainform.check import check_experiment
from trainform.plan.build import chosen_backend
from trainform.review.model import Picture
from trainform.review.picture import svg
from trainform.review.picture.compare import compared
from trainform.review.picture.sketch import Seen, sketch

ROOT = Path(__file__).resolve().parents[2]
SHOWN = "llama-sft"


def picture_figure() -> str:
    """The SVG of the documents."""
    return svg.render(experiment_picture(SHOWN))


def experiment_picture(name: str) -> Picture:
    """The picture of an experiment in the environment `dev`, as it is: nothing in it changes."""
    job = check_experiment(name, "dev", 1, ROOT).job
    if job is None:
        raise ValueError(name)
    bodies = [manifest.body for manifest in job.manifests]
    seen = Seen(
        name,
        next(manifest.body for manifest in job.manifests if manifest.key == "job"),
        bodies,
        BACKENDS[chosen_backend(job.experiment, job.environment)].templates(job.plan, job.manifests),
        job.plan.queue.name,
        job.experiment,
        job.environment,
        frozenset(manifest.body["metadata"]["name"] for manifest in job.manifests if manifest.keep),
    )
    return compared(name, sketch(seen), sketch(seen))
