"""Parts of what `render_job` gives, for tests that look at one of them."""

from __future__ import annotations

from trainform.errors import InputError, Problem
from trainform.job.render import render_job
from trainform.plan.model import Plan
from trainform.rules.references import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def job_problems(experiment: Experiment, environment: Environment, run: int = 1) -> list[Problem]:
    """Return every problem of the experiment in the environment."""
    return list(render_job(experiment, environment, run).problems)


def plan_job(experiment: Experiment, environment: Environment, run: int = 1) -> Plan:
    """Return the plan of two valid models; InputError with the problems of both."""
    job = render_job(experiment, environment, run)
    problems = [*environment_problems(environment), *job.problems]
    if problems:
        raise InputError(problems)
    return job.plan
