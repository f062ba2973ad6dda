"""Reviews of jobs as their previews are: rendered objects, components with their inputs and records on both sides."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from tests.support.samples import CLUSTER, JOB
from trainform.backends.suspend import suspended as of_suspended
from trainform.cluster.facts import LiveFacts, LiveJob
from trainform.cluster.phases import Phase, PodState
from trainform.job.render import RenderedJob, render_job
from trainform.manifests.manifest import Manifest, resource_name
from trainform.plan.inputs import JobInputs, job_inputs
from trainform.plan.model import Plan
from trainform.plan.record import Record
from trainform.review.context import Context, JobReview
from trainform.review.model import Place
from trainform.review.preview import Preview, State, Step
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

PROVIDER = "urn:pulumi:dev::lab::pulumi:providers:kubernetes::sdxl-lora-cluster::0123"
COMPONENT = "trainform:index:"
# Four nodes of eight A800, with checkpoints that outlive the job.
LORA: dict[str, Any] = {
    **JOB,
    "roles": {"worker": {"replicas": 4, "accelerators": {"a800": 8}}},
    "storage": {"checkpoints": {"size": "2Ti", "class": "fast", "mount": "/mnt/output", "keep": True}},
}
ELASTIC: dict[str, Any] = {
    **JOB,
    "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}},
    "roles": {"worker": {"replicas": 3, "accelerators": {"a800": 8}}},
}
READ_AT = "2026-11-23T20:00:00Z"
NEW_CLAIM = ("accessModes", "storageClassName")  # of which the API server allows no change


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::lab::{type_}::{name}"


def step(
    operation: str, type_: str, name: str, old: State | None = None, new: State | None = None, **more: Any
) -> Step:
    return Step(operation, urn(type_, name), type_, name, old, new, **more)


def object_step(
    operation: str, kind: str, name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, **more: Any
) -> Step:
    """A step of an object; both sides get the name."""
    states = [
        None if body is None else State({"metadata": {"name": name}, **body}, provider=PROVIDER) for body in (old, new)
    ]
    type_ = kind if ":" in kind else f"kubernetes:core/v1:{kind}"
    return step(operation, type_, name, *states, **more)


@dataclasses.dataclass(frozen=True)
class DeploymentRecord:
    """One side of a preview."""

    rendered: RenderedJob
    inputs: JobInputs
    record: Record | None

    @property
    def plan(self) -> Plan:
        """What runs."""
        return self.rendered.plan


def deployed(
    data: Mapping[str, Any], cluster: Mapping[str, Any] = CLUSTER, run: int = 1, version: str = "0.9.0"
) -> DeploymentRecord:
    experiment = Experiment.model_validate(copy.deepcopy(dict(data)))
    rendered = render_job(experiment, Environment.model_validate(copy.deepcopy(dict(cluster))), run)
    assert not rendered.problems, rendered.problems
    return side(rendered, version)


def side(rendered: RenderedJob, version: str = "0.9.0") -> DeploymentRecord:
    """A rendered job as one side of a preview, also one with problems."""
    made = rendered.plan.record
    record = None if made is None else structs.replace(made, version=version)
    return DeploymentRecord(rendered, job_inputs(rendered.experiment, rendered.environment, rendered.plan), record)


def suspended(running: DeploymentRecord) -> DeploymentRecord:
    """The side where the stack suspends the job."""
    made = running.rendered
    return side(structs.replace(made, manifests=of_suspended(made.manifests, made.plan)))


def job_review(old: DeploymentRecord | None, new: DeploymentRecord | None) -> JobReview:
    """What a preview says of a job that is `old` in state and `new` in the program."""
    some = new if new is not None else old
    assert some is not None
    name = some.rendered.experiment.name
    sides = [None if side is None else _states(side) for side in (old, new)]
    was, will = ({} if side is None else side for side in sides)
    steps = [_step(key, was.get(key), will.get(key)) for key in [*will, *(key for key in was if key not in will)]]
    component = next(found for found in steps if found.type == f"{COMPONENT}TrainingJob")
    job = next((found for found in steps if found.is_object and found.name == f"{name}-job"), None)
    records = [None if side is None else side.record for side in (old, new)]
    rest = tuple(found for found in steps if found is not component)
    return JobReview(name, component, job, records[0], records[1], rest)


def _states(side: DeploymentRecord) -> dict[tuple[str, str], State]:
    """Every resource by type and name."""
    name, inputs = side.rendered.experiment.name, side.inputs
    components = {
        ("TrainingJob", name): inputs.job,
        ("Rendezvous", f"{name}-rendezvous"): inputs.rendezvous,
        ("SharedStorage", f"{name}-storage"): inputs.storage,
        ("SshIdentity", f"{name}-ssh"): inputs.ssh,
        ("TrainingQueue", f"{name}-queue"): inputs.queue,
        **{("RoleGroup", f"{name}-{role.replace('-', '--')}"): given for role, given in inputs.roles.items()},
    }
    found = {
        (f"{COMPONENT}{kind}", of): State(given, identity=side.rendered.plan.revision)
        for (kind, of), given in components.items()
        if given is not None
    }
    for manifest in side.rendered.manifests:
        body = copy.deepcopy(manifest.body)
        if manifest.is_record and side.record is not None:
            body["data"] = side.record.data()
        found[_type(manifest), resource_name(name, manifest)] = State(
            body, keep=manifest.keep, provider=PROVIDER, id=manifest.key
        )
    return found


def _type(manifest: Manifest) -> str:
    version, kind = manifest.body["apiVersion"], manifest.body["kind"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{kind}{'Patch' if manifest.patch else ''}"


def _step(key: tuple[str, str], old: State | None, new: State | None) -> Step:
    detail: dict[str, str] | None = None if key[0].startswith(COMPONENT) else {}
    if old is None or new is None:
        return step("create" if old is None else "delete", *key, old, new)
    if old.inputs == new.inputs:
        return step("same", *key, old, new)
    if not key[0].startswith(COMPONENT) and _new_name(old) != _new_name(new):
        return step("replace", *key, old, new, keys=("metadata.name",), detail=detail)
    if any(old.inputs.get("spec", {}).get(field) != new.inputs.get("spec", {}).get(field) for field in NEW_CLAIM):
        return step("replace", *key, old, new, keys=("spec",), detail=detail)
    return step("update", *key, old, new, detail=detail)


def _new_name(state: State) -> Any:
    return state.inputs["metadata"]["name"]


def context(*jobs: JobReview, others: Iterable[Step] = (), live: LiveFacts | None = None, **more: Any) -> Context:
    steps = [found for job in jobs for found in (job.component, *job.steps) if found is not None]
    preview = more.pop("preview", Preview("stream", (*steps, *others)))
    return Context("dev", preview, jobs, live=live, **more)


def change(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, live: LiveFacts | None = None, **more: Any
) -> Context:
    """A preview of one job."""
    old, new = (None if data is None else deployed(data) for data in (before, after))
    return context(job_review(old, new), live=live, **more)


def running(name: str, phase: Phase = Phase.RUNNING, started: str = "2026-11-23T04:00:00Z") -> LiveFacts:
    """A cluster with one job, 16 h after its first pod began."""
    job = LiveJob(name, phase, started if phase == Phase.RUNNING else "", {PodState.RUNNING: 4})
    return LiveFacts(READ_AT, jobs=(job,))


EMPTY = LiveFacts(READ_AT, jobs=())


def name_of(data: Mapping[str, Any]) -> str:
    """The name of the job object."""
    return deployed(data).rendered.plan.job


def locate(path: str) -> Place:
    return Place(path=path, file="stacks/experiments/sdxl-lora.yaml", line=len(path))
