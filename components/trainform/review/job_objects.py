"""The objects of a job in a preview: their bodies, its pods and its queue, and what to read of the cluster for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.backends.admission import QUEUE_LABEL
from trainform.backends.backend import BACKENDS
from trainform.backends.judged import named
from trainform.cluster.facts import AppliedObject, LiveFacts, RequestedJob
from trainform.cluster.phases import is_suspended as asks_for_no_pods
from trainform.console.lines import CHANGED_MASK, MASK, UNKNOWN
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.job.render import render_job
from trainform.manifests.manifest import mapping
from trainform.manifests.templates import Template, named_objects
from trainform.plan.build import chosen_backend
from trainform.review import steps
from trainform.review.context import JobReview
from trainform.review.preview import Preview, State, Step
from trainform.rules.limits.resources import Demand, demands
from trainform.rules.limits.rule import Judged
from trainform.spec.environment import Environment

QUEUE_KINDS = ("Queue", "QueuePatch")
OF_QUEUES = f"kubernetes:{QUEUE_API.partition('/')[0]}/"


def body_of(state: State | None) -> dict[str, Any]:
    """Return the object of the state; empty if there is none."""
    return {} if state is None else dict(state.inputs)


def metadata_of(state: State | None) -> dict[str, Any]:
    """Return the metadata of the object."""
    return mapping(body_of(state).get("metadata"))


def is_suspended(state: State | None) -> bool:
    """Return True if the object suspends its job. Kueue suspends and resumes the jobs of its queues itself."""
    return asks_for_no_pods(body_of(state)) and QUEUE_LABEL not in mapping(metadata_of(state).get("labels"))


def places_pods(job: JobReview) -> bool:
    """Return True if the engine creates, replaces or resumes the job object, or changes in place how many pods it
    has."""
    step = job.job
    if step is None or step.new is None or steps.action(step) == "none" or is_suspended(step.new):
        return False
    if step.operation != "update" or step.old is None or is_suspended(step.old):
        return True
    return _numbers(step.old) != _numbers(step.new)


def _numbers(state: State) -> list[tuple[str, int, int]]:
    return [(pods.template.role, pods.template.replicas, pods.template.min_available) for pods in state.pods]


def own_names(job: JobReview) -> set[str]:
    """Return NAMESPACE/NAME of the job object, before and after."""
    states = () if job.job is None else filter(None, (job.job.old, job.job.new))
    return {f"{data.get('namespace', '')}/{data.get('name', '')}" for data in map(metadata_of, states)}


def states_of(job: JobReview, *, after: bool) -> list[State]:
    """Return the objects of the job, before or after."""
    found = {step.urn: step for step in [*job.steps, *([] if job.job is None else [job.job])]}
    states = (step.new if after else step.old for step in found.values() if step.is_object)
    return [state for state in states if state is not None]


def queue_of(job: JobReview, *, after: bool) -> str:
    """Return Volcano's queue in which the pods wait, before or after; "" if they wait in none."""
    found = _queue_names(job, defaults.VOLCANO, after=after)
    if found and not any(found):
        pods = (each for state in states_of(job, after=after) for each in state.pods)
        return defaults.QUEUE if any(each.template.scheduled_by == defaults.VOLCANO for each in pods) else ""
    return next(filter(None, found), "")


def local_queue_of(job: JobReview, *, after: bool) -> str:
    """Return Kueue's queue in which the job waits; "" if it waits in none."""
    return next(filter(None, _queue_names(job, defaults.KUEUE, after=after)), "")


def _queue_names(job: JobReview, admission: str, *, after: bool) -> list[str]:
    """Return the names of queues in the objects; "" for one that is not set. One that is unknown is the job's own new
    queue: the job has it as an output."""
    own = next((steps.name(step) for step in steps.of_kind(job.steps, steps.QUEUE)), "")
    return [
        own if name.value == UNKNOWN else "" if name.value is None else str(name.value)
        for state in states_of(job, after=after)
        for name in named({"": body_of(state)}, [pods.template for pods in state.pods])
        if name.what == "queue" and name.admission == admission
    ]


def templates_of(job: JobReview, environment: Environment | None, *, after: bool = True) -> list[Template] | None:
    """Return the pods of the job; None if unknown. If several objects define them together, render the record again."""
    found = [pods for state in states_of(job, after=after) for pods in state.pods]
    if found and not any(pods.elsewhere or pods.job for pods in found):
        return [pods.template for pods in found]
    record = job.after if after else job.before
    if record is None or record.model is None or environment is None:
        return None
    rendered = render_job(record.model, environment, record.run)
    return BACKENDS[chosen_backend(record.model, environment)].templates(rendered.plan, rendered.manifests)


def demands_of(job: JobReview, environment: Environment | None, *, after: bool) -> list[Demand] | None:
    """Return the accelerators that the pods ask for; None if unknown, or if the environment has other kinds now."""
    record = job.after if after else job.before
    roles = {} if record is None else mapping(record.experiment.get("roles"))
    kinds = {str(kind) for role in roles.values() for kind in mapping(mapping(role).get("accelerators"))}
    if environment is None or not kinds <= environment.accelerators.keys():
        return None
    templates = templates_of(job, environment, after=after)
    resources = {kind.resource for kind in environment.accelerators.values()}
    if templates is None or not any(resources & template.resources for template in templates):
        return None
    return demands(Judged({}, tuple(templates)), environment)


def accelerators_of(asked: Iterable[Demand] | None, roles: Any) -> Counter[str]:
    """Return how many accelerators of each kind the pods ask for; if unknown, how many the experiment's roles have."""
    if asked is None:
        return accelerators_of_roles(roles)
    counts: Counter[str] = Counter()
    for demand in asked:
        counts[demand.kind] += demand.total
    return +counts


def queue_steps(preview: Preview) -> Iterator[tuple[str, Step]]:
    """Return Volcano's queues in the preview: the name of each, and its step."""
    for step in preview.steps:
        if step.type.startswith(OF_QUEUES) and step.kind in QUEUE_KINDS:
            yield str(metadata_of(step.state).get("name", "")), step


# --- what to read of the cluster


class Asked(Struct, frozen=True):
    """The objects to read of the cluster, for `cluster.live.LiveReads`."""

    jobs: tuple[RequestedJob, ...]
    queues: tuple[str, ...]
    objects: tuple[AppliedObject, ...]


def asked_of(preview: Preview, jobs: Sequence[JobReview]) -> Asked:
    """Return the jobs, queues and objects of the preview, without what the program only reads or creates."""
    of_jobs = [
        RequestedJob(applied(job.job.old), "" if job.before is None else str(job.before.experiment.get("name", "")))
        for job in jobs
        if job.job is not None and job.job.old is not None
    ]
    deployed = (
        step.old
        for step in preview.steps
        if step.is_object and step.operation != "read" and step.old is not None and step.old.id is not None
    )
    queues = {queue_of(job, after=after) for job in jobs for after in (False, True)}
    queues |= {name for name, _ in queue_steps(preview)}
    return Asked(tuple(of_jobs), tuple(sorted(queues - {""})), tuple(map(applied, deployed)))


def applied(state: State | None) -> AppliedObject:
    """Return the object of the state as it was applied, without secret and unknown values."""
    return AppliedObject(_without_hidden(body_of(state)))


def _without_hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_hidden(item) for key, item in value.items() if not _is_hidden(item)}
    return [_without_hidden(item) for item in value] if isinstance(value, list) else value


def _is_hidden(value: Any) -> bool:
    """Return whether a mask is in the text: also one in the JSON of a record cannot be compared."""
    items = value if isinstance(value, list) else [value]
    return any(mask in item for item in items if isinstance(item, str) for mask in (MASK, CHANGED_MASK, UNKNOWN))


# --- Secrets of jobs without a component, for which no preflight has looked


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
