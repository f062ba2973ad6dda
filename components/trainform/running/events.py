"""The history of a job as one timeline: of its stack, its job object, gang, queue, claims and pods.

The API server keeps events for an hour. The ends of containers, conditions and the updates of the stack stay longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from trainform.deployed.releases.history import Event as Update
from trainform.deployed.releases.history import events as updates_of
from trainform.deployed.releases.history import read_stacks
from trainform.deployed.releases.release_files import releases_of
from trainform.deployed.stacks import load_project_stack
from trainform.errors import TrainformError
from trainform.manifests.manifest import mapping, mappings
from trainform.running.pods import first_ranks, place_of, places
from trainform.running.read import event_time
from trainform.running.snapshot import Body, Snapshot

JOB, POD, POD_GROUP, WORKLOAD, CLAIM = "Job", "Pod", "PodGroup", "Workload", "PersistentVolumeClaim"
SHOWN = {kind: kind for kind in (JOB, POD_GROUP, WORKLOAD)}
"""Kinds of which a job has one object."""
OF_CONTAINERS = frozenset({"Created", "Started"})
"""Reasons of events that the status of a pod says with the exact time."""


class Entry(Struct, frozen=True):
    """Something that happened, once or several times.

    at, until: the first and the last time (RFC 3339). object: `Job`, `worker/3 rank 4`, `worker, 4 pods`. what: a word
    of the cluster. text: of the last time; "" if it differs. count: of all `pods`. by: a person; "" if unknown.
    """

    at: str
    object: str = ""
    what: str = ""
    text: str = ""
    until: str = ""
    count: int = 1
    pods: int = 1
    warning: bool = False
    by: str = ""


class Timeline(Struct, frozen=True):
    """The entries, the oldest first. not_read: what could not be read, with the reason."""

    experiment: str
    environment: str
    stack: str
    revision: str
    entries: tuple[Entry, ...]
    not_read: Mapping[str, str] = {}


def timeline(snapshot: Snapshot, root: Path) -> Timeline:
    """Return the timeline of a job. snapshot: with every event. root: of the project, whose stack has a history."""
    target, record, not_read = snapshot.target, snapshot.record, dict(snapshot.not_read)
    found = [entry for entry in _entries(snapshot) if entry.at]
    try:
        found += map(_of_stack, _updates(snapshot, root, not_read))
    except TrainformError as error:
        not_read["history"] = error.first_reason
    return Timeline(
        target.experiment,
        target.environment.name,
        target.stack,
        "" if record is None else record.revision,
        tuple(sorted(found, key=lambda entry: entry.at)),
        not_read,
    )


def _updates(snapshot: Snapshot, root: Path, not_read: dict[str, str]) -> list[Update]:
    """Return the updates and releases of the job's stack."""
    name = snapshot.target.stack.rpartition("/")[2]
    if not name:
        return []
    releases = releases_of(snapshot.target.experiment, root).values()
    (now,) = read_stacks([load_project_stack(name, root)], root)
    if now.not_read:
        not_read["history"] = now.not_read
    return updates_of((each for each in releases if each.promoted.target == name), [now])


def _of_stack(update: Update) -> Entry:
    release = f"release {update.release}" if update.release else ""
    text = ", ".join(filter(None, [update.result, release, *update.details]))
    return Entry(update.at, f"stack {update.stack}", update.what, text, by=update.by)


# --- objects


def _entries(snapshot: Snapshot) -> list[Entry]:
    """Return what happened to the objects. What happened to several pods of a role, or several times, is one entry."""
    record = snapshot.record
    ranks, job = first_ranks(record), "" if record is None else record.job
    known = {f"{job}-{place.role}-{place.index}": place for place in places(record)}  # also of deleted pods
    known |= {_name(pod): place_of(pod, ranks) for pod in snapshot.pods}
    groups = defaultdict[tuple[str, ...], list[Entry]](list)
    for kind, name, entry in [*_facts(snapshot), *_events(snapshot)]:
        place, text = known.get(name) if kind == POD else None, entry.text.replace(name, "")
        own = SHOWN.get(kind, f"{kind} {name}") if place is None else str(place)
        group = own if place is None else place.role, entry.what, text if entry.warning else ""
        if entry.at:
            groups[group].append(structs.replace(entry, object=own, text=text if place else entry.text))
    return [_merged(role, group) for (role, *_), group in groups.items()]


def _merged(role: str, group: Sequence[Entry]) -> Entry:
    pods, texts = {entry.object for entry in group}, {entry.text for entry in group}
    at, until = min(entry.at for entry in group), max(entry.until or entry.at for entry in group)
    return structs.replace(
        group[-1],
        at=at,
        until="" if until == at else until,
        object=f"{role}, {len(pods)} pods" if len(pods) > 1 else group[-1].object,
        text=group[-1].text if len(texts) == 1 or len(pods) == 1 else "",
        count=sum(entry.count for entry in group),
        pods=len(pods),
    )


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str, Entry]]:
    """Yield kind and name of an object, and what its status says of its past."""
    job, record = snapshot.job, snapshot.record
    if job is not None:
        text = "" if record is None else f"revision {record.revision}, run {record.run}"
        yield JOB, _name(job), Entry(_created(job), what="created", text=text)
    for claim in snapshot.claims:
        yield CLAIM, _name(claim), Entry(_created(claim), what="created")
    gang = WORKLOAD if "podSets" in mapping(mapping(snapshot.gang).get("spec")) else POD_GROUP
    for kind, body in ((JOB, job), (gang, snapshot.gang)):
        for condition in mappings(mapping(mapping(body).get("status")).get("conditions")):
            if condition.get("status") not in ("False", "Unknown"):
                text = ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
                what = str(condition.get("type", condition.get("status")))  # Volcano's Job has no type
                yield kind, _name(body), Entry(str(condition.get("lastTransitionTime", "")), what=what, text=text)
    for pod in snapshot.pods:
        status = mapping(pod.get("status"))
        for container in [*mappings(status.get("initContainerStatuses")), *mappings(status.get("containerStatuses"))]:
            for state in (mapping(container.get("lastState")), mapping(container.get("state"))):
                for entry in _run(str(container.get("name")), state):
                    yield POD, _name(pod), entry


def _run(container: str, state: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the start and the end of a run of a container."""
    ended = mapping(state.get("terminated"))
    yield Entry(
        str(mapping(state.get("running")).get("startedAt") or ended.get("startedAt") or ""), what=f"{container} started"
    )
    code, reason = ended.get("exitCode"), ended.get("reason")
    text = f"exit code {code}{f', {reason}' if reason not in (None, 'Completed', 'Error') else ''}"
    yield Entry(str(ended.get("finishedAt") or ""), what=f"{container} ended", text=text, warning=bool(code))


def _events(snapshot: Snapshot) -> Iterator[tuple[str, str, Entry]]:
    for event in snapshot.events:
        involved = mapping(event.get("involvedObject"))
        kind, what = str(involved.get("kind")), str(event.get("reason"))
        if kind == POD and what in OF_CONTAINERS:
            continue
        counts = (mapping(event.get("series")).get("count"), event.get("count"))
        count = next((count for count in counts if count), 1)
        first, last = event.get("firstTimestamp") or event.get("eventTime"), event_time(event)
        text = " ".join(str(event.get("message", "")).split())
        warning = event.get("type") == "Warning"
        entry = Entry(str(first or last), what=what, text=text, until=last, count=count, warning=warning)
        yield kind, str(involved.get("name")), entry


def _name(body: Body | None) -> str:
    return str(mapping(mapping(body).get("metadata")).get("name", ""))


def _created(body: Body) -> str:
    return str(mapping(body.get("metadata")).get("creationTimestamp", ""))
