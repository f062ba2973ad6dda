"""All experiments that are deployed in some environments, from a few lists of each namespace."""

from __future__ import annotations

import contextlib
import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.table import BACKENDS
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.facts import ENDED
from trainform.cluster.identity import refuse_another
from trainform.cluster.phases import phase_of
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.deployed.records import SELECTOR, Deployed, all_deployed
from trainform.errors import TrainformError
from trainform.manifests.shapes import mapping
from trainform.plan.record import Record
from trainform.plan.sums import HourlyCost
from trainform.plan.totals import hourly_cost
from trainform.spec.environment import Environment
from trainform.spec.release import digest

GONE = "Gone"
"""The phase of a job that is recorded as deployed, and is not in the cluster."""
UNKNOWN = "unknown"
AT_ONCE = 8
Job = tuple[str, str]
"""Experiment and revision."""


class Row(Struct, frozen=True):
    """One experiment that is deployed.

    stack: PROJECT/STACK; "" if the record is of an earlier trainform. content: the hash of the experiment as it is
    here. created: of the job object, "" if it is gone. cost: per hour, None if nothing runs or a price is missing.
    unreadable: why the record cannot be read.
    """

    experiment: str
    environment: str
    namespace: str
    stack: str
    revision: str = ""
    run: int = 1
    job: str = ""
    phase: str = UNKNOWN
    accelerators: Mapping[str, int] = {}
    cost: HourlyCost | None = None
    created: str = ""
    queue: str = ""
    owner: str = ""
    content: str = ""
    unreadable: str = ""


class Overview(Struct, frozen=True):
    """The rows by environment and experiment, and the errors of environments that could not be read. asked: the number
    of environments."""

    rows: tuple[Row, ...]
    not_read: Mapping[str, TrainformError]
    asked: int

    @property
    def is_blind(self) -> bool:
        """True if no environment could be read."""
        return bool(self.not_read) and len(self.not_read) == self.asked


def overview(environments: Sequence[Environment], seconds: float) -> Overview:
    """Read what is deployed in the environments, at the same time. seconds: the time for each answer."""
    rows, not_read = list[Row](), dict[str, TrainformError]()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for environment, work in [(each, threads.submit(_rows, each, seconds)) for each in environments]:
            try:
                rows += work.result()
            except TrainformError as error:
                not_read[environment.name] = error
    return Overview(tuple(sorted(rows, key=lambda row: (row.environment, row.experiment))), not_read, len(environments))


def _rows(environment: Environment, seconds: float) -> list[Row]:
    with contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api:
        refuse_another(api, environment)
        found = [
            each
            for each in all_deployed(api, environment.namespace.name)
            if each.environment == environment.name  # several environments may share a namespace
        ]
        live = _Live(api, environment.namespace.name, found) if found else None
        return [_row(each, environment, live) for each in found]


def _row(deployed: Deployed, environment: Environment, live: _Live | None) -> Row:
    row = Row(deployed.experiment, deployed.environment, deployed.namespace, deployed.stack)
    record = deployed.record
    if record is None or live is None:
        reason = "" if deployed.unreadable is None else deployed.unreadable.message
        return structs.replace(row, unreadable=reason)
    phase, created = live.job(record.job, (deployed.experiment, record.revision))
    accelerators = accelerators_of_roles(record.experiment.get("roles"))
    costs = phase not in ENDED | {GONE, UNKNOWN, "Pending"}
    return structs.replace(
        row,
        revision=record.revision,
        run=record.run,
        job=record.job,
        phase=phase,
        accelerators=dict(sorted(accelerators.items())),
        cost=hourly_cost(accelerators, environment)
        if costs and accelerators.keys() <= environment.accelerators.keys()
        else None,
        created=created,
        queue=_queue(record),
        owner=str(record.experiment.get("owner") or ""),
        content=digest(record.experiment),
    )


def _queue(record: Record) -> str:
    """Return the name of the job's queue. One of its own has the experiment's name, unless it is named."""
    queue = record.experiment.get("queue")
    if not isinstance(queue, Mapping):
        return "" if queue is None else str(queue)
    return str(queue.get("name") or record.experiment.get("name", ""))


class _Live:
    """The job objects and the pods of trainform in a namespace."""

    def __init__(self, api: ClusterApi, namespace: str, found: Iterable[Deployed]) -> None:
        self._pods: dict[Job, Counter[str]] = defaultdict(Counter)
        place = f"namespaces/{quote(namespace, safe='')}"
        paths = [f"/apis/{version}/{place}/{plural}" for version, plural in _kinds(found)]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            lists = [threads.submit(_listed, api, path) for path in paths]
            pods = threads.submit(_listed, api, f"/api/v1/{place}/pods", _pod)
            jobs = [work.result() for work in lists]
        self._unread = None in jobs
        # a kind without a status may have an object of the same name
        bodies = sorted((body for each in jobs if each is not None for body in each), key=lambda body: "status" in body)
        self._jobs = {body["metadata"]["name"]: body for body in bodies}
        found_pods = pods.result()
        for job, phase in [] if found_pods is None else found_pods:
            self._pods[job][phase] += 1

    def job(self, name: str, job: Job) -> tuple[str, str]:
        """Return the phase of the job object, and its creation time."""
        body = self._jobs.get(name)
        if body is None:
            return (UNKNOWN if self._unread else GONE), ""
        return phase_of(body, self._pods.get(job, {})), str(body["metadata"].get("creationTimestamp", ""))


def _kinds(found: Iterable[Deployed]) -> Iterator[tuple[str, str]]:
    """Yield version and plural of the kinds that the recorded jobs may have."""
    names = {each.record.backend for each in found if each.record is not None}
    for name in sorted(names & BACKENDS.keys()):
        yield from ((BACKENDS[name].API_VERSION, plural) for plural in BACKENDS[name].PLURALS)


def _listed(api: ClusterApi, path: str, keep: Any = lambda item: item) -> list[Any] | None:
    """List the objects; none if the kind is not served, None if they could not be read."""
    with api.reading(path):
        listed = api.listed(path, keep, {"labelSelector": SELECTOR})
    if isinstance(listed, Answer):
        return [] if listed.missing else None
    return listed


def _pod(body: Any) -> tuple[Job, str]:
    labels = mapping(body["metadata"].get("labels"))
    job = str(labels.get(defaults.NAME_LABEL, "")), str(labels.get(defaults.REVISION_LABEL, ""))
    return job, str(mapping(body.get("status")).get("phase", ""))


def age(created: str, now: datetime.datetime) -> str:
    """Return the age in its two largest units: `3d 4h`; "" for no time."""
    try:
        seconds = max(0, int((now - datetime.datetime.fromisoformat(created)).total_seconds()))
    except (TypeError, ValueError):  # TypeError: without a zone
        return ""
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    first = next((index for index, (number, _) in enumerate(parts) if number), len(parts) - 1)
    return " ".join(f"{number}{unit}" for number, unit in parts[first : first + 2] if number or unit == "s")
