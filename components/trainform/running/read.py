"""Reads of one job in its cluster: a few parallel requests, and what was refused or late in `not_read`."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import structs

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.backends.admission import GROUP_ANNOTATION
from trainform.backends.backend import BACKENDS
from trainform.cluster.api import MAX_CONNECTIONS, ClusterApi, NotReadError, each, labelled, start_threads
from trainform.cluster.identity import is_sandbox, refuse_another
from trainform.cluster.live_drift import utc_now
from trainform.cluster.live_objects import find_job, job_collections, path_of
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import PodState, pod_state
from trainform.deployed.records import DeploymentRecord, deployed
from trainform.deployed.stacks import load_project_stack
from trainform.errors import ClusterError, CommandLineError
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.objects import pod_selector
from trainform.plan.record import Record
from trainform.plan.roles import claim_name
from trainform.project import require_project
from trainform.running.snapshot import Body, Snapshot, Target, event_time, text_at

SECONDS = 2.0 * defaults.CONNECT_SECONDS
MOST_OUTPUTS, OUTPUT_SECONDS = 32, 1.0
RECORD, JOB, PODS, GANG, QUEUE, OUTPUTS = "record", "job", "pods", "gang", "queue", "outputs"
CLAIMS, EVENTS = "claims", "events"
"""The parts that `Snapshot.not_read` names."""
CREATED = "metadata.creationTimestamp"
_GANGS = {  # the collection of gangs by admission, and their kind in events
    defaults.VOLCANO: (QUEUE_API, "podgroups", "PodGroup"),
    defaults.KUEUE: (KUEUE.api_version, "workloads", "Workload"),
}


def target_of_stack(stack: str, root: Path | None = None) -> Target:
    """Return the job of a stack of the project (default: that of the current folder). InputError for wrong files."""
    found = load_project_stack(stack, require_project(root))
    if not found.experiment:
        reason = f"{stack} is the stack of the environment {found.environment.name} itself, which runs no job"
        raise CommandLineError(reason, "name the stack of an experiment; `trainform stacks` lists the deployed ones")
    return Target(found.experiment, found.environment, found.full_name)


def read(target: Target, seconds: float = SECONDS, *, outputs: bool = False) -> Snapshot:
    """Read the objects of the job, without what is around it. seconds: the time for each answer. outputs: also the time
    of the last line of output of the first running pods. ClusterError if the cluster does not answer."""
    with _reads(target, seconds) as reads:
        return reads.snapshot(outputs=outputs)


def read_around(snapshot: Snapshot, seconds: float = SECONDS, *, every: bool = False) -> Snapshot:
    """Return the snapshot with the queue, the claims and the events of the job. They tell why it waits, and cost more:
    a server searches all events of the namespace. every: also normal events of pods, thousands in a large job."""
    with _reads(snapshot.target, seconds) as reads:
        return reads.around(snapshot, every=every)


@contextlib.contextmanager
def _reads(target: Target, seconds: float) -> Iterator[_Reads]:
    with contextlib.closing(ClusterApi(target.environment.cluster.context, seconds)) as api:
        refuse_another(api, target.environment)
        yield _Reads(api, target)


def require_pods(snapshot: Snapshot) -> None:
    """Raise `ClusterError` if the job is not deployed, or if its pods could not be read."""
    if PODS in snapshot.not_read:
        raise ClusterError(snapshot.not_read[PODS], "ask the platform team for the permission")
    if snapshot.job is None and not snapshot.pods and JOB not in snapshot.not_read:
        fix = "`pulumi up -s STACK` deploys it; `trainform stacks` lists what is deployed"
        raise ClusterError(f"{snapshot.target.experiment} is not deployed in {snapshot.target.environment.name}", fix)


def refuse_simulated(target: Target, node: str) -> None:
    """Raise `ClusterError` if the node of a pod is one that the sandbox simulates; not if it may not be read."""
    found = None
    with contextlib.suppress(ClusterError), contextlib.closing(ClusterApi(target.environment.cluster.context)) as api:
        if node and is_sandbox(api):
            found = api.find(f"/api/v1/nodes/{quote(node, safe='')}", f"read the node {node}")
    if mapping(_metadata(found).get("labels")).get(defaults.NODES_LABEL) == defaults.SIMULATED:
        fix = "`trainform sandbox up --nodes real` adds nodes that do"
        raise ClusterError(f"the node {node} is simulated, and runs no containers", fix)


class _Reads:
    def __init__(self, api: ClusterApi, target: Target) -> None:
        self._api, self._target, self._space = api, target, target.namespace
        self._not_read: dict[str, str] = {}

    def snapshot(self, *, outputs: bool) -> Snapshot:
        read_at, target = utc_now(), self._target
        recorded, pods = self._each(
            {
                RECORD: lambda: deployed(self._api, target.experiment, self._space),
                PODS: lambda: self._list(
                    path_of("Pod", self._space), "pods", labelled(pod_selector(target.experiment))
                ),
            }
        )
        record = self._record(recorded)
        (job,) = self._each({JOB: lambda: self._job(record)})
        found = Snapshot(
            read_at=read_at,
            target=structs.replace(target, stack=recorded.stack) if recorded and recorded.stack else target,
            record=record,
            job=job,
        )
        own = [pod for pod in pods or () if found.revision in ("", _revision(pod))]
        gangs, last = self._each(
            {
                GANG: lambda: self._gangs(found.admission),
                OUTPUTS: lambda: self._outputs(own) if outputs else {},
            }
        )
        parts = {"pods": own, "gang": _find_gang(gangs or (), job, own), "outputs": last or {}}
        return structs.replace(found, **parts, not_read=self._not_read)

    def around(self, found: Snapshot, *, every: bool) -> Snapshot:
        queue, listed, events = self._each(
            {
                QUEUE: lambda: self._queue(found),
                CLAIMS: lambda: self._list(path_of("PersistentVolumeClaim", self._space), "claims"),
                EVENTS: lambda: self._events([""] if every else ["type=Warning", *_events_around(found)]),
            }
        )
        claims = _claims_of(listed or (), found.record, found.target.experiment)
        objects = [each for each in (found.job, found.gang, queue, *claims, *found.pods) if each is not None]
        around = _events_of(objects, events or (), found.name, text_at(found.job, CREATED))
        not_read = {**found.not_read, **self._not_read}
        return structs.replace(found, queue=queue, claims=claims, events=around, not_read=not_read)

    def _each(self, reads: Mapping[str, Callable[[], Any]]) -> list[Any]:
        """Run the reads at the same time. A part that is refused or late is None, and its reason is kept; ClusterError
        if the server answers none of several."""

        def run(read: Callable[[], Any]) -> Any:
            try:
                return read()
            except ClusterError as error:
                return error

        found = each(run, [*reads.values()])
        errors = {name: one for name, one in zip(reads, found, strict=True) if isinstance(one, ClusterError)}
        if len(errors) == len(reads) > 1 and not any(isinstance(error, NotReadError) for error in errors.values()):
            raise errors[next(iter(errors))]
        self._not_read |= {name: error.message for name, error in errors.items()}
        return [None if isinstance(one, ClusterError) else one for one in found]

    def _list(self, path: str, what: str, parameters: Mapping[str, str] | None = None) -> list[Body]:
        return self._api.find_all(path, f"list {what} of the namespace {self._space}", parameters=parameters)

    def _record(self, found: DeploymentRecord | None) -> Record | None:
        if found is not None and found.unreadable is not None:
            self._not_read[RECORD] = found.unreadable.message
        return None if found is None else found.record

    def _job(self, record: Record | None) -> Body | None:
        """Return the recorded job object; if there is none, the newest of the experiment."""
        if record is not None and record.backend in BACKENDS:
            found = find_job(self._api, BACKENDS[record.backend], self._space, record.job)
            if found is not None:
                return found
        backends = [BACKENDS[name] for name in BACKENDS if record is None or name == record.backend]
        places = [place for backend in backends for place in job_collections(backend, self._space)]
        selector = labelled(pod_selector(self._target.experiment), defaults.REVISION_LABEL)
        listed = each(lambda place: self._list(place, "jobs", selector), places)
        own = (body for found in listed for body in found if not _owners(body))
        return max(own, key=lambda body: text_at(body, CREATED), default=None)

    def _gangs(self, admission: str) -> list[Body]:
        if admission not in _GANGS:
            return []
        version, plural, _ = _GANGS[admission]
        return self._list(f"/apis/{version}/namespaces/{quote(self._space, safe='')}/{plural}", plural)

    def _queue(self, found: Snapshot) -> Body | None:
        name, local = found.queue_name, found.admission == defaults.KUEUE
        if found.admission not in _GANGS or not name:
            return None
        path = path_of("LocalQueue", self._space, name) if local else path_of("Queue", name=name)
        queue: Body | None = self._api.find(path, f"read the queue {name}")
        return queue

    def _events(self, selectors: Sequence[str]) -> list[Body]:
        path = f"/api/v1/namespaces/{quote(self._space, safe='')}/events"
        found = each(lambda selector: self._list(path, "events", {"fieldSelector": selector}), selectors)
        return [event for events in found for event in events]

    def _outputs(self, pods: Sequence[Body]) -> dict[str, str]:
        """Return the time of the last line of output by pod. A node that does not answer in time has none."""
        query = {"tailLines": "1", "timestamps": "true"}

        def last(pod: Body) -> tuple[str, str]:
            name = str(_metadata(pod)["name"])
            main = str(mappings(mapping(pod.get("spec")).get("containers"))[0].get("name"))
            try:
                line = self._api.text(f"{path_of('Pod', self._space, name)}/log", {**query, "container": main})
            except ClusterError:
                return name, ""
            return name, line.partition(" ")[0]

        running = [pod for pod in pods if pod_state(pod) is PodState.RUNNING][:MOST_OUTPUTS]
        ended = concurrent.futures.wait(start_threads(last, running, MAX_CONNECTIONS), OUTPUT_SECONDS)
        return dict(future.result() for future in ended.done)


# --- what belongs to the job


def _metadata(body: Any) -> Mapping[str, Any]:
    return mapping(mapping(body).get("metadata"))


def _revision(body: Body) -> str:
    return str(mapping(_metadata(body).get("labels")).get(defaults.REVISION_LABEL, ""))


def _owners(body: Body) -> set[str]:
    return {str(owner.get("uid")) for owner in mappings(_metadata(body).get("ownerReferences"))}


def _find_gang(gangs: Iterable[Body], job: Body | None, pods: Iterable[Body]) -> Body | None:
    """Return the gang of the job. An operator with one for each role has several: the one that waits comes first."""
    uid = str(_metadata(job).get("uid"))
    names = {str(mapping(_metadata(pod).get("annotations")).get(GROUP_ANNOTATION)) for pod in pods}
    names |= {str(_metadata(job).get("name"))}
    own = [gang for gang in gangs if uid in _owners(gang) or _metadata(gang).get("name") in names]
    waits = ("", "Pending", "Inqueue")
    return max(own, key=lambda gang: (text_at(gang, "status.phase") in waits, text_at(gang, CREATED)), default=None)


def _events_around(found: Snapshot) -> list[str]:
    """Return the selectors of events of the job object and of gangs, also normal ones."""
    gang = [f"involvedObject.kind={_GANGS[found.admission][2]}"] if found.admission in _GANGS else []
    return [*gang, *([f"involvedObject.name={found.name}"] if found.name else [])]


def _events_of(objects: Iterable[Body], events: Iterable[Body], job: str, created: str) -> list[Body]:
    """Return each event of these objects, of the job, and of objects between it and its pods, oldest first. job: its
    name, also if the object could not be read; "" if it is unknown. created: an earlier job may have had its name."""
    uids = {_metadata(body).get("uid") for body in objects}

    def belongs(event: Body) -> bool:
        of = mapping(event.get("involvedObject"))
        named = str(of.get("name", "")) if event_time(event) >= created else ""
        return of.get("uid") in uids or (job != "" and (named == job or named.startswith(f"{job}-")))

    found = {str(_metadata(event).get("uid")): event for event in events if belongs(event)}
    return sorted(found.values(), key=event_time)


def _claims_of(claims: Iterable[Body], record: Record | None, experiment: str) -> list[Body]:
    """Return the claims of the experiment's volumes; without a record only those that trainform made for it."""
    model = None if record is None else record.model
    names = () if model is None else {claim_name(model, key) for key in model.storage}
    own = pod_selector(experiment).items()
    return [
        claim
        for claim in claims
        if _metadata(claim).get("name") in names or own <= mapping(_metadata(claim).get("labels")).items()
    ]
