"""Whether an edit of an environment's file changes what a stack applies."""

from __future__ import annotations

from pathlib import Path

from trainform.check import check_experiment
from trainform.plan.inputs import job_inputs
from trainform.render import RenderedJob
from trainform.spec.environment import Environment
from trainform.spec.load import Text, written_path
from trainform.spec.stack import Stack


def is_unaffected(chosen: Stack, before: str, root: Path) -> bool:
    """Return True if the stack's objects, and what its components are given, are the same with the environment's file
    as it is and as it was. before: its text. False where the experiment has a problem with either."""
    written = Text(written_path(Environment, chosen.environment), before)
    checked = [check_experiment(chosen.given, given, chosen.run, root) for given in (written, chosen.environment)]
    was, will = (None if each.problems or each.job is None else _applied(each.job) for each in checked)
    return was is not None and was == will


def _applied(job: RenderedJob) -> object:
    """What of a rendered job reaches the engine."""
    return job.manifests, job_inputs(job.experiment, job.environment, job.plan), job.environment.cluster
