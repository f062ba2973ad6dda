"""The history of a job as one timeline: of its stack, its job object, gang, queue, claims and pods.

The API server keeps events for an hour. The ends of containers, conditions and the updates of the stack stay longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from trainform.backends.backend import value_at
from trainform.deployed.releases.history import events as updates_of
from trainform.deployed.releases.history import read_stacks
from trainform.deployed.releases.release_files import releases_of
from trainform.deployed.stacks import load_project_stack
from trainform.errors import TrainformError
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.running.pods import first_ranks, known_places, place_of
from trainform.running.snapshot import Snapshot, container_statuses, event_time, name_of, text_at


class Entry(Struct, frozen=True):
    """Something that happened, once or several times.

    at, until: the first and the last time (RFC 3339). object: `Job bert-1f3a9c`, `worker/3 rank 4`, `worker, 4 pods`.
    what: a word of the cluster. text: of the last time; "" if it differs. by: a person; "" if unknown.
    """

    at: str
    object: str
    what: str
    text: str = ""
    until: str = ""
    count: int = 1
    warning: bool = False
    by: str = ""


class Timeline(Struct, frozen=True):
    """The entries, the oldest first. not_read: each part that could not be read, with the reason."""

    experiment: str
    environment: str
    entries: tuple[Entry, ...]
    not_read: dict[str, str]


def timeline(snapshot: Snapshot, root: Path) -> Timeline:
    """Return the timeline of a job. snapshot: with every event. root: of the project, whose stack has a history."""
    target, not_read = snapshot.target, dict(snapshot.not_read)
    found = _entries(snapshot)
    try:
        found += _updates(snapshot, root, not_read)
    except TrainformError as error:
        not_read["history"] = error.first_reason
    entries = tuple(sorted(found, key=lambda entry: entry.at))
    return Timeline(target.experiment, target.environment.name, entries, not_read)


def _updates(snapshot: Snapshot, root: Path, not_read: dict[str, str]) -> Iterator[Entry]:
    """Yield the updates and releases of the job's stack."""
    name = snapshot.target.stack.rpartition("/")[2]
    if not name:
        return
    releases = releases_of(snapshot.target.experiment, root).values()
    (now,) = read_stacks([load_project_stack(name, root)], root)
    if now.not_read:
        not_read["history"] = now.not_read
    for update in updates_of((each for each in releases if each.promoted.target == name), [now]):
        release = f"release {update.release}" if update.release else ""
        text = ", ".join(filter(None, [update.result, release, *update.details]))
        yield Entry(update.at, f"stack {update.stack}", update.what, text, by=update.by)


# --- objects


def _entries(snapshot: Snapshot) -> list[Entry]:
    """Return what happened to the objects. What happened to several pods of a role, or several times, is one entry."""
    ranks, job = first_ranks(snapshot.record), "" if snapshot.record is None else snapshot.record.job
    known = {f"{job}-{place.role}-{place.index}": place for place in known_places(snapshot)}  # also of deleted pods
    known |= {name_of(pod): place_of(pod, ranks) for pod in snapshot.pods}
    groups = defaultdict[tuple[str, str], list[Entry]](list)
    for entry in (*_facts(snapshot), *_events(snapshot)):
        place = known.get(entry.object.removeprefix("Pod "))
        role, own = (entry.object, entry.object) if place is None else (place.role, str(place))
        if entry.at:
            groups[role, entry.what].append(structs.replace(entry, object=own))
    return [_merged(role, group) for (role, _), group in groups.items()]


def _merged(role: str, group: Sequence[Entry]) -> Entry:
    """Return the entries of one object or role as one, with the text of the last warning."""
    last = max(group, key=lambda entry: entry.until or entry.at)
    objects, texts = {entry.object for entry in group}, {entry.text for entry in group}
    at, until = min(entry.at for entry in group), last.until or last.at
    return structs.replace(
        last,
        at=at,
        until="" if until == at else until,
        object=f"{role}, {len(objects)} pods" if len(objects) > 1 else last.object,
        text=last.text if last.warning or len(texts) == 1 else "",
        count=sum(entry.count for entry in group),
    )


def _facts(snapshot: Snapshot) -> Iterator[Entry]:
    """Yield what the objects say of their past."""
    job, gang, record = snapshot.job, snapshot.gang, snapshot.record
    run = "" if record is None else f"revision {record.revision}, run {record.run}"
    of_gang = "PodGroup" if value_at(gang, "spec.podSets") is None else "Workload"
    claims = ((CLAIM, claim, "") for claim in snapshot.claims)
    for kind, body, text in (("Job", job, run), (of_gang, gang, ""), *claims):
        name = f"{kind} {name_of(body)}"
        yield Entry(text_at(body, "metadata.creationTimestamp"), name, "created", text)
        for condition in mappings(value_at(body, "status.conditions")):
            if condition.get("status") not in ("False", "Unknown"):
                words = ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key))
                what = str(condition.get("type", condition.get("status")))  # Volcano's Job has no type
                yield Entry(text_at(condition, "lastTransitionTime"), name, what, words)
    for pod in snapshot.pods:
        for container in container_statuses(pod):
            for state in ("lastState", "state"):
                end = mapping(value_at(container, f"{state}.terminated"))
                code, at = end.get("exitCode"), text_at(end, "finishedAt")
                what = f"{container.get('name')} ended ({end.get('reason')}, exit code {code})"
                yield Entry(at, f"Pod {name_of(pod)}", what, warning=bool(code))


def _events(snapshot: Snapshot) -> Iterator[Entry]:
    for event in snapshot.events:
        last = event_time(event)
        count = max(value_at(event, "series.count") or 0, event.get("count") or 0, 1)
        yield Entry(
            str(event.get("firstTimestamp") or event.get("eventTime") or last),
            f"{text_at(event, 'involvedObject.kind')} {text_at(event, 'involvedObject.name')}",
            text_at(event, "reason"),
            " ".join(text_at(event, "message").split()),
            last,
            count,
            warning=event.get("type") == "Warning",
        )
