"""Stacks beside what the cluster has of them: the whole way from names to the report. Nothing is changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version

from trainform.cluster.drift import SECRETS, utc_now
from trainform.deployed.records import Deployed
from trainform.deployed.stacks import ProjectStack
from trainform.drift.compare import compared, gone, is_noted, is_written, unsettled
from trainform.drift.model import DriftReport, FieldDrift, NotCompared, ObjectDrift, Outcome, StackDrift
from trainform.drift.read import Key, Live, Reads, key_of
from trainform.drift.wanted import Wanted, of_environment, of_record
from trainform.errors import ClusterError
from trainform.manifests.manifest import Manifest, ownership
from trainform.manifests.shapes import quantity
from trainform.plan.record import record_name

WORST = (Outcome.failed, Outcome.incomplete, Outcome.drift, Outcome.in_sync, Outcome.not_deployed)
NOTHING = (
    "The cluster has no record of the experiment and no object of it: no `pulumi up` of the stack has succeeded, or "
    "it was destroyed."
)
NO_PLATFORM = (
    "The cluster has nothing that `pulumi up` of the environment's own stack has written: it was never run, or the "
    "stack was destroyed."
)
NO_RECORD = "without the record nobody knows what was deployed"
UNNOTED = (
    "somebody has removed its `managedFields`, so nobody knows who has written what: its fields are compared, its "
    "secrets and fields of others are not"
)
ENDED = "The job is not in the cluster: its `ttl` deletes it some time after it has ended. That is not drift."


def find_drift(targets: Sequence[ProjectStack]) -> DriftReport:
    """The report, with the stacks in the order of `targets`."""
    now = utc_now()
    found: dict[str, StackDrift] = {}
    for context in dict.fromkeys(target.environment.cluster.context for target in targets):
        here = [target for target in targets if target.environment.cluster.context == context]
        try:
            with Reads(context) as reads:
                found |= _elsewhere(here, reads)
                found |= _on_cluster([target for target in here if target.full_name not in found], reads)
        except ClusterError as error:
            reason = f"{error.message}; {error.fix}" if error.fix else error.message
            found |= {target.full_name: _without(target, Outcome.failed,
                    NotCompared(what="cluster", reason=reason)) for target in here}  # fmt: skip
    stacks = [found[target.full_name] for target in targets]
    worst = min((stack.outcome for stack in stacks), key=WORST.index, default=Outcome.in_sync)
    return DriftReport(generated_by=version("trainform"), read_at=now, outcome=worst, stacks=stacks)


def _elsewhere(targets: Sequence[ProjectStack], reads: Reads) -> dict[str, StackDrift]:
    """Those whose environment is bound to another cluster than the one that answers: what it has is not theirs."""
    environments = {target.environment.name: target.environment for target in targets}
    reasons = {name: reads.another_cluster(environment) for name, environment in environments.items()}
    return {
        target.full_name: _without(target, Outcome.failed, NotCompared(what="cluster", reason=reason))
        for target in targets
        if (reason := reasons[target.environment.name])
    }


def _on_cluster(targets: Sequence[ProjectStack], reads: Reads) -> dict[str, StackDrift]:
    records = reads.records([(target.experiment, target.namespace) for target in targets if target.experiment])
    found: dict[str, StackDrift] = {}
    wanted: dict[str, Wanted] = {}
    for target in targets:
        record = records.get((target.experiment, target.namespace))
        made = _wanted(target, record, reads)
        if isinstance(made, StackDrift):
            found[target.full_name] = made
        else:
            wanted[target.full_name] = made
    everything = [manifest for each in wanted.values() for manifest in each.manifests]
    live = reads.objects(everything)
    answers = _answers(everything, live, reads)
    for target in targets:
        if target.full_name not in wanted:
            continue
        if _was_never_written(wanted[target.full_name], live):
            found[target.full_name] = _without(target, Outcome.not_deployed, note=NO_PLATFORM)
        else:
            found[target.full_name] = _stack(target, wanted[target.full_name], records.get((target.experiment, target.namespace)),
                live, answers)  # fmt: skip
    return found


def _wanted(target: ProjectStack, record: Deployed | None, reads: Reads) -> Wanted | StackDrift:
    """The deployed objects, or what is said of a stack of which nobody knows them."""
    try:
        if not target.experiment:
            return of_environment(target.environment)
        other = _other_stack(target, record)
        if other is not None:
            return _without(target, Outcome.failed, other)
        if record is not None and record.record is not None:
            return of_record(record.record, target.full_name)
    except ValueError as error:
        return _without(target, Outcome.failed, NotCompared(what="all objects", reason=str(error)))
    if record is not None and record.unreadable is not None:
        reason = f"{record.unreadable.message}; {record.unreadable.fix}"
        return _without(target, Outcome.failed, NotCompared(what="all objects", reason=reason))
    if not reads.has_objects(target.experiment, target.namespace):
        return _without(target, Outcome.not_deployed, note=NOTHING)
    lost = ObjectDrift(kind="ConfigMap", name=record_name(target.experiment), namespace=target.namespace, state="gone")
    return _without(target, Outcome.drift, NotCompared(what="all other objects", reason=NO_RECORD), lost)


def _other_stack(target: ProjectStack, record: Deployed | None) -> NotCompared | None:
    """What is said if another stack has deployed the experiment: its `pulumi up` counts, and that of this one is
    refused."""
    theirs = "" if record is None else record.stack
    if theirs in ("", target.full_name):
        return None
    return NotCompared(what="all objects",
        reason=f"{target.experiment} is deployed there by the stack {theirs}, and not by {target.full_name}")  # fmt: skip


def _was_never_written(wanted: Wanted, live: Mapping[Key, Live]) -> bool:
    """True if nothing in the cluster says that a stack without a record was ever deployed, and everything could be
    read."""
    found = [live[key_of(manifest)] for manifest in wanted.manifests]
    unread = any(each.reason for each in found)
    written = any(each.body is not None and is_written(each.body) for each in found)
    return wanted.basis == "files" and bool(found) and not unread and not written


Answers = Mapping[Key, tuple[Mapping[str, object] | None, str]]


def _answers(manifests: Iterable[Manifest], live: Mapping[Key, Live], reads: Reads) -> Answers:
    """What the API server says of those that it must be asked about, and why it does not."""
    asked = [
        (manifest, found)
        for manifest in manifests
        if (found := live[key_of(manifest)]).body is not None and unsettled(manifest, found.body)
    ]
    answers = zip(asked, reads.dry_runs(asked), strict=True)
    return {key_of(manifest): (answer.body, answer.reason) for (manifest, _), answer in answers}


def _stack(
    target: ProjectStack, wanted: Wanted, record: Deployed | None, live: Mapping[Key, Live], answers: Answers
) -> StackDrift:
    objects = list[ObjectDrift]()
    not_compared, notes, ahead, read = list[NotCompared](), [*wanted.notes], 0, 0
    for manifest in wanted.manifests:
        kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]
        there = live[key_of(manifest)]
        if there.reason and kind == SECRETS:  # who only looks needs no right to read keys
            notes.append(f"Secret {name} is not compared: {there.reason}.")
            continue
        if there.reason:
            not_compared.append(NotCompared(what=f"{kind} {name}", reason=there.reason))
            continue
        read += 1
        if there.body is None:
            if manifest.is_job and wanted.ends:
                notes.append(ENDED)
            elif wanted.basis != "other version" or manifest.is_job:
                objects.append(gone(manifest))
            continue
        if not is_noted(there.body):
            not_compared.append(NotCompared(what=f"{kind} {name}", reason=UNNOTED))
        answer, refused = answers.get(key_of(manifest), (None, ""))
        result = compared(manifest, there.body, answer, wanted.basis)
        ahead += result.ahead
        if refused:
            notes.append(
                f"{kind} {name} is compared without the API server, which answers the dry run with: {refused}."
            )
        if result.object.state != "as deployed" or result.object.others:
            objects.append(result.object)
    if ahead:
        notes.append(
            f"The environment's file is ahead of the cluster: {ahead} field{'s' if ahead > 1 else ''} not applied yet."
        )
    drifted = any(each.state != "as deployed" for each in objects)
    return StackDrift(
        stack=target.name,
        experiment=target.experiment,
        environment=target.environment.name,
        namespace=target.namespace,
        revision="" if record is None or record.record is None else record.record.revision,
        outcome=Outcome.drift if drifted else Outcome.incomplete if not_compared else Outcome.in_sync,
        compared=read,
        objects=objects,
        not_compared=not_compared,
        notes=[*notes, *not_put_back(objects)],
        commands=commands(objects, target.name) if drifted else [],
    )


def _without(
    target: ProjectStack,
    outcome: Outcome,
    missing: NotCompared | None = None,
    lost: ObjectDrift | None = None,
    note: str = "",
) -> StackDrift:
    """What is said of a stack of which no object could be compared."""
    return StackDrift(
        stack=target.name,
        experiment=target.experiment,
        environment=target.environment.name,
        namespace=target.namespace,
        outcome=outcome,
        objects=[] if lost is None else [lost],
        not_compared=[] if missing is None else [missing],
        notes=[note] if note else [],
        commands=[] if lost is None else commands([lost], target.name),
    )


PUT_BACK = "pulumi up --refresh --skip-preview -s {stack}"
"""A plain preview compares with the state and sees nothing; `preview --refresh` fails with a conflict of field
managers."""
CLAIM, SIZE = "PersistentVolumeClaim", "spec.resources.requests.storage"
LABELS = "metadata.labels."
_NUMBER = re.compile(r"spec\.ports\.[^.]+\.(port|protocol)")
_OWNERSHIP = frozenset(ownership("", environment=""))


def commands(objects: Sequence[ObjectDrift], stack: str) -> list[str]:
    """The commands in their order. The preflight takes an object without trainform's labels for somebody else's, so
    these come first. A port that has another number is another port to an apply, which then fails since both have the
    same name: such a Service is made again."""
    return [*_relabel(objects), *_make_again(objects), PUT_BACK.format(stack=shlex.quote(stack))]


def not_put_back(objects: Iterable[ObjectDrift]) -> list[str]:
    """Sentences about what no command puts back: Kubernetes cannot make a claim smaller."""
    return [
        f"{each.kind} {each.name} cannot shrink from {field.now} to {field.was}: write `size: {field.now}` into the "
        "file, else `pulumi up` refuses."
        for each in objects
        for field in each.fields
        if each.kind == CLAIM and field.path == SIZE and _grown(field)
    ]


def _grown(field: FieldDrift) -> bool:
    was, now = quantity(field.was), quantity(field.now)
    return was is not None and now is not None and now > was


def _relabel(objects: Iterable[ObjectDrift]) -> Iterator[str]:
    for each in objects:
        labels = {field.path.removeprefix(LABELS): field.was for field in each.fields if field.path.startswith(LABELS)}
        lost = [f"{name}={value}" for name, value in labels.items() if name in _OWNERSHIP]
        if lost:
            yield shlex.join(["kubectl", "label", each.kind.lower(), each.name, *_where(each), "--overwrite", *lost])


def _make_again(objects: Iterable[ObjectDrift]) -> Iterator[str]:
    for each in objects:
        if each.kind == "Service" and any(_NUMBER.fullmatch(field.path) for field in each.fields):
            yield shlex.join(["kubectl", "delete", "service", each.name, *_where(each)])


def _where(each: ObjectDrift) -> list[str]:
    return ["-n", each.namespace] if each.namespace else []
