"""The facts of a live cluster that a review needs, read in parallel and in a bounded time.

What cannot be read, or is late, is reported and never raised. Threads that are late end with the process.
"""

from __future__ import annotations

import concurrent.futures
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.cluster import budgets
from trainform.cluster.amounts import Amounts, all_spelled, summed
from trainform.cluster.api import NOT_ENDED, ClusterApi, labelled, start_threads
from trainform.cluster.facts import (
    NO_HOLDERS,
    OBJECTS,
    LiveFacts,
    LiveJob,
    LiveKueue,
    LiveNode,
    LiveQueue,
    LiveQuota,
)
from trainform.cluster.held import HeldPod, add_pods, add_queue_holders, free_node, held_by_job, pod_reader, priorities
from trainform.cluster.live_drift import Drift, drift_of, utc_now
from trainform.cluster.live_objects import Key, ObjectReader, key_of, path_of
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import PodState, phase_of
from trainform.errors import TrainformError, without_credentials
from trainform.manifests.manifest import mapping

Body = Mapping[str, Any]
SECONDS = 2.0
AT_ONCE = 6  # objects; the lists take the other connections of `api.MAX_CONNECTIONS`
RECORDS = "what is deployed"


class LiveReads:
    """Reads that run in their own threads, and their results. The lists that need no preview begin at once; `facts`
    reads the rest. In a `with` block, which closes the connections."""

    def __init__(self, context: str | None, namespace: str, seconds: float = SECONDS, *, kueue: bool = False) -> None:
        """namespace: for objects without one. seconds: how long `facts` waits. kueue: read Kueue's queues too."""
        self._namespace, self._seconds = namespace, seconds
        # a request has no timeout: `facts` ends the wait for all of them
        (self._reader,) = start_threads(lambda where: ObjectReader(ClusterApi(where, None)), [context], 1)
        self.namespaces, self.kueue = [namespace], [*budgets.KUEUE_LISTS] if kueue else []
        self.not_read: dict[str, str] = {}
        self._lists: dict[str, Future[list[Any]]] = {}
        self._objects: dict[Key, Future[dict[str, Any] | None]] = {}
        self.start_list("nodes", "/api/v1/nodes", free_node)
        self.start_list("pods", "/api/v1/pods", pod_reader(), NOT_ENDED)
        self.start_list("queues", f"/apis/{QUEUE_API}/queues", budgets.queue)
        self.start_list("pod groups", f"/apis/{QUEUE_API}/podgroups", budgets.pod_group)
        for name in self.kueue:
            self.start_list(name, f"/apis/{KUEUE.api_version}/{name}", budgets.KUEUE_LISTS[name])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections."""
        if self._reader.done() and self._reader.exception() is None:
            self._reader.result().api.close()

    def list_deployed(self, environment: str, namespace: str) -> None:
        """Start to read which stacks are deployed in the environment."""
        keep = labelled({defaults.ENVIRONMENT_LABEL: environment}, f"!{defaults.REVISION_LABEL}")
        self.start_list(RECORDS, path_of("ConfigMap", namespace), _stack_of_record, keep)

    def facts(self, jobs: Sequence[Body] = (), objects: Sequence[Body] = ()) -> LiveFacts:
        """Return the facts of these jobs, of all queues and nodes, and the drift of objects from what was applied last,
        without secret and unknown values."""
        self._list_in_namespaces(jobs)
        keys = [*dict.fromkeys(map(self.key, [*objects, *jobs]))]
        reads = start_threads(lambda key: self._reader.result().get(key), keys, AT_ONCE)
        self._objects = dict(zip(keys, reads, strict=True))
        futures: list[Future[Any]] = [self._reader, *self._lists.values(), *reads]
        concurrent.futures.wait(futures, timeout=self._seconds)
        return _facts(self, jobs, objects)

    def _list_in_namespaces(self, jobs: Sequence[Body]) -> None:
        """Start to read the pods of these jobs, also those that have ended, and the quotas of their namespaces."""
        self.namespaces = sorted({self._namespace, *(self.key(job)[2] for job in jobs)})
        for namespace in self.namespaces:
            here = [job for job in jobs if self.key(job)[2] == namespace]
            pods = path_of("Pod", namespace)
            if here:
                self.start_list(f"pods of {namespace}", pods, pod_reader(), _selector(here))
            quotas = f"{pods.removesuffix('pods')}resourcequotas"
            self.start_list(f"resource quotas of {namespace}", quotas, budgets.quota)

    def start_list(
        self, name: str, path: str, keep: Callable[[Any], Any], parameters: Mapping[str, str] | None = None
    ) -> None:
        """Start to read a list. `result` returns what `keep` returns for each object."""

        def read(path: str) -> list[Any]:
            return self._reader.result().api.find_all(path, f"list {name}", keep, parameters)

        (self._lists[name],) = start_threads(read, [path], 1)

    # --- results

    def key(self, body: Body) -> Key:
        """Return the key of an object, with the namespace that it has if its kind has one."""
        return key_of(body, self._namespace)

    def _reason(self, future: Future[Any]) -> str:
        """Return why there is no result; "" if there is one."""
        if not future.done():
            return f"no answer within {self._seconds:g} s"
        error = future.exception()
        if error is None:
            return ""
        if isinstance(error, TrainformError):
            return " ".join(without_credentials(error.message).split())
        return f"the answer cannot be read ({type(error).__name__})"

    def result(self, name: str, shown: str = "") -> list[Any] | None:
        """Return a list; None if it was not read. Then `not_read` has the reason, under the name that is shown."""
        if name not in self._lists:
            return None
        reason = self._reason(self._lists[name])
        if reason:
            self.not_read[shown or name] = reason
            return None
        return self._lists[name].result()

    def object(self, body: Body) -> tuple[dict[str, Any] | None, str]:
        """Return an object, or None and the reason, which is empty if the cluster has no such object."""
        future = self._objects[self.key(body)]
        reason = self._reason(future)
        return (None, reason) if reason else (future.result(), "")

    @property
    def unreachable(self) -> str:
        """Return the reason why nothing could be read; "" if anything was."""
        futures: list[Future[Any]] = [*self._lists.values(), *self._objects.values()]
        reasons = [self._reason(future) for future in futures]
        return self._reason(self._reader) or (reasons[0] if len(set(reasons)) == 1 else "")


def _selector(jobs: Sequence[Body]) -> dict[str, str]:
    """Return the selector of the pods of these jobs; of any pod if one of the jobs is not of an experiment."""
    labels = [mapping(mapping(job.get("metadata")).get("labels")) for job in jobs]
    if not all(defaults.MANAGED_BY.items() <= each.items() for each in labels):
        return {}
    names = sorted({str(each[defaults.NAME_LABEL]) for each in labels})
    return labelled(None, f"{defaults.NAME_LABEL} in ({','.join(names)})")


def _stack_of_record(body: Mapping[str, Any]) -> str:
    return str(mapping(mapping(body.get("metadata")).get("annotations")).get(defaults.STACK_ANNOTATION, ""))


# --- facts


def _facts(reads: LiveReads, jobs: Sequence[Body], objects: Sequence[Body]) -> LiveFacts:
    now = utc_now()
    if reads.unreachable:
        return LiveFacts(now, not_read={"cluster": reads.unreachable})
    pods = reads.result("pods", NO_HOLDERS)
    holding = None if pods is None else [pod for pod in pods if pod.holds]
    gangs = defaultdict[str, list[Amounts]](list)  # they wait in a queue before their pods exist
    for group in reads.result("pod groups", NO_HOLDERS) or ():
        if group.requests:
            gangs[group.job].append(group.requests)
    waiting = {job: all_spelled(summed(each)) for job, each in gangs.items()}
    deployed = reads.result(RECORDS)
    drift, missing = _drift(reads, objects)
    gone = [*missing, *(_shown(job) for job in jobs if reads.object(job) == (None, ""))]
    return LiveFacts(
        now,
        jobs=_jobs(reads, jobs),
        queues=_queues(reads, holding),
        nodes=_nodes(reads, holding),
        quotas=_quotas(reads, pods),
        kueue=_kueue(reads),
        priorities=priorities(holding or ()),
        waiting=held_by_job(pod for pod in pods or () if pod.waits) | waiting,
        deployed=None if deployed is None else frozenset(filter(None, deployed)),
        drift=drift,
        missing=tuple(dict.fromkeys(gone)),
        not_read=reads.not_read,
    )


def _shown(body: Body) -> str:
    _, kind, _, name = key_of(body)
    return f"{kind}/{name}"


def _jobs(reads: LiveReads, jobs: Sequence[Body]) -> tuple[LiveJob, ...] | None:
    found, unread = list[LiveJob](), False
    for job in jobs:
        body, reason = reads.object(job)
        if reason:
            reads.not_read[_shown(job)] = reason
            unread = True
        elif body is not None:
            found.append(_job(reads, job, body))
    return None if unread and not found else tuple(found)


def _job(reads: LiveReads, job: Body, body: Body) -> LiveJob:
    _, _, namespace, name = reads.key(job)
    pods = reads.result(f"pods of {namespace}")
    own = [pod for pod in pods or () if pod.job == f"{namespace}/{name}"]
    counts = Counter(pod.state for pod in own)
    started = min((pod.started for pod in own if pod.state == PodState.RUNNING and pod.started), default="")
    phase = phase_of(body, None if pods is None else counts)
    return LiveJob(name, phase, started, dict(sorted(counts.items())))


def _queues(reads: LiveReads, holding: list[HeldPod] | None) -> tuple[LiveQueue, ...] | None:
    queues = reads.result("queues")
    if queues is None:
        return None
    groups = reads.result("pod groups", NO_HOLDERS)  # without them it is unknown in which queue a pod is
    queue_of = {group.name: group.queue for group in groups or ()}
    held = defaultdict[str, list[HeldPod]](list)
    for pod in (holding or ()) if groups is not None else ():
        held[queue_of.get(pod.group, pod.queue)].append(pod)
    return tuple(add_queue_holders(queue, held[queue.name]) for queue in sorted(queues, key=lambda queue: queue.name))


def _nodes(reads: LiveReads, holding: list[HeldPod] | None) -> tuple[LiveNode, ...] | None:
    nodes = reads.result("nodes")
    if nodes is None or holding is None:
        return None  # without the pods the free resources of a node are unknown
    on = defaultdict[str, list[HeldPod]](list)
    for pod in holding:
        on[pod.node].append(pod)
    return tuple(add_pods(node, on[node.name]) for node in sorted(nodes, key=lambda node: node.name))


def _quotas(reads: LiveReads, pods: list[HeldPod] | None) -> dict[str, tuple[LiveQuota, ...]]:
    quotas: dict[str, tuple[LiveQuota, ...]] = {}
    for namespace in reads.namespaces:
        found = reads.result(f"resource quotas of {namespace}")
        if found is not None:
            ordered = sorted(found, key=lambda quota: str(quota.name))
            quotas[namespace] = tuple(budgets.add_quota_holders(quota, pods) for quota in ordered)
    return quotas


def _kueue(reads: LiveReads) -> LiveKueue:
    """Return the queues of Kueue; none if one of the lists was not read."""
    lists = [items for name in reads.kueue if (items := reads.result(name)) is not None]
    return budgets.kueue(*lists) if len(lists) == len(budgets.KUEUE_LISTS) else LiveKueue({}, ())


def _drift(reads: LiveReads, objects: Sequence[Body]) -> tuple[tuple[Drift, ...] | None, list[str]]:
    """Return the drift of the objects (None if none of them could be read), and the objects that do not exist."""
    found, missing, reasons = list[Drift](), list[str](), list[str]()
    for item in objects:
        body, reason = reads.object(item)
        if reason:
            reasons.append(reason)
        elif body is None:
            missing.append(_shown(item))
        else:
            found += drift_of(item, body)
    if reasons:
        reads.not_read[OBJECTS] = f"{len(reasons)} of {len(objects)} objects could not be read: {reasons[0]}"
    return None if objects and len(reasons) == len(objects) else tuple(found), missing
