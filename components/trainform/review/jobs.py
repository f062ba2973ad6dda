"""The training jobs of a preview, each with what is deployed and what will be, as its records say."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from trainform.backends.table import BACKENDS
from trainform.errors import ClusterError
from trainform.manifests.manifest import RECORD_KEY
from trainform.plan.record import Record, read_record
from trainform.review.context import JobReview
from trainform.review.preview import Preview, State, Step
from trainform.review.read import COMPONENT
from trainform.review.stand_ins import UNKNOWN

NO_JOBS = ("CronJob", "JobTemplate", "Flow")
RECORD_TYPE = "kubernetes:core/v1:ConfigMap"


def jobs_of(preview: Preview) -> tuple[JobReview, ...]:
    """Every training job by its name: components `TrainingJob`, and job objects of other programs."""
    steps = preview.steps
    children = _children(steps)
    components = [step for step in steps if step.type == COMPONENT]
    of_components = [_of_component(step, (*_below(step, children),)) for step in components]
    taken = {id(step) for job in of_components for step in job.steps}
    alone = [_of_object(step) for step in steps if is_job(step) and id(step) not in taken]
    return tuple(sorted((*of_components, *alone), key=lambda job: job.name))


@functools.cache
def job_kinds() -> frozenset[str]:
    """`GROUP/KIND` of every operator's job objects: those that make pods, without templates, runtimes and what makes
    jobs at times."""
    kinds = {
        group_and_kind: group_and_kind.rpartition("/")[2]
        for backend in BACKENDS.values()
        for group_and_kind in backend.PODS
    }
    return frozenset(key for key, kind in kinds.items() if "Job" in kind and not kind.endswith(NO_JOBS))


def is_job(step: Step) -> bool:
    """True for the job object of an operator, whoever wrote it."""
    if not step.is_object:
        return False
    group, _, _ = step.type.removeprefix("kubernetes:").partition("/")
    return f"{group}/{step.kind}" in job_kinds()


def _children(steps: Iterable[Step]) -> Mapping[str, list[Step]]:
    children: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        children[step.state.parent].append(step)
    return children


def _below(component: Step, children: Mapping[str, list[Step]]) -> Iterator[Step]:
    """Everything that the component has, in the preview's order of each level. A preview may be wrong: no step is given
    twice."""
    seen = {component.urn}
    waiting = [component.urn]
    while waiting:
        for step in children.get(waiting.pop(0), ()):
            yield step
            if step.urn not in seen:
                seen.add(step.urn)
                waiting.append(step.urn)


def _of_component(component: Step, steps: tuple[Step, ...]) -> JobReview:
    job = _current(step for step in steps if is_job(step))
    record = _current(
        step for step in steps if step.type == RECORD_TYPE and step.name == f"{component.name}-{RECORD_KEY}"
    )
    old, new = (None, None) if record is None else (record.old, record.new)
    before, not_before = _record(old, f"what is deployed of {component.name}")
    after, not_after = _record(new, f"what will be deployed of {component.name}")
    return JobReview(component.name, component, job, before, after, steps, (*not_before, *not_after))


def _of_object(job: Step) -> JobReview:
    metadata = job.state.inputs.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return JobReview(name if isinstance(name, str) else job.name, None, job, None, None, (job,))


def _current(steps: Iterable[Step]) -> Step | None:
    """The one that the stack has, beside which one that an earlier `up` has left may be deleted."""
    return min(steps, key=lambda step: step.operation == "delete", default=None)


def _record(state: State | None, what: str) -> tuple[Record | None, tuple[str, ...]]:
    """The record in a state of its ConfigMap; None and why if it cannot be read. Another version of trainform may have
    written it."""
    if state is None:
        return None, ()
    data = state.inputs.get("data")
    if data == UNKNOWN or (isinstance(data, dict) and UNKNOWN in data.values()):
        return None, (f"The record of {what} is known only after apply.",)
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        return None, (f"The record of {what} cannot be read: its data is a secret or no text.",)
    try:
        return read_record({"metadata": {"name": what}, "data": data}), ()
    except ClusterError as error:
        reason = error.message.rpartition("cannot be read: ")[2]
        return None, (f"The record of {what} cannot be read: {reason}.",)
