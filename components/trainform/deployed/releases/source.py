"""The parts of a deployment from which a release is made: the record in Pulumi's state, which users of the cluster
cannot edit, and the live job and its pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome, is_changed_since, seconds_of
from trainform.cluster.api import ClusterApi, labelled
from trainform.cluster.identity import refuse_another
from trainform.cluster.live_objects import find_job, path_of
from trainform.deployed.earlier import EarlierDeployment, earlier_deployments
from trainform.deployed.engine import exported
from trainform.deployed.stacks import ProjectStack
from trainform.deployed.state import record_in, unfinished
from trainform.deployed.updates import CHANGES_OBJECTS, Update, updates
from trainform.errors import TrainformError
from trainform.plan.images import image_ids
from trainform.plan.record import Record
from trainform.project import deploy

SECONDS = 3.0 * defaults.CONNECT_SECONDS
NOT_IN_PODS = frozenset({"owner", "ttl"})
"""Fields of an experiment that do not reach its pods."""


class Source(Struct, frozen=True):
    """The source of a release.

    stack: PROJECT/STACK. update: the last `pulumi up`, which succeeded. outcome: None if the job object is gone.
    seconds: from the job's creation to its end. ran: what the nodes have run for each image. changed: the job was
    changed in place after its end.
    """

    stack: str
    environment: str
    record: Record
    update: Update
    outcome: Outcome | None
    seconds: int | None
    ran: Mapping[str, set[str]]
    changed: bool = False


def read_source(place: ProjectStack, root: Path) -> Source:
    """Read the deployment of the stack. TrainformError unless the last `pulumi up` succeeded and can be read."""
    stack, experiment = place.name, place.experiment
    done = updates(stack, root)
    update = last_up(stack, done)
    state = exported(stack, root)
    if unfinished(state, experiment, done):
        reason = f"a `pulumi up` of the stack {stack} runs, or was killed; what runs there is unknown"
        raise TrainformError(reason, f"wait for its end, or `pulumi up -s {stack}` first, and promote what runs well")
    record = record_in(state, experiment)
    if record is None:
        reason = f"Pulumi's state of {stack} has no record of {experiment} that can be read"
        raise TrainformError(reason, f"`pulumi up -s {stack}` records it")
    backend = BACKENDS[record.backend if record.backend in BACKENDS else defaults.BACKEND]
    with contextlib.closing(ClusterApi(place.environment.cluster.context, SECONDS)) as api:
        refuse_another(api, place.environment)
        job = find_job(api, backend, place.namespace, record.job)
        own = labelled({defaults.NAME_LABEL: experiment, defaults.REVISION_LABEL: record.revision})
        what = f"list the pods of the namespace {place.namespace}"
        pods = api.find_all(path_of("Pod", place.namespace), what, parameters=own)
        with api.reading("the list of pods"):
            ran = image_ids(pods)
    # the stack's file may name another environment by now
    name = str(record.environment.get("name", place.environment.name))
    if job is None:
        return Source(place.full_name, name, record, update, None, None, ran)
    outcome = backend.OUTCOME(job, pods)
    earlier = earlier_deployments(experiment, stack, root)
    changed = is_changed_since(job, outcome) and is_another_run(record, earlier, done, outcome.at)
    return Source(place.full_name, name, record, update, outcome, seconds_of(job, outcome), ran, changed)


def is_another_run(record: Record, earlier: Iterable[EarlierDeployment], done: Sequence[Update], ended: str) -> bool:
    """Return True if what is deployed now is not what was deployed when its job ended, and if that is unknown: the
    backend has no earlier states, or a `pulumi up` failed since then. earlier, done: the newest first."""
    try:
        before = next((each for each in earlier if each.update.ended <= ended), None)
    except TrainformError:
        return True
    if before is None:
        return True
    since = [update for update in done if update.kind in CHANGES_OBJECTS and update.started > before.update.started]
    return not all(update.deployed for update in since) or _pod_inputs(before.record) != _pod_inputs(record)


def _pod_inputs(record: Record) -> tuple[Any, ...]:
    """Return the parts of the record that reach the pods."""
    experiment = {field: value for field, value in record.experiment.items() if field not in NOT_IN_PODS}
    return record.revision, record.job, record.run, experiment, record.environment


def last_up(stack: str, done: Sequence[Update]) -> Update:
    """Return the last `pulumi up` of the stack. TrainformError if something changed its objects after it."""
    found = next((update for update in done if update.kind in CHANGES_OBJECTS), None)
    if found is not None and found.deployed:
        return found
    if found is None:
        reason = f"Pulumi's history has no `pulumi up` of the stack {stack}"
        raise TrainformError(reason, f"run `{deploy(stack)}` first")
    fix = f"`pulumi up -s {stack}` first, and promote what runs well"
    if found.destroyed:
        raise TrainformError(f"the stack {stack} was destroyed, and nothing is deployed there", fix)
    verb = "destroy" if found.kind == "destroy" else "up"
    results = {"succeeded": "was for a part of it (`--target` or `--exclude`)", "in-progress": "has not ended"}
    how = results.get(found.result, "failed")
    raise TrainformError(f"the last `pulumi {verb}` of the stack {stack} {how}; what runs there is unknown", fix)
