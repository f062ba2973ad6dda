"""Why a job waits: a closed, ordered table of reasons. Each is a pure function of the job's objects and the cluster's
facts; the arithmetic is that of `review`.

An event or a condition counts only while the object's current state agrees with it.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.amounts import NOTHING, POD_SLOTS, spelled
from trainform.cluster.facts import LiveFacts
from trainform.cluster.held import ENDED
from trainform.cluster.pod_references import CLAIM, Reference, creation
from trainform.errors import list_names, without_credentials
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import NamedObject, named_objects
from trainform.review.capacity import Estimate
from trainform.review.context import Context
from trainform.review.job_objects import local_queue_of, queue_of
from trainform.review.pod_limits import MOST_NAMED, Lack
from trainform.review.pod_needs import need_of
from trainform.review.preview import Preview
from trainform.running.facts import EVICTIONS, MADE_FIRST, Facts, admission_of, named_by_pods, review_of
from trainform.running.model import Holder, Reason
from trainform.running.snapshot import Body, Snapshot

SILENT_SECONDS = 30  # without any sign of a controller
LONGEST = 400  # characters of a text from elsewhere
IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"})
CONFIGURATION = "CreateContainerConfigError"
REFUSED = frozenset({CONFIGURATION, "CreateContainerError", "RunContainerError"})
NOT_CREATED = frozenset({"FailedCreate", "FailedCreatePod", "JobCreationFailed", "PodGroupError", "PluginError"})
WEBHOOK, QUOTA = re.compile(r'admission webhook "([^"]+)"'), re.compile(r"exceeded quota: ([^,\s]+)")
KUEUE_DEPLOYMENT = "kueue-system/kueue-controller-manager"
SCHEDULER_DEPLOYMENTS = {"volcano": "volcano-system/volcano-scheduler"}


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A job that waits, and the facts about it. The rows of the table look at its parts."""

    snapshot: Snapshot
    facts: Facts | None

    @property
    def live(self) -> LiveFacts | None:
        """Return the facts of the cluster; None if they were not read."""
        return None if self.facts is None else self.facts.live

    @functools.cached_property
    def admission(self) -> str:
        """Return what admits the job."""
        return admission_of(self.snapshot)

    @functools.cached_property
    def queue(self) -> str:
        """Return KIND/NAME of its queue; "" if it waits in none."""
        kueue, review = self.admission == defaults.KUEUE, review_of(self.snapshot)
        name = local_queue_of(review, after=True) if kueue else queue_of(review, after=True)
        return f"{'LocalQueue' if kueue else 'Queue'}/{name}" if name and self.admission != defaults.NONE else ""

    @functools.cached_property
    def pods(self) -> list[Body]:
        """Return the pods that have not ended."""
        return [
            pod
            for pod in self.snapshot.pods
            if mapping(pod.get("status")).get("phase") not in ENDED and not _metadata(pod).get("deletionTimestamp")
        ]

    @functools.cached_property
    def unplaced(self) -> list[Body]:
        """Return the pods without a node."""
        return [pod for pod in self.pods if not mapping(pod.get("spec")).get("nodeName")]

    @functools.cached_property
    def estimate(self) -> Estimate | None:
        """Return the room for its pods; None if the pods or the cluster are unknown."""
        review, target = review_of(self.snapshot), self.snapshot.target
        preview = Preview("stream", review.steps)
        context = Context(target.stack, preview, (review,), target.environment, self.live)
        need = need_of(review, context) if self.live is not None else None
        return None if need is None or not need.pods else Estimate(context, [need])

    @functools.cached_property
    def lacks(self) -> list[Lack]:
        """Return what the pods that have no node lack."""
        if self.estimate is None:
            return []
        (need,) = self.estimate.jobs.needs
        placed = len(self.pods) - len(self.unplaced)
        lacks = [lack for lack in self.estimate.lacks() if lack.verdict in ("never", "later")]
        if placed >= need.every[POD_SLOTS]:
            return []
        return [lack for lack in lacks if lack.part] if placed >= need.gang[POD_SLOTS] else lacks

    def silent(self, body: Body | None) -> bool:
        """Return True if the object has existed for longer than a controller needs."""
        begun, now = _time(_metadata(body).get("creationTimestamp")), _time(self.snapshot.read_at)
        return begun is not None and now is not None and (now - begun).total_seconds() > SILENT_SECONDS

    def read(self, part: str) -> bool:
        """Return True if the part of the snapshot was read."""
        return part not in self.snapshot.not_read


Finder = Callable[[Case], Iterator[Reason]]


class Row(Struct, frozen=True):
    """A reason. meaning: for the documentation. fallback: it counts only if no other row has found one."""

    meaning: str
    find: Finder
    fallback: bool = False


def reasons(snapshot: Snapshot, facts: Facts | None = None) -> tuple[Reason, ...]:
    """Return why the job waits, first what waiting does not solve, then in the order of the table; empty if that is
    unknown."""
    if snapshot.job is None:
        return ()
    case, found = Case(snapshot, facts), list[Reason]()
    for code, row in CODES.items():
        if not (row.fallback and found):
            found += [structs.replace(reason, code=code) for reason in row.find(case)]
    return tuple(sorted(found, key=lambda reason: not reason.never))


def _reason(text: str, fix: str, of: str = "", **more: Any) -> Reason:
    return Reason("", f"{text[0].upper()}{text[1:]}.", fix, of, **more)


# --- queues, quotas and nodes


def _missing_queue(case: Case) -> Iterator[Reason]:
    kind, _, name = case.queue.partition("/")
    live = case.live
    known = [] if live is None else [queue.name for queue in (*(live.queues or ()), *live.other_queues)]
    if not name or case.snapshot.queue is not None or not case.read("queue") or name in known:
        return
    others = [each for each in known if each != defaults.ROOT_QUEUE] if kind == "Queue" else []
    instead = f" ({list_names(sorted(others))})" if others else ""
    fix = f"set `queue` to an existing one{instead}, or ask the platform team for it"
    yield _reason(f"the {kind} {name} does not exist", fix, case.queue)


def _closed_queue(case: Case) -> Iterator[Reason]:
    status = mapping(mapping(case.snapshot.queue).get("status"))
    kind, _, name = case.queue.partition("/")
    state = str(status.get("state") or "Open")
    fix = "wait until it is opened again, set `queue` to another one, or ask the platform team to open it"
    if kind == "Queue" and state != "Open":
        yield _reason(f"the queue {name} is {state}: it starts no jobs", fix, case.queue)
    stopped = [lack for lack in case.lacks if lack.object and not lack.resource]
    yield from (_reason(lack.reason, fix, lack.object) for lack in stopped)
    inactive = _condition(case.snapshot.queue, "Active")
    if kind == "LocalQueue" and inactive.get("status") == "False" and not stopped:
        yield _reason(f"the LocalQueue {name} is not active: {_words(inactive.get('message'))}", fix, case.queue)


def _lacking(fits: Callable[[Case, Lack], bool], fix: str) -> Finder:
    """Return the finder of the shortages that fit."""

    def find(case: Case) -> Iterator[Reason]:
        shortages = (lack for lack in case.lacks if lack.resource or not lack.object)
        return (_shortage(case, lack, fix) for lack in shortages if fits(case, lack))

    return find


def _shortage(case: Case, lack: Lack, fix: str) -> Reason:
    estimate = case.estimate
    if estimate is None or not lack.resource:
        return _reason(lack.reason, fix, lack.object, never=lack.verdict == "never")
    largest = "" if lack.largest is None else spelled(lack.resource, lack.largest)
    fitting, gang = _fitting(case)
    facts = [f"{fitting} of {gang} pods fit"] if lack.largest is not None and lack.verdict == "later" else []
    facts += [f"the largest free node has {largest}"] if lack.largest is not None and lack.each <= lack.largest else []
    return _reason(
        f"{lack.reason}{f' ({list_names(facts)})' if facts else ''}",
        fix,
        lack.object,
        never=lack.verdict == "never",
        resource=estimate.names.get(lack.resource, lack.resource),
        needed=spelled(lack.resource, lack.requested),
        free=spelled(lack.resource, max(lack.requested - lack.missing, NOTHING)),
        largest=largest,
        holders=tuple(Holder(*holder) for holder in estimate.holders(lack)),
    )


def _fitting(case: Case) -> tuple[int, int]:
    """Return how many pods of the gang fit on the nodes now, each role alone, and how many it has."""
    if case.estimate is None:
        return 0, 0
    pods = [each for need in case.estimate.jobs.needs for each in need.pods]
    return sum(min(case.estimate.role(each).fit, each.gang) for each in pods), sum(each.gang for each in pods)


def _is_of(*kinds: str) -> Callable[[Case, Lack], bool]:
    return lambda case, lack: lack.verdict == "later" and lack.object.partition("/")[0] in kinds


def _is_borrowed(case: Case, lack: Lack) -> bool:
    """Return True if queues above their share hold the room to which the job's queue has a right."""
    if case.estimate is None or lack.largest is None:
        return False
    holders = (case.estimate.queue_of.get(job) for job in case.estimate.evicts(lack))
    return any(queue is not None and f"Queue/{queue.name}" != case.queue for queue in holders)


def _is_of_nodes(case: Case, lack: Lack) -> bool:
    return lack.verdict == "later" and lack.largest is not None and not _is_borrowed(case, lack)


def _short_gang(case: Case) -> Iterator[Reason]:
    """Yield a gang of which pods are missing: not created yet, or without a place where the nodes were not read."""
    needed = mapping(mapping(case.snapshot.gang).get("spec")).get("minMember")
    if case.admission != defaults.VOLCANO or not isinstance(needed, int) or case.lacks or not case.pods:
        return
    of, existing = f"PodGroup/{_name(case.snapshot.gang)}", len(case.pods)
    if existing < needed and case.silent(case.snapshot.job):
        fix = "wait until its controller creates them; the other reasons and `kubectl get events` tell why it does not"
        yield _reason(f"the gang is short by {needed - existing}: {existing} of its {needed} pods exist", fix, of)
    schedulable = sum(_condition(pod, "PodScheduled").get("reason") == "Schedulable" for pod in case.unplaced)
    if 0 < schedulable < needed <= existing:
        fix = "wait until another job ends, or use fewer pods"
        text = f"the gang is short by {needed - schedulable}: {schedulable} of its {needed} pods have a place"
        yield _reason(text, fix, of)


def _behind(case: Case) -> Iterator[Reason]:
    if case.estimate is not None and case.unplaced == case.pods and (ahead := case.estimate.ahead()):
        fix = "wait, or set `priority_class` to a higher one"
        yield _reason(f"the pods fit, and {list_names(ahead, MOST_NAMED)} may take the room first", fix)


# --- what the pods need


def _unbound_claims(case: Case) -> Iterator[Reason]:
    namespace = case.snapshot.target.namespace
    claims = {_name(claim): claim for claim in case.snapshot.claims}
    schedulers = [str(_condition(pod, "PodScheduled").get("message", "")) for pod in case.unplaced]
    needed = sorted({named.name for named in named_by_pods(case.snapshot) if named.kind == CLAIM})
    for name in needed if case.read("claims") else ():
        of, look = f"{CLAIM}/{name}", f"`kubectl describe pvc {name} -n {namespace}` has the reason"
        claim = claims.get(name)
        phase = mapping(mapping(claim).get("status")).get("phase")
        chosen = mapping(_metadata(claim).get("annotations")).get("volume.kubernetes.io/selected-node")
        if claim is None:
            yield _reason(f"the claim {name} does not exist in {namespace}", f"create it, or run `pulumi up`: {look}", of)
        elif phase == "Lost":
            yield _reason(f"the volume of the claim {name} is lost", f"restore the volume: {look}", of)
        # a class may wait for the first pod: then the claim is unbound until the scheduler chooses a node
        elif phase == "Pending" and (chosen or any("unbound immediate" in text for text in schedulers)):
            spec = mapping(claim.get("spec"))
            size = mapping(mapping(spec.get("resources")).get("requests")).get("storage", "")
            text = f"the claim {name} ({size}, class {spec.get('storageClassName', 'default')}) has no volume yet"
            yield _reason(text, f"wait for its provisioner, or correct its class: {look}", of)


def _missing_objects(case: Case) -> Iterator[Reason]:
    """Yield the Secrets and ConfigMaps that do not exist, by a read or by the kubelet, each once."""
    live, namespace = case.live, case.snapshot.target.namespace
    needed = {(each.kind, each.name): each for each in named_by_pods(case.snapshot) if each.kind in MADE_FIRST}
    missing = {} if live is None else {f"{kind}/{name}": "" for kind, name in needed if f"{kind}/{name}" in live.missing}
    kubelet = [(pod, str(state.get("message"))) for pod, state in _waiting(case, {CONFIGURATION})]
    for pod, message in (*kubelet, *_mounts(case)):
        for named in _named_in(pod, message):
            missing.setdefault(f"{named.kind}/{named.name}", message)
    for of, message in missing.items():
        kind, _, name = of.partition("/")
        named = needed.get((kind, name)) or NamedObject(kind, name, (), (), optional=False, as_files=True)
        fix = creation(Reference(kind, name, named.keys, "", named.as_files), namespace)
        yield _reason(_words(message) if message else f"the {kind} {name} does not exist in {namespace}", fix, of)


def _named_in(pod: Body, message: str) -> list[NamedObject]:
    """Return the Secrets and ConfigMaps of the pod that the kubelet names in its message."""
    named = (each for each in named_objects(mapping(pod.get("spec"))) if each.kind in MADE_FIRST)
    return [each for each in named if re.search(rf'["/ ]{re.escape(each.name)}(?=["\s]|$)', message)]


def _mounts(case: Case) -> Iterator[tuple[Body, str]]:
    """Yield the newest mount that failed of each pod whose containers still wait for it, unless a read has found all
    that the pod names."""
    for pod in case.pods:
        own = [event for event in _events(case, {"FailedMount"}) if _of(event, pod)]
        if own and _states(pod) and all("waiting" in state for state in _states(pod)):
            message = str(own[-1].get("message"))
            missing = None if case.live is None or case.live.drift is None else case.live.missing
            if missing is None or any(f"{each.kind}/{each.name}" in missing for each in _named_in(pod, message)):
                yield pod, message


def _images(case: Case) -> Iterator[Reason]:
    fix = "correct `image`, or name a Secret for its registry in `image_pull_secrets`"
    yield from _containers(case, IMAGE, "cannot pull its image", fix)


def _refused_containers(case: Case) -> Iterator[Reason]:
    yield from _containers(case, REFUSED, "cannot be created", "correct the experiment, then run `pulumi up`")


def _containers(case: Case, states: Iterable[str], what: str, fix: str) -> Iterator[Reason]:
    """Yield each message of a kubelet once, with the number of pods that have it."""
    found = [
        (_name(pod), state, _words(state.get("message") or state.get("reason")))
        for pod, state in _waiting(case, states)
        if not (state.get("reason") == CONFIGURATION and _named_in(pod, str(state.get("message"))))
    ]
    for message, pods in _grouped((message, pod) for pod, _, message in found).items():
        more = f" (and {len(pods) - 1} more)" if len(pods) > 1 else ""
        yield _reason(f"the pod {pods[0]}{more} {what}: {message}", fix, f"Pod/{pods[0]}")


# --- what others refuse, or do not do


def _quota(case: Case) -> Iterator[Reason]:
    fix = "wait until another job of the namespace ends, use fewer pods, or ask for a higher quota"
    yield from _lacking(_is_of("ResourceQuota"), fix)(case)
    if not any(lack.object.startswith("ResourceQuota/") for lack in case.lacks):
        for message in _refusals(case):
            if (quota := QUOTA.search(message)) is not None:
                yield _reason(f"the API server refuses pods: {_words(message[quota.start() :])}", fix,
                              f"ResourceQuota/{quota[1]}")  # fmt: skip


def _denied(case: Case) -> Iterator[Reason]:
    for message in _refusals(case):
        if QUOTA.search(message) is None:
            webhook = WEBHOOK.search(message)
            by, of = ("the API server", "") if webhook is None else (f"the webhook {webhook[1]}", f"Webhook/{webhook[1]}")
            fix = "correct the field that the message names, or ask the platform team"
            yield _reason(f"{by} refuses the pods: {_words(message)}", fix, of)


def _refusals(case: Case) -> Iterator[str]:
    """Yield the newest message on pods that could not be created, if pods are missing and none was created after it."""
    created = max((str(_metadata(pod).get("creationTimestamp")) for pod in case.pods), default="")
    begun = str(_metadata(case.snapshot.job).get("creationTimestamp", ""))
    found = [event for event in _events(case, NOT_CREATED) if event_time(event) >= max(created, begun)]
    if found and len(case.pods) < _expected(case):
        yield str(found[-1].get("message"))


def _expected(case: Case) -> float:
    """Return how many pods the job has when all run."""
    if case.estimate is None:
        return float("inf")
    return sum(float(need.every[POD_SLOTS]) for need in case.estimate.jobs.needs)


def _kueue(case: Case) -> Iterator[Reason]:
    """Yield why Kueue does not admit the job, in its own words."""
    gang = case.snapshot.gang
    if case.admission != defaults.KUEUE or gang is None or _condition(gang, "Admitted").get("status") == "True":
        return
    of, position = f"Workload/{_name(gang)}", None if case.facts is None else case.facts.position
    place = "position in the queue unknown" if position is None else f"position {position + 1} in the queue"
    reserved = _condition(gang, "QuotaReserved")
    if reserved.get("status") != "True":
        words = _words(reserved.get("message") or "it has not looked at the job yet")
        yield _reason(f"Kueue has not admitted the job ({place}): {words}", "wait, or set `queue` to another one", of)
    for check in mappings(mapping(gang.get("status")).get("admissionChecks")):
        if reserved.get("status") == "True" and check.get("state") != "Ready":
            text = f"the admission check {check.get('name')} is {check.get('state')}: {_words(check.get('message'))}"
            yield _reason(text, "wait, or ask the platform team", of)


def _no_workload(case: Case) -> Iterator[Reason]:
    waits = case.admission == defaults.KUEUE and case.snapshot.gang is None and case.read("gang") and not case.pods
    if waits and case.silent(case.snapshot.job):
        text = "Kueue has made no Workload for the job: it does not run, or does not manage jobs of this kind"
        yield _reason(text, f"look at {_deployment(KUEUE_DEPLOYMENT)}, and at `integrations.frameworks` in its "
                      "configuration", f"Deployment/{KUEUE_DEPLOYMENT.partition('/')[2]}")  # fmt: skip


def _silent_controller(case: Case) -> Iterator[Reason]:
    job, record = case.snapshot.job, case.snapshot.record
    backend = case.snapshot.target.environment.backend if record is None else record.backend
    held = case.admission == defaults.KUEUE and (case.snapshot.gang is None or not _condition(case.snapshot.gang, "Admitted"))
    if backend in BACKENDS and not held and not case.snapshot.pods and _is_empty(mapping(job).get("status")) and (
        case.silent(job)
    ):
        place = BACKENDS[backend].CONTROLLER
        text = f"{BACKENDS[backend].PROJECT} has done nothing with the job since it was created"
        yield _reason(text, f"look at {_deployment(place)}", f"Deployment/{place.partition('/')[2]}")


def _scheduler(case: Case) -> Iterator[Reason]:
    """Yield the scheduler's own words on the pods without a node, or on the gang; or that it has none."""
    conditions = [(pod, _condition(pod, "PodScheduled")) for pod in case.unplaced]
    words = Counter(_words(each.get("message")) for _, each in conditions if each.get("message"))
    unseen = [pod for pod, each in conditions if not each and case.silent(pod)]
    gang = max(mappings(mapping(mapping(case.snapshot.gang).get("status")).get("conditions")), default={},
               key=lambda each: str(each.get("lastTransitionTime")))  # fmt: skip
    fix = "correct the experiment, or wait"
    if words:
        (message, count), *_ = words.most_common(1)
        yield _reason(f"the scheduler does not place {count} of {len(case.pods)} pods: {message}", fix)
    elif unseen:
        scheduler = str(mapping(unseen[0].get("spec")).get("schedulerName"))
        place = SCHEDULER_DEPLOYMENTS.get(scheduler)
        look = f"look at {_deployment(place)}" if place else f"ask the platform team whether {scheduler} runs"
        yield _reason(f"the scheduler {scheduler} has not looked at the pod {_name(unseen[0])}", look,
                      f"Pod/{_name(unseen[0])}")  # fmt: skip
    elif not case.pods and gang.get("type") == "Unschedulable" and gang.get("status") == "True":
        text = f"the scheduler does not start the gang: {_words(gang.get('message'))}"
        yield _reason(text, fix, f"PodGroup/{_name(case.snapshot.gang)}")


# --- preemption


class Preemption(Struct, frozen=True):
    """The last eviction of a job that does not run again yet. at: RFC 3339. by: the jobs that took its room, or run on
    its nodes now."""

    at: str
    text: str
    by: tuple[str, ...] = ()


UIDS = re.compile(r"UID: ([\w-]+), JobUID: ([\w-]+)")
PATH = re.compile(r"preemptor path: (\S+);")


def preemption(snapshot: Snapshot, facts: Facts | None = None) -> Preemption | None:
    """Return how the job was evicted, until its pods start again; None if it was not."""
    case = Case(snapshot, facts)
    found = _evicted_by_kueue(case) if case.admission == defaults.KUEUE else _evicted_by_scheduler(case)
    started = max((str(mapping(pod.get("status")).get("startTime") or "") for pod in case.pods), default="")
    return None if found is None or started > found.at else found


def _evicted_by_kueue(case: Case) -> Preemption | None:
    condition = _condition(case.snapshot.gang, "Evicted")
    if condition.get("status") != "True":
        return None
    at, message = str(condition.get("lastTransitionTime", "")), str(condition.get("message", ""))
    if condition.get("reason") != "Preempted":
        return Preemption(at, f"evicted at {_clock(at, case)} by Kueue: {_words(message)}")
    kueue, uids, path = None if case.live is None else case.live.kueue, UIDS.search(message), PATH.search(message)
    job = "" if kueue is None or uids is None else kueue.jobs.get(uids[2], "")
    unread = f"a job of {path[1]}" if path is not None else "another job"
    return Preemption(at, f"preempted at {_clock(at, case)} by {job or unread}", (job,) if job else ())


def _evicted_by_scheduler(case: Case) -> Preemption | None:
    """Return the newest event of an eviction, which does not name the job that took the place."""
    events = _events(case, EVICTIONS)
    if not events:
        return None
    at, name = event_time(events[-1]), f"{case.snapshot.target.namespace}/{_name(case.snapshot.job)}"
    nodes = frozenset() if case.facts is None else case.facts.nodes
    live = () if case.live is None else case.live.nodes or ()
    jobs = tuple(sorted({job for node in live if node.name in nodes for job in node.holders} - {name}))
    word = "reclaimed" if "reclaim" in str(events[-1].get("message")) else "preempted"
    more = f"; its nodes now run {list_names(jobs, MOST_NAMED)}" if jobs else ""
    return Preemption(at, f"{word} at {_clock(at, case)}{more}", jobs)


def _clock(at: str, case: Case) -> str:
    """Return the time for people, with the day unless it is today."""
    day, clock = at[:10], f"{at[11:16]} UTC"
    return clock if day == case.snapshot.read_at[:10] else f"{day} {clock}"


# --- parts of objects


def _metadata(body: Any) -> Mapping[str, Any]:
    return mapping(mapping(body).get("metadata"))


def _name(body: Any) -> str:
    return str(_metadata(body).get("name", ""))


def _condition(body: Any, kind: str) -> Mapping[str, Any]:
    conditions = mappings(mapping(mapping(body).get("status")).get("conditions"))
    return next((each for each in conditions if each.get("type") == kind), {})


def _states(pod: Body) -> list[Mapping[str, Any]]:
    status = mapping(pod.get("status"))
    fields = ("initContainerStatuses", "containerStatuses")
    return [mapping(each.get("state")) for field in fields for each in mappings(status.get(field))]


def _waiting(case: Case, states: Iterable[str]) -> Iterator[tuple[Body, Mapping[str, Any]]]:
    """Yield the containers that wait with one of these reasons now, each with its pod."""
    for pod in case.pods:
        waiting = (mapping(state.get("waiting")) for state in _states(pod))
        yield from ((pod, each) for each in waiting if each.get("reason") in states)


def event_time(event: Body) -> str:
    """Return when the event was last seen (RFC 3339)."""
    times = (mapping(event.get("series")).get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), _metadata(event).get("creationTimestamp", "")))


def _events(case: Case, kinds: Iterable[str]) -> list[Body]:
    """Return the events of these reasons, oldest first."""
    return sorted((event for event in case.snapshot.events if event.get("reason") in kinds), key=event_time)


def _of(event: Body, body: Body) -> bool:
    return mapping(event.get("involvedObject")).get("uid") == _metadata(body).get("uid")


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


def _words(text: object) -> str:
    """Return a text from elsewhere as a part of a sentence."""
    line = " ".join(without_credentials(str(text or "")).split()).rstrip(".")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _deployment(place: str) -> str:
    namespace, _, name = place.partition("/")
    return f"`kubectl get deployment {name} -n {namespace}`"


def _time(text: object) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _is_empty(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return not value if items is None else all(map(_is_empty, items))


# --- the table

_FEWER = "use fewer or smaller pods"
_ENDS = f"wait until a holder ends, or {_FEWER}"

CODES: Mapping[str, Row] = {
    "queue-missing": Row("The queue does not exist.", _missing_queue),
    "queue-closed": Row("The queue is closed or stopped.", _closed_queue),
    "queue-full": Row(
        "The queue has too little left.",
        _lacking(_is_of("Queue", "ClusterQueue"), f"{_ENDS}, or set `queue` to another one"),
    ),
    "queue-borrowed": Row(
        "Jobs of queues above their share hold the room.",
        _lacking(_is_borrowed, "wait until Volcano reclaims it, or ask the platform team whether `reclaim` is on"),
    ),
    "never-fits": Row(
        "The pods are larger than the nodes, the queue or the quota.",
        _lacking(
            lambda case, lack: lack.verdict == "never" and bool(lack.resource),
            f"{_FEWER}, or ask the platform team for more",
        ),
    ),
    "nodes-full": Row("Other jobs hold the nodes.", _lacking(_is_of_nodes, _ENDS)),
    "gang-short": Row("Some pods of the gang are missing or have no place.", _short_gang),
    "no-node": Row(
        "No node admits the pods: labels, taints, or cordoned nodes.",
        _lacking(
            lambda case, lack: lack.verdict == "never" and not lack.resource,
            "correct `node_selector` or `tolerations`, or ask the platform team for such a node",
        ),
    ),
    "claim-unbound": Row("A claim does not exist, or has no volume.", _unbound_claims),
    "object-missing": Row("A Secret or ConfigMap, or its key, does not exist.", _missing_objects),
    "image": Row("An image cannot be pulled.", _images),
    "container-refused": Row("The node cannot create a container.", _refused_containers),
    "denied": Row("A webhook or the API server refuses the pods.", _denied),
    "quota": Row("A ResourceQuota has too little left.", _quota),
    "kueue": Row("Kueue has not admitted the job, in its own words.", _kueue),
    "no-workload": Row("Kueue has made no Workload for the job.", _no_workload),
    "silent": Row("The operator has done nothing with the job.", _silent_controller),
    "behind": Row("The pods fit, and other jobs wait too.", _behind, fallback=True),
    "scheduler": Row("The scheduler's own words; nothing else explains them.", _scheduler, fallback=True),
}
"""All reasons by code, in the order in which they are shown."""
