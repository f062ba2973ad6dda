"""The experiment and environment of a job on each side of a preview: from the record of what is deployed, else from the
inputs of the components."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from pydantic import ValidationError

from trainform import defaults
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.review.context import JobReview
from trainform.review.preview import State, Step
from trainform.spec.experiment import Experiment

COMPONENT = "trainform:index:"
MOST_JOBS = 256  # whose sides are kept
GIVEN_BY_PROGRAM = ("roles", "environment", "run")  # inputs of a `TrainingJob` that are no fields of an experiment
OF_PARTS = {"Rendezvous": "network", "SshIdentity": "ssh", "TrainingQueue": "queue"}
"""The field of the experiment that each component takes."""

Basis = Literal["record", "inputs"]


class Side(Struct, frozen=True, dict=True):
    """One side."""

    experiment: Mapping[str, Any]
    """With every default, if this version of trainform can read it."""
    environment: Mapping[str, Any]
    run: int
    basis: Basis
    """`record`: what is deployed. `inputs`: what an `up` asked for, which may have failed."""
    version: str | None = None
    """Version of the trainform that deployed it; None: unknown."""
    job: str = ""

    @functools.cached_property
    def model(self) -> Experiment | None:
        """The experiment; None if this version of trainform cannot read it."""
        try:
            return Experiment.model_validate(self.experiment, strict=False)
        except (ValidationError, RecursionError):
            return None

    @property
    def backend(self) -> str:
        """The operator that runs the job."""
        chosen = self.experiment.get("backend") or self.environment.get("backend")
        return chosen if isinstance(chosen, str) else defaults.BACKEND

    @functools.cached_property
    def resolved(self) -> Mapping[str, Any]:
        """The experiment with every default and one spelling of each value; as it was written if it cannot be read."""
        return self.experiment if self.model is None else resolved(self.model)


@functools.lru_cache(MOST_JOBS)  # most parts of the report ask for it
def before(job: JobReview) -> Side | None:
    """Return what is deployed; None if nothing is, or if it is unknown."""
    return _side(job, job.before, old=True)


@functools.lru_cache(MOST_JOBS)
def after(job: JobReview) -> Side | None:
    """Return what will be deployed; None if nothing will be, or if it is unknown."""
    return _side(job, job.after, old=False)


def compared(job: JobReview) -> tuple[Side | None, Side | None]:
    """Return both sides from one source: a record has every default, and inputs have none."""
    if job.before is not None and job.after is not None:
        return before(job), after(job)
    old, new = of_components(job, old=True), of_components(job, old=False)
    return (before(job), after(job)) if old is None or new is None else (old, new)


def _side(job: JobReview, record: Record | None, *, old: bool) -> Side | None:
    if record is None:
        return of_components(job, old=old)
    return Side(record.experiment, record.environment, record.run, "record", record.version, record.job)


def of_components(job: JobReview, *, old: bool) -> Side | None:
    """Return the inputs of the job's components, put together as in the two files; None if the job's own component does
    not exist on this side."""
    of_job = None if job.component is None else _state(job.component, old)
    if of_job is None:
        return None
    given = of_job.inputs
    experiment = {key: value for key, value in given.items() if key not in GIVEN_BY_PROGRAM}
    environment = {**_mapping(given.get("environment"))}
    roles: dict[str, Any] = {}
    for step in job.steps:
        state = _state(step, old)
        if state is None or not step.type.startswith(COMPONENT):
            continue
        inputs = {**state.inputs}
        for name, offered in _mapping(inputs.pop("environment", None)).items():
            environment[name] = {**_mapping(environment.get(name)), **_mapping(offered)}
        if step.kind == "RoleGroup":
            # `llama-eval--worker` is the role `eval-worker` of `llama`
            roles[step.name.removeprefix(f"{job.name}-").replace("--", "-")] = inputs
        elif step.kind == "SharedStorage":
            experiment["storage"] = _mapping(inputs.get("volumes"))
        elif step.kind in OF_PARTS and inputs:
            experiment[OF_PARTS[step.kind]] = inputs
    listed = given.get("roles")
    order = [name for name in listed if isinstance(name, str) and name in roles] if isinstance(listed, list) else []
    experiment["roles"] = {name: roles[name] for name in [*order, *sorted(roles.keys() - set(order))]}
    if experiment.get("backend") is None:
        environment.setdefault("backend", defaults.BACKEND)
    run = given.get("run", 1)
    return Side(experiment, environment, run if isinstance(run, int) else 1, "inputs")


def _state(step: Step, old: bool) -> State | None:
    return step.old if old else step.new


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
