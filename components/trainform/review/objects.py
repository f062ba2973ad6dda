"""The objects of a job in a preview: their bodies, its pods and its queue, and what to ask the cluster about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from trainform import defaults
from trainform.backends.judged import named
from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.backends.table import BACKENDS
from trainform.cluster.facts import AppliedObject, AskedJob
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.plan.build import chosen_backend
from trainform.plan.record import Record
from trainform.render import render_job
from trainform.review.context import Context, JobReview
from trainform.review.preview import Preview, State, Step
from trainform.review.stand_ins import CHANGED_MASK, MASKED, UNKNOWN
from trainform.rules.limits.demands import Demand, demands
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

LEFT_ALONE = frozenset({"same", "read", "refresh"})
"""Operations that change nothing in the cluster."""
QUEUE_KINDS = frozenset({"Queue", "QueuePatch"})
OF_QUEUES = f"kubernetes:{QUEUE_API.partition('/')[0]}/"
HIDDEN = frozenset({MASKED, CHANGED_MASK, UNKNOWN})


def body_of(state: State | None) -> dict[str, Any]:
    """The object of the state; empty if there is none."""
    return {} if state is None else dict(state.inputs)


def metadata_of(state: State | None) -> dict[str, Any]:
    """The metadata of the object."""
    return mapping(body_of(state).get("metadata"))


def places_pods(job: JobReview) -> bool:
    """True if the engine makes or replaces the job object, or changes in place how many pods it has."""
    step = job.job
    if step is None or step.new is None or step.operation in LEFT_ALONE:
        return False
    return step.operation != "update" or step.old is None or _numbers(step.old) != _numbers(step.new)


def _numbers(state: State) -> list[tuple[str, int, int]]:
    found = (pods.template for pods in state.pods)
    return [(template.role, template.replicas, template.min_available) for template in found]


def own_names(job: JobReview) -> set[str]:
    """NAMESPACE/NAME of the job object, before and after."""
    states = [] if job.job is None else [job.job.old, job.job.new]
    found = [metadata_of(state) for state in states if state is not None]
    return {f"{metadata.get('namespace', '')}/{metadata.get('name', '')}" for metadata in found}


def states_of(job: JobReview, *, after: bool) -> list[State]:
    """The objects of the job, before or after."""
    steps = dict.fromkeys(step.urn for step in job.steps)
    every = [*job.steps, *([job.job] if job.job is not None and job.job.urn not in steps else [])]
    states = [step.new if after else step.old for step in every if step.is_object]
    return [state for state in states if state is not None]


def queue_of(job: JobReview, *, after: bool) -> str:
    """The queue of Volcano's in which the pods wait, before or after; "" if they wait in none."""
    found = _queue_names(job, defaults.VOLCANO, after=after)
    if found and not any(found):
        return "" if local_queue_of(job, after=after) else defaults.QUEUE
    return next(filter(None, found), "")


def local_queue_of(job: JobReview, *, after: bool) -> str:
    """The queue of Kueue's in which the job waits; "" if it waits in none."""
    return next(filter(None, _queue_names(job, defaults.KUEUE, after=after)), "")


def _queue_names(job: JobReview, admission: str, *, after: bool) -> list[str]:
    """The names of queues in the objects; "" for one that is not said, or not known."""
    return [
        "" if name.value in (None, UNKNOWN) else str(name.value)
        for state in states_of(job, after=after)
        for name in named({"": body_of(state)}, [pods.template for pods in state.pods])
        if name.what == "queue" and name.admission == admission
    ]


def templates_of(job: JobReview, environment: Environment | None, *, after: bool = True) -> list[Template] | None:
    """The pods of the job; None if they are not known. Where several objects say together what the pods are, the record
    is rendered anew."""
    found = [pods for state in states_of(job, after=after) for pods in state.pods]
    if found and not any(pods.elsewhere or pods.job for pods in found):
        return [pods.template for pods in found]
    record = job.after if after else job.before
    return None if record is None or environment is None else _rendered(record, environment)


def _rendered(record: Record, environment: Environment) -> list[Template] | None:
    try:
        experiment = Experiment.model_validate_json(json.dumps(record.experiment))  # dates are texts in a record
    except ValidationError:
        return None  # another version of trainform has written it
    rendered = render_job(experiment, environment, record.run)
    return BACKENDS[chosen_backend(experiment, environment)].templates(rendered.plan, rendered.manifests)


def demands_of(job: JobReview, environment: Environment | None, *, after: bool) -> list[Demand] | None:
    """The accelerators that the pods ask for, with the user's merge patches; None if the pods are not known, or if the
    environment now has other kinds or resources than they were made with."""
    record = job.after if after else job.before
    roles = {} if record is None else mapping(record.experiment.get("roles"))
    kinds = {str(kind) for role in roles.values() for kind in mapping(mapping(role).get("accelerators"))}
    if environment is None or not kinds <= environment.accelerators.keys():
        return None
    templates = templates_of(job, environment, after=after)
    resources = {kind.resource for kind in environment.accelerators.values()}
    if templates is None or not any(resources & template.resources() for template in templates):
        return None
    return demands(Judged({}, tuple(templates)), environment)


def accelerators_of(asked: Iterable[Demand] | None, roles: Any) -> Counter[str]:
    """How many accelerators of each kind the pods ask for together; where that is not known, how many the roles of the
    experiment have."""
    counts: Counter[str] = Counter()
    for demand in () if asked is None else asked:
        counts[demand.kind] += demand.total
    return accelerators_of_roles(roles) if asked is None else +counts


def queue_steps(preview: Preview) -> Iterator[tuple[str, Step]]:
    """The queues of Volcano's in the preview: the name of each, and its step."""
    for step in preview.steps:
        if step.type.startswith(OF_QUEUES) and step.kind in QUEUE_KINDS:
            yield str(metadata_of(step.state).get("name", "")), step


# --- what to ask the cluster


class Asked(Struct, frozen=True):
    """What to read of the cluster, for `cluster.live.LiveReads`."""

    jobs: tuple[AskedJob, ...]
    queues: tuple[str, ...]
    objects: tuple[AppliedObject, ...]


def asked_of(preview: Preview, jobs: Sequence[JobReview]) -> Asked:
    """The jobs, queues and objects of the preview. An object that only the program reads, or that does not exist yet,
    is not asked for."""
    context = Context("", preview, tuple(jobs))
    return Asked(
        tuple(_asked_jobs(jobs)),
        tuple(sorted(queues_of(context))),
        tuple(applied(step.old) for step in preview.steps if step.is_object and _is_deployed(step)),
    )


def queues_of(context: Context) -> set[str]:
    """The names of all queues that the preview has, and that its jobs wait in."""
    waited = {queue_of(job, after=after) for job in context.jobs for after in (False, True)}
    return (waited | {name for name, _ in queue_steps(context.preview)}) - {""}


def _asked_jobs(jobs: Iterable[JobReview]) -> Iterator[AskedJob]:
    for job in jobs:
        if job.job is not None and job.job.old is not None:
            experiment = "" if job.before is None else str(job.before.experiment.get("name", ""))
            yield AskedJob(applied(job.job.old), experiment)


def _is_deployed(step: Step) -> bool:
    return step.old is not None and step.old.id is not None and step.operation != "read"


def applied(state: State | None) -> AppliedObject:
    """The object of the state as it was applied, without what cannot be compared."""
    return AppliedObject(_without_hidden(body_of(state)))


def _without_hidden(value: Any) -> Any:
    """The value without what is secret or not known: it cannot be compared."""
    if isinstance(value, Mapping):
        return {key: _without_hidden(item) for key, item in value.items() if not _is_hidden(item)}
    return [_without_hidden(item) for item in value] if isinstance(value, list) else value


def _is_hidden(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, str) and item in HIDDEN for item in items)
