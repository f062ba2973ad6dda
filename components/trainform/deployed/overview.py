"""All experiments that are deployed in some environments, from a few lists of each namespace."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import ClusterApi, NotReadError, each, labelled, start_threads
from trainform.cluster.identity import refuse_another
from trainform.cluster.live_objects import job_collections, path_of
from trainform.cluster.phases import HOLDING, Phase, PodState, phase_of, pod_state
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.deployed.records import DeploymentRecord, all_deployed
from trainform.errors import TrainformError
from trainform.manifests.manifest import mapping
from trainform.plan.record import Record
from trainform.spec.environment import Environment, HourlyCost, hourly_cost
from trainform.spec.release import digest

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
    phase: str = Phase.UNKNOWN
    accelerators: Mapping[str, int] = {}
    cost: HourlyCost | None = None
    created: str = ""
    queue: str = ""
    owner: str = ""
    content: str = ""
    unreadable: str = ""


class Overview(Struct, frozen=True):
    """The rows by environment and experiment, and each environment's error, also if only a part was not read."""

    rows: tuple[Row, ...]
    not_read: Mapping[str, TrainformError]


def overview(environments: Sequence[Environment], seconds: float) -> Overview:
    """Read what is deployed in the environments, at the same time. seconds: the time for each answer."""
    rows, not_read = list[Row](), dict[str, TrainformError]()
    reads = start_threads(lambda environment: _rows(environment, seconds, not_read), environments, AT_ONCE)
    for environment, read in zip(environments, reads, strict=True):
        try:
            rows += read.result()
        except TrainformError as error:
            not_read[environment.name] = error
    return Overview(tuple(sorted(rows, key=lambda row: (row.environment, row.experiment))), not_read)


def _rows(environment: Environment, seconds: float, not_read: dict[str, TrainformError]) -> list[Row]:
    with contextlib.closing(ClusterApi(environment.cluster.context, seconds)) as api:
        refuse_another(api, environment)
        found = [
            each
            for each in all_deployed(api, environment.namespace.name)
            if each.environment == environment.name  # several environments may share a namespace
        ]
        live = _Live(api, environment.namespace.name, found) if found else None
        if live is not None and live.refused:
            reason = "; ".join(sorted(live.refused))
            not_read[environment.name] = NotReadError(reason, "ask the platform team for the permission")
        return [_row(each, environment, live) for each in found]


def _row(deployed: DeploymentRecord, environment: Environment, live: _Live | None) -> Row:
    row = Row(deployed.experiment, deployed.environment, deployed.namespace, deployed.stack)
    record = deployed.record
    if record is None or live is None:
        reason = "" if deployed.unreadable is None else deployed.unreadable.message
        return structs.replace(row, unreadable=reason)
    phase, created = live.job(record, deployed.experiment)
    accelerators = accelerators_of_roles(record.experiment.get("roles"))
    return structs.replace(
        row,
        revision=record.revision,
        run=record.run,
        job=record.job,
        phase=phase,
        accelerators=dict(sorted(accelerators.items())),
        cost=hourly_cost(accelerators, environment) if phase in HOLDING else None,
        created=created,
        queue=record.queue,
        owner=str(record.experiment.get("owner") or ""),
        content=digest(record.experiment),
    )


class _Live:
    """The job objects and the pods of trainform in a namespace. refused: what may not be read."""

    def __init__(self, api: ClusterApi, namespace: str, found: Iterable[DeploymentRecord]) -> None:
        self.refused = set[str]()
        names = {each.record.backend for each in found if each.record is not None} & BACKENDS.keys()
        places = [place for name in sorted(names) for place in job_collections(BACKENDS[name], namespace)]

        def listed(path: str) -> list[Any] | None:
            what = f"list {path.rpartition('/')[2]} of the namespace {namespace}"
            try:
                return api.find_all(path, what, parameters=labelled())
            except NotReadError as error:
                self.refused.add(error.message)
                return None

        self._pods: dict[Job, Counter[PodState]] | None = None
        pods, *jobs = each(listed, [path_of("Pod", namespace), *places])
        self._unread = None in jobs
        # a kind without a status may have an object of the same name
        bodies = sorted((body for listed in jobs for body in listed or ()), key=lambda body: "status" in body)
        self._jobs = {body["metadata"]["name"]: body for body in bodies}
        if pods is not None:
            self._pods = defaultdict(Counter)
            for pod in pods:
                self._pods[_job_of(pod)][pod_state(pod)] += 1

    def job(self, record: Record, experiment: str) -> tuple[Phase, str]:
        """Return the phase of the job object, and its creation time."""
        body = self._jobs.get(record.job, {} if self._unread else None)
        pods = None if self._pods is None else self._pods[experiment, record.revision]
        phase = phase_of(body, pods, admission=record.admission)
        return phase, str(mapping(mapping(body).get("metadata")).get("creationTimestamp", ""))


def _job_of(pod: Any) -> Job:
    labels = mapping(mapping(pod.get("metadata")).get("labels"))
    return str(labels.get(defaults.NAME_LABEL, "")), str(labels.get(defaults.REVISION_LABEL, ""))
