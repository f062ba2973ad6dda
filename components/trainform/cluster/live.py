"""The facts of a live cluster that a review needs, read in parallel, beside the engine, and in a bounded time.

What cannot be read, or is late, is said and never raised: a review without a cluster is a review too. Threads that are
late end with the process.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self
from urllib.parse import quote

from msgspec import structs

from trainform import defaults
from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.cluster import budgets
from trainform.cluster.api import Answer, ClusterApi
from trainform.cluster.drift import SECRETS, Drift, drift_of, utc_now
from trainform.cluster.facts import (
    NO_HOLDERS,
    AppliedObject,
    AskedJob,
    LiveFacts,
    LiveJob,
    LiveKueue,
    LiveNode,
    LiveQueue,
)
from trainform.cluster.held import HeldPod, free_node, pod_reader, with_holders, with_pods
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import phase_of
from trainform.cluster.served import NotReadError, Served, collection, refusal, served
from trainform.errors import TrainformError, without_credentials
from trainform.manifests.shapes import mapping
from trainform.plan.record import record_name

SECONDS = 2.0
AT_ONCE = 6  # objects; the lists take the other connections of `api.MAX_CONNECTIONS`
NOT_ENDED = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
QUOTAS, RANGES = "resource quotas", "limit ranges"


def _records(jobs: Sequence[AskedJob], namespace: str) -> list[AppliedObject]:
    return [_record(job, namespace) for job in jobs if job.experiment]


def _record(job: AskedJob, namespace: str) -> AppliedObject:
    where = job.object.namespace or namespace
    metadata = {"name": record_name(job.experiment), "namespace": where}
    return AppliedObject({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


# --- reading


Identity = tuple[str, str, str, str]


class LiveReads:
    """Reads that run in threads of their own, and their results. The lists that need no preview begin at once; `facts`
    reads the rest. In a `with` block, which closes the connections."""

    def __init__(self, context: str | None, namespace: str, seconds: float = SECONDS, *, kueue: bool = False) -> None:
        """namespace: of objects that name none. seconds: how long `facts` waits for what is not there yet. kueue: the
        queues of Kueue's are wanted too."""
        self._namespace = namespace
        self.namespaces, self.kueue = [namespace], [*budgets.KUEUE_LISTS] if kueue else []
        self._seconds = seconds
        self._all: list[Future[Any]] = []
        # a request has no time of its own: `facts` ends the wait for all of them, whenever they began
        self._api = self._start(functools.partial(ClusterApi, context, None))
        self._lists: dict[str, Future[Any]] = {}
        self._objects: dict[Identity, Future[Any]] = {}
        self._list("nodes", "/api/v1/nodes", free_node)
        self._list("pods", "/api/v1/pods", pod_reader(), NOT_ENDED)
        self._list("queues", f"/apis/{QUEUE_API}/queues", budgets.queue)
        self._list("pod groups", f"/apis/{QUEUE_API}/podgroups", budgets.pod_group)
        for name in self.kueue:
            self._list(name, f"/apis/{KUEUE.api_version}/{name}", budgets.KUEUE_LISTS[name])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        if self._api.done() and self._api.exception() is None:
            self._api.result().close()

    def facts(
        self,
        jobs: Sequence[AskedJob] = (),
        queues: Iterable[str] = (),
        objects: Sequence[AppliedObject] = (),
    ) -> LiveFacts:
        """The facts of these jobs, of the queues with these names, of all nodes, and what differs in the objects."""
        self._of_namespaces(jobs)
        self._read_objects([*objects, *(job.object for job in jobs), *_records(jobs, self._namespace)])
        concurrent.futures.wait(self._all, timeout=self._seconds)
        return _facts(self, jobs, frozenset(queues), objects)

    def _start(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._all.append(future)
        threading.Thread(target=_settle, args=(future, work), daemon=True).start()
        return future

    def _of_namespaces(self, jobs: Sequence[AskedJob]) -> None:
        """Start to read the pods of these jobs, also those that have ended, and what their namespaces allow."""
        self.namespaces = sorted({self._namespace, *(self.namespace_of(job.object) for job in jobs)})
        for namespace in self.namespaces:
            path = f"/api/v1/namespaces/{quote(namespace, safe='')}"
            here = [job for job in jobs if self.namespace_of(job.object) == namespace]
            if here:
                self._list(f"pods of {namespace}", f"{path}/pods", pod_reader(), _selector(here))
            self._list(f"{QUOTAS} of {namespace}", f"{path}/resourcequotas", budgets.quota)
            self._list(f"{RANGES} of {namespace}", f"{path}/limitranges", budgets.limit_range)

    def _list(
        self, name: str, path: str, keep: Callable[[Any], Any], parameters: Mapping[str, str] | None = None
    ) -> None:
        def read() -> list[Any]:
            api: ClusterApi = self._api.result()
            with api.reading(path):
                listed = api.listed(path, keep, parameters)
            if not isinstance(listed, Answer):
                return listed
            if listed.missing:
                return []  # a kind that the cluster does not serve has no objects
            raise NotReadError(refusal(listed, f"list {name}"))

        self._lists[name] = self._start(read)

    def _read_objects(self, wanted: Sequence[AppliedObject]) -> None:
        """Start to read the objects."""
        waiting: deque[tuple[AppliedObject, Future[Any]]] = deque()
        for item in wanted:
            if self._identity(item) not in self._objects:
                waiting.append((item, Future()))
                self._objects[self._identity(item)] = waiting[-1][1]
        self._all += self._objects.values()
        versions = {item.api_version for item in wanted}
        kinds = {version: self._start(functools.partial(self._served, version)) for version in sorted(versions)}

        def work() -> None:
            with contextlib.suppress(IndexError):
                while True:
                    item, future = waiting.popleft()
                    _settle(future, functools.partial(self._read, item, kinds[item.api_version]))

        for _ in range(min(AT_ONCE, len(waiting))):
            threading.Thread(target=work, daemon=True).start()

    def _served(self, api_version: str) -> dict[str, Served]:
        return served(self._api.result(), api_version)

    def _read(self, item: AppliedObject, kinds: Future[dict[str, Served]]) -> dict[str, Any] | None:
        """The object, None if the cluster has none."""
        api: ClusterApi = self._api.result()
        kind = kinds.result().get(item.kind)
        if kind is None:
            return None
        path = f"{collection(item.api_version, kind, self.namespace_of(item))}/{quote(item.name, safe='')}"
        answer = api.get(path, metadata_only=item.kind == SECRETS)
        if answer.missing:
            return None
        if not answer.found:
            raise NotReadError(refusal(answer, f"read {item.kind}/{item.name}"))
        return answer.body

    # --- results

    def namespace_of(self, item: AppliedObject) -> str:
        """The namespace in which the object is if its kind has one."""
        return item.namespace or self._namespace

    def _identity(self, item: AppliedObject) -> Identity:
        return item.api_version, item.kind, self.namespace_of(item), item.name

    def reason(self, future: Future[Any]) -> str:
        """Why there is no result; "" if there is one."""
        if not future.done():
            return f"no answer within {self._seconds:g} s"
        error = future.exception()
        if error is None:
            return ""
        if isinstance(error, TrainformError):
            return " ".join(without_credentials(error.message).split())
        return str(error) if isinstance(error, NotReadError) else f"the answer cannot be read ({type(error).__name__})"

    def found(self, name: str) -> tuple[list[Any] | None, str]:
        """A list, or None and the reason."""
        future = self._lists[name]
        reason = self.reason(future)
        return (None, reason) if reason else (future.result(), "")

    def object(self, item: AppliedObject) -> tuple[dict[str, Any] | None, str]:
        """An object, or None and the reason, which is empty if the cluster has no such object."""
        future = self._objects[self._identity(item)]
        reason = self.reason(future)
        return (None, reason) if reason else (future.result(), "")

    @property
    def unreachable(self) -> str:
        """Why nothing at all could be read; "" if something was."""
        reasons = [self.reason(future) for future in (*self._lists.values(), *self._objects.values())]
        return self.reason(self._api) or (reasons[0] if len(set(reasons)) == 1 else "")


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


def _selector(jobs: Sequence[AskedJob]) -> dict[str, str]:
    """The pods of these jobs; any pod if one of the jobs is not of an experiment."""
    names = sorted({job.experiment for job in jobs})
    ours = ",".join(f"{label}={value}" for label, value in defaults.MANAGED_BY.items())
    return {} if "" in names else {"labelSelector": f"{ours},{defaults.NAME_LABEL} in ({','.join(names)})"}


# --- facts


def _facts(
    reads: LiveReads, jobs: Sequence[AskedJob], queues: frozenset[str], objects: Sequence[AppliedObject]
) -> LiveFacts:
    now = utc_now()
    if reads.unreachable:
        return LiveFacts(now, not_read={"cluster": reads.unreachable})
    not_read: dict[str, str] = {}
    pods, no_pods = reads.found("pods")
    every = _queues(reads, pods, not_read)
    facts = LiveFacts(
        now,
        _jobs(reads, jobs, not_read),
        None if every is None else tuple(queue for queue in every if queue.name in queues),
        _nodes(reads, pods, not_read),
        other_queues=tuple(queue for queue in (() if every is None else every) if queue.name not in queues),
    )
    if no_pods:
        not_read[NO_HOLDERS] = no_pods
    quotas = _by_namespace(reads, QUOTAS, not_read)
    facts = structs.replace(
        facts,
        quotas={name: tuple(budgets.with_holders(each, pods) for each in found) for name, found in quotas.items()},
        ranges=_by_namespace(reads, RANGES, not_read),
        kueue=_kueue(reads, not_read),
    )
    facts = _with_drift(facts, reads, objects, not_read)
    gone = [*facts.missing, *(_shown(job.object) for job in jobs if reads.object(job.object) == (None, ""))]
    return structs.replace(facts, missing=tuple(dict.fromkeys(gone)), not_read=not_read)


def _shown(item: AppliedObject) -> str:
    return f"{item.kind}/{item.name}"


def _jobs(reads: LiveReads, jobs: Sequence[AskedJob], not_read: dict[str, str]) -> tuple[LiveJob, ...] | None:
    found = []
    for job in jobs:
        body, reason = reads.object(job.object)
        if reason:
            not_read[_shown(job.object)] = reason
        elif body is not None:
            found.append(_job(reads, job, body, not_read))
    unread = any(_shown(job.object) in not_read for job in jobs)
    return None if unread and not found else tuple(found)


def _job(reads: LiveReads, job: AskedJob, body: Mapping[str, Any], not_read: dict[str, str]) -> LiveJob:
    namespace = reads.namespace_of(job.object)
    pods, reason = reads.found(f"pods of {namespace}")
    if reason:
        not_read[f"pods of {namespace}"] = reason
    own = [pod for pod in ([] if pods is None else pods) if pod.job == f"{namespace}/{job.object.name}"]
    counts = Counter(pod.phase for pod in own)
    started = min((pod.started for pod in own if pod.phase == "Running" and pod.started), default="")
    record = None
    if job.experiment:
        record, no_record = reads.object(_record(job, namespace))
        if no_record:
            not_read[f"ConfigMap/{record_name(job.experiment)}"] = no_record
    created = str(mapping(body.get("metadata")).get("creationTimestamp", ""))
    return LiveJob(job.object.name, phase_of(body, counts), created, started, dict(sorted(counts.items())), record)


def _queues(reads: LiveReads, pods: list[HeldPod] | None, not_read: dict[str, str]) -> tuple[LiveQueue, ...] | None:
    queues, reason = reads.found("queues")
    if queues is None:
        not_read["queues"] = reason
        return None
    groups, no_groups = reads.found("pod groups")
    if groups is None:  # without them nobody knows in which queue a pod is
        not_read[NO_HOLDERS] = no_groups
    queue_of = dict([] if groups is None else groups)
    held: dict[str, list[HeldPod]] = {}
    for pod in [] if pods is None or groups is None else pods:
        if pod.holds:
            held.setdefault(queue_of.get(pod.group, pod.queue), []).append(pod)
    return tuple(
        with_holders(queue, held.get(queue.name, ())) for queue in sorted(queues, key=lambda queue: queue.name)
    )


def _nodes(reads: LiveReads, pods: list[HeldPod] | None, not_read: dict[str, str]) -> tuple[LiveNode, ...] | None:
    nodes, reason = reads.found("nodes")
    if nodes is None:
        not_read["nodes"] = reason
    if nodes is None or pods is None:
        return None  # what is free on a node is not known without its pods
    on: dict[str, list[HeldPod]] = {}
    for pod in pods:
        if pod.holds:
            on.setdefault(pod.node, []).append(pod)
    return tuple(with_pods(node, on.get(node.name, ())) for node in sorted(nodes, key=lambda node: node.name))


def _by_namespace(reads: LiveReads, kind: str, not_read: dict[str, str]) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for namespace in reads.namespaces:
        items, reason = reads.found(f"{kind} of {namespace}")
        if items is None:
            not_read[f"{kind} of {namespace}"] = reason
        else:
            found[namespace] = tuple(sorted(items, key=lambda each: str(each.name)))
    return found


def _kueue(reads: LiveReads, not_read: dict[str, str]) -> LiveKueue | None:
    found = {name: reads.found(name) for name in reads.kueue}
    unread = {name: reason for name, (items, reason) in found.items() if items is None}
    not_read |= unread
    return None if unread or not found else budgets.kueue(*(items for items, _ in found.values() if items is not None))


def _with_drift(
    facts: LiveFacts, reads: LiveReads, objects: Sequence[AppliedObject], not_read: dict[str, str]
) -> LiveFacts:
    found: list[Drift] = []
    missing, reasons = list[str](), list[str]()
    for item in objects:
        body, reason = reads.object(item)
        if reason:
            reasons.append(reason)
        elif body is None:
            missing.append(_shown(item))
        else:
            found += drift_of(item.body, body)
    if reasons:
        not_read["drift"] = f"{len(reasons)} of {len(objects)} objects could not be read: {reasons[0]}"
    if objects and len(reasons) == len(objects):
        return facts
    return structs.replace(facts, drift=tuple(found), missing=tuple(missing))
