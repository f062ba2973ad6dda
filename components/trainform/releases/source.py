"""What is deployed in a stack, read live, as far as a release of it needs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from trainform import defaults
from trainform.backends.outcome import Outcome, is_changed_since, seconds_of
from trainform.backends.table import BACKENDS
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.identity import refuse_another
from trainform.deployed.earlier import EarlierDeployment, earlier_deployments
from trainform.deployed.engine import exported
from trainform.deployed.records import Deployed, deployed
from trainform.deployed.state import record_in, unfinished
from trainform.deployed.updates import OF_OBJECTS, Update, updates
from trainform.errors import ClusterError, TrainformError, list_names
from trainform.plan.images import run_by
from trainform.plan.record import Record
from trainform.project import deploy
from trainform.spec.environment import Environment
from trainform.spec.stack import project_name

SECONDS = 3.0 * defaults.CONNECT_SECONDS
OF_NO_POD = frozenset({"ttl"})
"""Fields of an experiment of which nothing that runs knows."""


class Source(Struct, frozen=True):
    """stack: in the names of Pulumi, PROJECT/STACK. update: the last `pulumi up`, which succeeded. outcome: None if the
    cluster has the job object no more. seconds: from the job's creation to its end. ran: what the nodes have run for
    each image. changed: what is deployed was changed in place after the job's end."""

    stack: str
    environment: str
    record: Record
    update: Update
    outcome: Outcome | None
    seconds: int | None
    ran: Mapping[str, set[str]]
    changed: bool = False


def read_source(stack: str, experiment: str, environment: Environment, root: Path) -> Source:
    """What is deployed in the stack. TrainformError if nothing is, if the last `pulumi up` has failed or not ended, or
    if it cannot be read."""
    done = updates(stack, root)
    update = last_up(stack, done)
    namespace, whole = environment.namespace.name, f"{project_name(root)}/{stack}"
    with contextlib.closing(ClusterApi(environment.cluster.context, SECONDS)) as api:
        refuse_another(api, environment)
        found = deployed(api, experiment, namespace)
        record = record_of(found, whole, experiment)
        job = _job(api, record, namespace)
        pods = _pods(api, record, experiment, namespace)
        with api.reading("the list of pods"):
            ran = run_by(pods)
    # after the reads, so that one which has begun since is seen too
    state = exported(stack, root)
    if unfinished(state, experiment, done):
        reason = f"a `pulumi up` of the stack {stack} runs, or was killed, so that nobody knows what runs there"
        raise TrainformError(reason, f"wait for its end, or `pulumi up -s {stack}` first, and promote what runs well")
    refuse_edited(record, record_in(state, experiment), whole, experiment)
    outcome = None if job is None else _backend(record).OUTCOME(job, pods)
    seconds = None if job is None or outcome is None else seconds_of(job, outcome)
    changed = job is not None and outcome is not None and is_changed_since(job, outcome)
    if changed and outcome is not None:
        changed = is_another_run(record, earlier_deployments(experiment, stack, root), done, outcome.at)
    # the stack's file may name another environment by now
    name = str(record.environment.get("name", environment.name))
    return Source(whole, name, record, update, outcome, seconds, ran, changed)


def is_another_run(record: Record, earlier: Iterable[EarlierDeployment], done: Sequence[Update], ended: str) -> bool:
    """Whether what is deployed now would run otherwise than what was deployed when its job ended. True too if nobody
    knows what was: the backend gives out no earlier states, or a `pulumi up` failed since then. earlier, done: the
    newest first."""
    try:
        before = next((each for each in earlier if each.update.ended <= ended), None)
    except TrainformError:
        return True
    if before is None:
        return True
    since = [update for update in done if update.kind in OF_OBJECTS and update.started > before.update.started]
    return not all(update.deployed for update in since) or _of_pods(before.record) != _of_pods(record)


def _of_pods(record: Record) -> tuple[Any, ...]:
    """What of the record the pods know of."""
    experiment = {field: value for field, value in record.experiment.items() if field not in OF_NO_POD}
    return record.revision, record.job, record.run, experiment, record.environment


def last_up(stack: str, done: Sequence[Update]) -> Update:
    """The last `pulumi up` of the stack, if nothing came after it that changed its objects."""
    found = next((update for update in done if update.kind in OF_OBJECTS), None)
    if found is not None and found.deployed:
        return found
    if found is None:
        reason = f"Pulumi's history has no `pulumi up` of the stack {stack}"
        raise TrainformError(reason, f"run `{deploy(stack)}` first")
    fix = f"`pulumi up -s {stack}` first, and promote what runs well"
    if found.destroyed:
        raise TrainformError(f"the stack {stack} was destroyed, and nothing is deployed there", fix)
    verb = "destroy" if found.kind == "destroy" else "up"
    unknown = f"the last `pulumi {verb}` of the stack {stack} {_how(found)}, so that nobody knows what runs there"
    raise TrainformError(unknown, fix)


def _how(update: Update) -> str:
    if update.result == "succeeded":
        return "was for a part of it (`--target` or `--exclude`)"
    return "has not ended" if update.result == "in-progress" else "failed"


def record_of(found: Deployed | None, stack: str, experiment: str) -> Record:
    """The record, if it is of this stack. stack: PROJECT/STACK, since two projects may have stacks of one name in the
    same namespace."""
    name = stack.rpartition("/")[2]
    if found is not None and found.unreadable is not None:
        raise found.unreadable
    if found is None or found.record is None:
        reason = f"the cluster has no record of {experiment} as deployed by the stack {stack}"
        raise ClusterError(reason, f"`pulumi up -s {name}` records it")
    own = found.stack
    if not own:
        reason = f"what is deployed there of {experiment} does not say of which stack it is"
        raise ClusterError(reason, f"if it is of {stack}: `pulumi up --refresh --skip-preview -s {name}` writes it")
    if own != stack:
        reason = f"what is deployed there of {experiment} is of the stack {own}, and not of {stack}"
        raise ClusterError(
            reason, f"promote it from {own}; if this stack had that name before, `pulumi up -s {name}` says what to do"
        )
    wrong = wrong_in(found.record, experiment)
    if wrong is not None:
        reason = f"the record of {experiment} as deployed by the stack {stack} was changed by hand: {wrong}"
        raise ClusterError(reason, f"`pulumi up --refresh --skip-preview -s {name}` records it anew")
    return found.record


def refuse_edited(record: Record, written: Record | None, stack: str, experiment: str) -> None:
    """ClusterError if the record in the cluster, which everybody who may edit ConfigMaps there can change, is not the
    one that the engine has written. written: that one, as Pulumi's state has it; None if it has none that can be
    read."""
    has, had = record.data(), {} if written is None else written.data()
    differing = [key for key in {**had, **has} if has.get(key) != had.get(key)]
    if differing:
        what = f"{list_names([f'`{key}`' for key in differing])} of it {'differs' if len(differing) == 1 else 'differ'}"
        raise ClusterError(
            f"the record of {experiment} in the cluster is not what Pulumi's state of {stack} has, so somebody has "
            f"edited it: {what}",
            f"`pulumi up --refresh --skip-preview -s {stack.rpartition('/')[2]}` records it anew",
        )


def wrong_in(record: Record, experiment: str) -> str | None:
    """Why no `pulumi up` of the experiment has made the record, which anybody with access to its namespace can edit;
    None if one may have."""
    for found in (record.experiment, record.experiment if record.base is None else record.base):
        if found.get("name") != experiment:
            return "it holds another experiment"
    if _backend_name(record) not in BACKENDS:
        return "it names no operator that is known"
    registries = record.environment.get("registries", {})
    is_mapping = isinstance(registries, dict) and all(isinstance(target, str) for target in registries.values())
    return None if is_mapping else "its registries are none"


def _backend(record: Record) -> Any:
    return BACKENDS[_backend_name(record)]


def _backend_name(record: Record) -> str:
    own = record.experiment.get("backend")
    return str(record.environment.get("backend") if own is None else own)


def _job(api: ClusterApi, record: Record, namespace: str) -> Mapping[str, Any] | None:
    """The job object; None if it is gone. An operator serves one of the plurals of its backend."""
    backend = _backend(record)
    for plural in backend.PLURALS:
        where = (
            f"/apis/{backend.API_VERSION}/namespaces/{quote(namespace, safe='')}/{plural}/{quote(record.job, safe='')}"
        )
        answer = api.get(where)
        if answer.found:
            return answer.body
        if not answer.missing:
            raise _refused(answer, f"read the {plural} of the namespace {namespace}")
    return None


def _pods(api: ClusterApi, record: Record, experiment: str, namespace: str) -> list[Mapping[str, Any]]:
    """The pods of the revision that is deployed."""
    labels = ",".join(f"{label}={value}" for label, value in labels_of_pods(experiment, record.revision).items())
    listed = api.listed(f"/api/v1/namespaces/{quote(namespace, safe='')}/pods", parameters={"labelSelector": labels})
    if isinstance(listed, Answer):
        raise _refused(listed, f"list the pods of the namespace {namespace}")
    return listed


def labels_of_pods(experiment: str, revision: str) -> dict[str, str]:
    """The labels of all pods of one revision of a job, whatever operator makes them."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment, defaults.REVISION_LABEL: revision}


def _refused(answer: Answer, what: str) -> ClusterError:
    if answer.forbidden:
        return ClusterError(f"this account has no permission to {what}", "ask the platform team for the permission")
    return ClusterError(f"the cluster does not {what}: {answer.message}", "check your access with `kubectl get pods`")
