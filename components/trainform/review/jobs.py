"""The training jobs of a preview, each with the records of what is deployed and what will be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from trainform.backends.backend import JOB_TYPES, PLAIN_JOB
from trainform.console.lines import UNKNOWN
from trainform.console.sections import sentence
from trainform.errors import ClusterError
from trainform.manifests.manifest import RECORD_KEY
from trainform.plan.record import Record, read_record
from trainform.review import steps
from trainform.review.context import JobReview
from trainform.review.preview import Preview, State, Step
from trainform.review.read import COMPONENT

RECORD_TYPE = "kubernetes:core/v1:ConfigMap"


def jobs_of(preview: Preview) -> tuple[JobReview, ...]:
    """Return every training job by its name: components `TrainingJob`, and operators' job objects of other programs."""
    children: dict[str, list[Step]] = defaultdict(list)
    for step in preview.steps:
        children[step.state.parent].append(step)
    components = [step for step in preview.steps if step.type == COMPONENT]
    of_components = [_of_component(step, (*_below(step, children),)) for step in components]
    taken = {id(step) for job in of_components for step in job.steps}
    alone = [
        JobReview(steps.name(step), None, step, None, None, (step,))
        for step in preview.steps
        if is_job(step) and id(step) not in taken and step.type != f"kubernetes:{PLAIN_JOB}"
    ]
    return tuple(sorted((*of_components, *alone), key=lambda job: job.name))


def is_job(step: Step) -> bool:
    """Return True for the job object of an operator, also of another program."""
    return step.is_object and step.type.removeprefix("kubernetes:") in JOB_TYPES


def _below(component: Step, children: Mapping[str, list[Step]]) -> Iterator[Step]:
    """All steps below the component, in the preview's order of each level. A preview may be wrong: each step once."""
    level, left = [component.urn], {**children}
    while level:
        below = [step for urn in level for step in left.pop(urn, ())]
        yield from below
        level = [step.urn for step in below]


def _of_component(component: Step, below: tuple[Step, ...]) -> JobReview:
    name = component.name
    job = _current(step for step in below if is_job(step))
    record = _current(step for step in below if step.type == RECORD_TYPE and step.name == f"{name}-{RECORD_KEY}")
    before, not_before = _record(None if record is None else record.old, name)
    after, not_after = _record(None if record is None else record.new, name)
    return JobReview(name, component, job, before, after, below, tuple(dict.fromkeys((*not_before, *not_after))))


def _current(found: Iterable[Step]) -> Step | None:
    """Return the step of the current resource; one that an earlier `up` has left may be deleted next to it."""
    return min(found, key=lambda step: step.operation == "delete", default=None)


def _record(state: State | None, name: str) -> tuple[Record | None, tuple[str, ...]]:
    """Return the record in a state of its ConfigMap; None and the reason if it cannot be read."""
    if state is None:
        return None, ()
    data = state.inputs.get("data")
    if not isinstance(data, dict) or not all(isinstance(text, str) and text != UNKNOWN for text in data.values()):
        return None, (f"The record of what is deployed of {name} cannot be read: its data is secret or unknown.",)
    try:
        return read_record({"metadata": {"name": f"{name}-{RECORD_KEY}"}, "data": data}), ()
    except ClusterError as error:
        return None, (sentence(error.message),)
