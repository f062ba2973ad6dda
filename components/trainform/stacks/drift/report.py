"""The drift of stacks: a comparison with their live objects. Nothing is changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from trainform.cluster.api import NotReadError
from trainform.cluster.live_drift import SECRETS, utc_now
from trainform.cluster.live_objects import Key, Live, key_of
from trainform.deployed.records import DeploymentRecord
from trainform.deployed.stacks import ProjectStack
from trainform.errors import ClusterError
from trainform.manifests.manifest import Manifest, ownership
from trainform.plan.record import record_name
from trainform.stacks.drift.compare import (
    DeployedObjects,
    compared,
    environment_objects,
    gone,
    is_noted,
    is_written,
    needs_dry_run,
    recorded_objects,
)
from trainform.stacks.drift.live_reads import Reads
from trainform.stacks.drift.report_model import DriftReport, NotCompared, ObjectDrift, Outcome, StackDrift

WORST = (Outcome.failed, Outcome.incomplete, Outcome.drift, Outcome.in_sync, Outcome.not_deployed)
NOTHING = (
    "The cluster has no record of the experiment and no object of it: no `pulumi up` of the stack has succeeded, or "
    "it was destroyed."
)
NO_PLATFORM = (
    "The cluster has nothing that `pulumi up` of the environment's own stack has written: it was never run, or the "
    "stack was destroyed."
)
NO_RECORD = "without the record it is unknown what was deployed"
UNNOTED = (
    "its `managedFields` were removed: its fields are compared, its secrets and fields of others are not, and their "
    "writers are unknown"
)
ENDED = "The job is not in the cluster: its `ttl` deletes it some time after it has ended. That is not drift."
Records = Mapping[tuple[str, str], DeploymentRecord | None]
Answers = Mapping[Key, Live]


def find_drift(targets: Sequence[ProjectStack]) -> DriftReport:
    """Return the report, with the stacks in the order of `targets`."""
    now = utc_now()
    found: dict[str, StackDrift] = {}
    for context in dict.fromkeys(target.environment.cluster.context for target in targets):
        here = [target for target in targets if target.environment.cluster.context == context]
        try:
            with Reads(context) as reads:
                found |= _compare_cluster(here, reads)
        except ClusterError as error:
            found |= {target.full_name: _failed(target, "cluster", _text(error)) for target in here}
    stacks = [found[target.full_name] for target in targets]
    worst = min((stack.outcome for stack in stacks), key=WORST.index, default=Outcome.in_sync)
    return DriftReport(generated_by=version("trainform"), read_at=now, outcome=worst, stacks=stacks)


def _text(error: ClusterError) -> str:
    return f"{error.message}; {error.fix}" if error.fix else error.message


def _compare_cluster(targets: Sequence[ProjectStack], reads: Reads) -> dict[str, StackDrift]:
    environments = {target.environment.name: target.environment for target in targets}
    others = {name: reads.cluster_problem(environment) for name, environment in environments.items()}
    bound = [target for target in targets if not others[target.environment.name]]
    records = reads.records([(target.experiment, target.namespace) for target in bound if target.experiment])
    expected, found = dict[str, DeployedObjects](), dict[str, StackDrift]()
    for target in targets:
        other = others[target.environment.name]
        objects = _failed(target, "cluster", other) if other else _expected(target, _record(target, records), reads)
        if isinstance(objects, StackDrift):
            found[target.full_name] = objects
        else:
            expected[target.full_name] = objects
    manifests = [manifest for each in expected.values() for manifest in each.manifests]
    live = reads.objects(manifests)
    answers = _answers(manifests, live, reads)
    for target in bound:
        if target.full_name in expected:
            record = _record(target, records)
            found[target.full_name] = _compared(target, expected[target.full_name], record, live, answers)
    return found


def _record(target: ProjectStack, records: Records) -> DeploymentRecord | None:
    return records.get((target.experiment, target.namespace))


def _expected(target: ProjectStack, record: DeploymentRecord | None, reads: Reads) -> DeployedObjects | StackDrift:
    """Return the deployed objects, or the report of a stack whose objects are unknown."""
    everything = "all objects"
    if record is not None and record.stack not in ("", target.full_name):  # and `pulumi up` of this stack is refused
        reason = f"{target.experiment} is deployed there by the stack {record.stack}, and not by {target.full_name}"
        return _failed(target, everything, reason)
    try:
        if not target.experiment:
            return environment_objects(target.environment)
        if record is not None and record.record is not None:
            return recorded_objects(record.record, target.full_name)
    except ValueError as error:
        return _failed(target, everything, str(error))
    if record is not None and record.unreadable is not None:
        return _failed(target, everything, _text(record.unreadable))
    try:
        if not reads.has_objects(target.experiment, target.namespace):
            return _report(target, Outcome.not_deployed, notes=[NOTHING])
    except NotReadError as error:
        return _failed(target, everything, _text(error))
    lost = ObjectDrift(kind="ConfigMap", name=record_name(target.experiment), namespace=target.namespace, state="gone")
    missing = [NotCompared(what="all other objects", reason=NO_RECORD)]
    return _report(target, Outcome.drift, objects=[lost], not_compared=missing)


def _answers(manifests: Iterable[Manifest], live: Mapping[Key, Live], reads: Reads) -> Answers:
    """Run dry runs of the objects that differ, or that other writers have changed."""
    unclear = [
        manifest
        for manifest in manifests
        if (found := live[key_of(manifest.body)]).body is not None and needs_dry_run(manifest, found.body)
    ]
    return dict(zip((key_of(each.body) for each in unclear), reads.dry_runs(unclear), strict=True))


def _compared(
    target: ProjectStack,
    expected: DeployedObjects,
    record: DeploymentRecord | None,
    live: Mapping[Key, Live],
    answers: Answers,
) -> StackDrift:
    there = [live[key_of(manifest.body)] for manifest in expected.manifests]
    written = any(each.reason or (each.body is not None and is_written(each.body)) for each in there)
    if expected.basis == "files" and there and not written:
        return _report(target, Outcome.not_deployed, notes=[NO_PLATFORM])
    objects, not_compared, notes = list[ObjectDrift](), list[NotCompared](), [*expected.notes]
    for manifest, found in zip(expected.manifests, there, strict=True):
        name = f"{manifest.body['kind']} {manifest.body['metadata']['name']}"
        if found.reason and manifest.body["kind"] == SECRETS:  # reading drift needs no permission for Secrets
            notes.append(f"{name} is not compared: {found.reason}.")
        elif found.reason:
            not_compared.append(NotCompared(what=name, reason=found.reason))
        elif found.body is None:
            if manifest.is_job and expected.ends:
                notes.append(ENDED)
            elif expected.basis != "other version" or manifest.is_job:
                objects.append(gone(manifest))
        else:
            if not is_noted(found.body):
                not_compared.append(NotCompared(what=name, reason=UNNOTED))
            answer = answers.get(key_of(manifest.body), Live(None))
            result = compared(manifest, found.body, answer.body, expected.basis)
            if answer.reason:
                reason = f"which answers the dry run with: {answer.reason}"
                notes.append(f"{name} is compared without the API server, {reason}.")
            if result.state != "as deployed" or result.others:
                objects.append(result)
    read = sum(not found.reason for found in there)
    drifted = any(each.state != "as deployed" for each in objects)
    outcome = Outcome.drift if drifted else Outcome.incomplete if not_compared else Outcome.in_sync
    revision = "" if record is None or record.record is None else record.record.revision
    done: dict[str, Any] = {"not_compared": not_compared, "notes": notes, "compared": read, "revision": revision}
    return _report(target, outcome, objects, **done)


def _failed(target: ProjectStack, what: str, reason: str) -> StackDrift:
    return _report(target, Outcome.failed, not_compared=[NotCompared(what=what, reason=reason)])


def _report(target: ProjectStack, outcome: Outcome, objects: Sequence[ObjectDrift] = (), **found: Any) -> StackDrift:
    return StackDrift(
        stack=target.name,
        experiment=target.experiment,
        environment=target.environment.name,
        namespace=target.namespace,
        outcome=outcome,
        objects=[*objects],
        commands=commands(objects, target.name) if outcome is Outcome.drift else [],
        **found,
    )


PUT_BACK = "pulumi up --refresh --skip-preview -s {stack}"
"""A plain preview shows no drift, and `preview --refresh` fails with a conflict of field managers."""
LABELS = "metadata.labels."
_NUMBER = re.compile(r"spec\.ports\.[^.]+\.(port|protocol)")
_OWNERSHIP = frozenset(ownership("", environment=""))


def commands(objects: Sequence[ObjectDrift], stack: str) -> list[str]:
    """Return the commands in their order. The preflight refuses an object without trainform's labels, so these come
    first. A Service with another port number is created again: an apply would add a second port of the same name."""
    relabel, delete = list[str](), list[str]()
    for each in objects:
        where = ["-n", each.namespace] if each.namespace else []
        labels = {field.path.removeprefix(LABELS): field.was for field in each.fields if field.path.startswith(LABELS)}
        lost = [f"{name}={value}" for name, value in labels.items() if name in _OWNERSHIP]
        if lost:
            relabel.append(shlex.join(["kubectl", "label", each.kind.lower(), each.name, *where, "--overwrite", *lost]))
        if each.kind == "Service" and any(_NUMBER.fullmatch(field.path) for field in each.fields):
            delete.append(shlex.join(["kubectl", "delete", "service", each.name, *where]))
    return [*relabel, *delete, PUT_BACK.format(stack=shlex.quote(stack))]
