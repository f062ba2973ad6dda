"""Why a job waits: a closed, ordered table of reasons, found in the objects of the job and the facts of its cluster.

The arithmetic is that of `review`. An event or a condition counts only if the present state of its object agrees.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.admission import SCHEDULERS
from trainform.backends.backend import BACKENDS, value_at
from trainform.cluster.amounts import NOTHING, POD_SLOTS, spelled
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import ENDED_PODS, PodState, pod_state
from trainform.cluster.pod_references import Reference, creation
from trainform.errors import list_names, without_credentials
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.manifests.templates import NamedObject, named_objects
from trainform.review.capacity import Estimate
from trainform.review.context import Context
from trainform.review.job_objects import local_queue_of, queue_of
from trainform.review.pod_limits import MOST_NAMED, Lack
from trainform.review.pod_needs import Need, need_of
from trainform.review.preview import Preview
from trainform.running.facts import EVICTIONS, MADE_FIRST, NAMED, UNREAD, Facts, named_by_pods, review_of
from trainform.running.model import Holder, Reason
from trainform.running.read import event_time
from trainform.running.snapshot import Body, Snapshot

SILENT = datetime.timedelta(seconds=30)  # after which a controller must have done something
LONGEST = 400  # characters of a text from elsewhere
CONFIGURATION = "CreateContainerConfigError"
WAITING = {  # the kubelet's reasons by ours, with what the pod cannot do
    "image": ("cannot pull an image", {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}),
    "container-refused": ("cannot start", {CONFIGURATION, "CreateContainerError", "RunContainerError"}),
}
NOT_CREATED = frozenset({"FailedCreate", "FailedCreatePod", "JobCreationFailed", "PodGroupError", "PluginError"})
WEBHOOK, QUOTA = re.compile(r'admission webhook "([^"]+)"'), re.compile(r"exceeded quota: ([^,\s]+)")
STATUS = re.compile(r'Message:"((?:[^"\\]|\\.)+)"')
NO_PODS = "0/0 tasks in gang"  # how Volcano's message on a gang begins before it has pods


def reasons(snapshot: Snapshot, facts: Facts = UNREAD) -> tuple[Reason, ...]:
    """Return why the job waits: first what waiting does not solve, then in the order of the table. Empty if that is
    unknown."""
    case, found = _Case(snapshot, facts), list[Reason]()
    gone = snapshot.job is None and "job" not in snapshot.not_read
    for code, row in CODES.items():
        if not gone and not (row.fallback and found):
            here = (*case.shortages.get(code, ()), *row.find(case))
            found += [structs.replace(each, code=code, fix=each.fix or row.fix) for each in here]
    return tuple(sorted(found, key=lambda reason: not reason.never))


def _reason(text: str, of: str = "", fix: str = "", **more: Any) -> Reason:
    return Reason("", f"{text[0].upper()}{text[1:]}.", fix, of, **more)


@dataclasses.dataclass(frozen=True, eq=False)
class _Case:
    """A job that waits, and the facts about it."""

    snapshot: Snapshot
    facts: Facts

    @functools.cached_property
    def admission(self) -> str:
        return self.snapshot.admission

    @functools.cached_property
    def queue(self) -> tuple[str, str]:
        """Return kind and name of the queue in which it waits; two empty texts if all its pods have nodes."""
        kueue, record = self.admission == defaults.KUEUE, self.snapshot.record
        if self.admission == defaults.NONE or (self.pods and not self.unplaced):
            return "", ""
        name = (local_queue_of if kueue else queue_of)(review_of(self.snapshot), after=True)
        return "LocalQueue" if kueue else "Queue", name or ("" if record is None else record.queue)

    @functools.cached_property
    def pods(self) -> list[Body]:
        """Return the pods that have not ended, and do not end now."""
        return [pod for pod in self.snapshot.pods if pod_state(pod) not in (*ENDED_PODS, PodState.ENDING)]

    @functools.cached_property
    def unplaced(self) -> list[Body]:
        """Return the pods that have no node yet."""
        return [pod for pod in self.pods if pod_state(pod) == PodState.WAITING]

    @functools.cached_property
    def estimate(self) -> Estimate | None:
        """Return the room for its pods; None if the pods are unknown."""
        review, target = review_of(self.snapshot), self.snapshot.target
        preview = Preview("stream", review.steps)
        context = Context(target.stack, preview, (review,), target.environment, self.facts.live)
        need = need_of(review, context)
        return None if need is None or not need.pods else Estimate(context, [need])

    @functools.cached_property
    def shortages(self) -> Mapping[str, Sequence[Reason]]:
        """Return what the pods without a node lack, by code."""
        found, estimate = defaultdict[str, list[Reason]](list), self.estimate
        if estimate is not None:
            (need,), placed = estimate.jobs.needs, len(self.pods) - len(self.unplaced)
            for lack in estimate.lacks() if placed < need.every[POD_SLOTS] else ():
                if lack.verdict in ("never", "later") and (lack.part or placed < need.gang[POD_SLOTS]):
                    code, reason = _shortage(estimate, need, lack)
                    found[code].append(reason)
        return found

    def is_old(self, body: Body | None) -> bool:
        """Return True if the object has existed for longer than a controller needs."""
        least = (datetime.datetime.fromisoformat(self.snapshot.read_at) - SILENT).strftime("%Y-%m-%dT%H:%M:%SZ")
        return "" < _text(body, "metadata.creationTimestamp") < least


# --- queues, quotas and nodes


def _shortage(estimate: Estimate, need: Need, lack: Lack) -> tuple[str, Reason]:
    """Return the reason of a shortage, with its code."""
    never, kind = lack.verdict == "never", lack.object.partition("/")[0]
    if not lack.resource:
        return "queue-closed" if kind else "no-node", _reason(lack.reason, lack.object, never=never)
    fitting = sum(min(estimate.role(pods).fit, pods.gang) for pods in need.pods)
    gang = sum(pods.gang for pods in need.pods)
    if never:
        code = "never-fits"
    elif kind:
        code = "quota" if kind == "ResourceQuota" else "queue-full"
    elif {estimate.queue_of[job].name for job in estimate.evicts(lack)} - {need.queue}:
        code = "queue-borrowed"
    else:
        code = "gang-short" if (need.queue or need.local_queue) and 0 < fitting < gang else "nodes-full"
    facts = [] if kind or never else [f"{fitting} of {gang} pods fit"]
    largest = "" if lack.largest is None else spelled(lack.resource, lack.largest)
    facts += [f"the largest free node has {largest}"] if facts and lack.largest and lack.each <= lack.largest else []
    return code, _reason(
        f"{lack.reason}{f' ({list_names(facts)})' if facts else ''}",
        lack.object,
        never=never,
        resource=estimate.names.get(lack.resource, lack.resource),
        needed=spelled(lack.resource, lack.requested),
        free=spelled(lack.resource, max(lack.requested - lack.missing, NOTHING)),
        largest=largest,
        holders=tuple(Holder(*holder) for holder in estimate.holders(lack)),
    )


def _missing_queue(case: _Case) -> Iterator[Reason]:
    (kind, name), record, live = case.queue, case.snapshot.record, case.facts.live
    known = {each.name for each in (*(live.queues or ()), *live.other_queues)} if kind == "Queue" else set()
    asked = record is not None and record.queue == name and "queue" not in case.snapshot.not_read
    if name and name not in known and case.snapshot.queue is None and (asked or known):
        others = list_names(sorted(known - {defaults.ROOT_QUEUE}))
        fix = f"set `queue` to {f'one of {others}' if others else 'another one'}, or ask the platform team for {name}"
        yield _reason(f"the {kind} {name} does not exist", f"{kind}/{name}", fix)


def _closed_queue(case: _Case) -> Iterator[Reason]:
    (kind, name), state = case.queue, _text(case.snapshot.queue, "status.state")
    if kind == "Queue" and state not in ("", "Open"):
        yield _reason(f"the queue {name} is in the state {state} and starts no jobs", f"{kind}/{name}")
    active = _condition(case.snapshot.queue, "Active")
    if active.get("status") == "False" and "queue-closed" not in case.shortages:
        yield _reason(f"the {kind} {name} is not active: {_words(active.get('message'))}", f"{kind}/{name}")


def _short_gang(case: _Case) -> Iterator[Reason]:
    """Yield a gang whose pods are not all created, or, by the scheduler's conditions, do not all have a place."""
    needed, existing = value_at(case.snapshot.gang, "spec.minMember"), len(case.pods)
    placed = sum(_condition(pod, "PodScheduled").get("reason") == "Schedulable" for pod in case.pods)
    if needed is None or case.shortages or not case.unplaced:
        return
    what, number = ("have a place", placed) if placed else ("exist", existing)
    if number < needed and (placed or case.is_old(case.snapshot.job)):
        text = f"the gang is short by {needed - number}: {number} of its {needed} pods {what}"
        yield _reason(text, f"PodGroup/{_name(case.snapshot.gang)}")


def _behind(case: _Case) -> Iterator[Reason]:
    ahead = case.estimate.ahead() if case.estimate and case.unplaced == case.pods else []
    if ahead:
        yield _reason(f"the pods fit, and {list_names(ahead, MOST_NAMED)} may take the room first")


# --- what the pods need


def _unbound_claims(case: _Case) -> Iterator[Reason]:
    words = [str(_condition(pod, "PodScheduled").get("message")) for pod in case.unplaced]
    for claim in case.snapshot.claims:
        phase, name = _text(claim, "status.phase"), _name(claim)
        chosen = "volume.kubernetes.io/selected-node" in mapping(value_at(claim, "metadata.annotations"))
        # the class may wait for the first pod: then the claim has no volume until the scheduler chooses a node
        if phase == "Lost" or (phase == "Pending" and (chosen or any("unbound immediate" in each for each in words))):
            size, what = value_at(claim, "spec.resources.requests.storage"), "lost its" if phase == "Lost" else "no"
            text = f"the claim {name} ({size}, class {value_at(claim, 'spec.storageClassName')}) has {what} volume"
            yield _reason(text, f"{CLAIM}/{name}")


def _missing_objects(case: _Case) -> Iterator[Reason]:
    """Yield the objects that do not exist, by a read or by the kubelet, each once."""
    needed = {f"{named.kind}/{named.name}": named for named in named_by_pods(case.snapshot)}
    found = {of: "" for of in needed if of in case.facts.live.missing}
    for pod, message in (*_waiting(case, {CONFIGURATION}), *_mounts(case)):
        found = {f"{named.kind}/{named.name}": message for named in _named_in(pod, message)} | found
    for of, message in found.items():
        named, namespace = needed[of], case.snapshot.target.namespace
        fix = creation(Reference(named.kind, named.name, named.keys, "", named.as_files), namespace)
        yield _reason(_words(message) or f"the {named.kind} {named.name} does not exist in {namespace}", of, fix)


def _named_in(pod: Body, message: str) -> list[NamedObject]:
    """Return the objects of the pod that the kubelet names in a message."""
    named = (each for each in named_objects(mapping(pod.get("spec"))) if each.kind in MADE_FIRST and not each.optional)
    return [each for each in named if re.search(rf'["/]{re.escape(each.name)}(?:"|\s|$)', message)]


def _mounts(case: _Case) -> Iterator[tuple[Body, str]]:
    """Yield the newest message on a mount of each pod whose containers wait for it, unless all objects that it names
    exist by now."""
    live = case.facts.live
    for pod in case.pods:
        own = [event for event in _events(case, {"FailedMount"}) if _is_of(event, pod)]
        if own and all("waiting" in state for state in _states(pod)):
            message = _text(own[-1], "message")
            named = {f"{each.kind}/{each.name}" for each in _named_in(pod, message)}
            if live.drift is None or NAMED in live.not_read or named & {*live.missing}:
                yield pod, message


def _containers(code: str) -> Finder:
    """Return the finder of containers that wait for another reason than a missing object: each message once."""

    def find(case: _Case) -> Iterator[Reason]:
        what, states = WAITING[code]
        pods = defaultdict[str, list[str]](list)
        for pod, message in _waiting(case, states):
            if not _named_in(pod, message):
                pods[_words(message)].append(_name(pod))
        for message, names in pods.items():
            more = f" (and {len(names) - 1} more)" if names[1:] else ""
            yield _reason(f"the pod {names[0]}{more} {what}: {message}", f"Pod/{names[0]}")

    return find


# --- what others refuse, or do not do


def _refused(code: str) -> Finder:
    """Return the finder of what the API server refuses: by a quota that the arithmetic does not have, or else."""

    def find(case: _Case) -> Iterator[Reason]:
        message = _refusal(case)
        quota, webhook = QUOTA.search(message), WEBHOOK.search(message)
        of = f"ResourceQuota/{quota[1]}" if quota else f"Webhook/{webhook[1]}" if webhook else ""
        known = {each.object for found in case.shortages.values() for each in found} if quota else ()
        if message and code == ("quota" if quota else "denied") and of not in known:
            by = f"the webhook {webhook[1]}" if webhook else "the API server"
            yield _reason(f"{by} refuses the pods: {_words(message)}", of)

    return find


def _refusal(case: _Case) -> str:
    """Return the newest message on pods that could not be created, "" if none are missing or one was created since."""
    newest = max(_text(body, "metadata.creationTimestamp") for body in (case.snapshot.job, *case.pods))
    events = [event for event in _events(case, NOT_CREATED) if event_time(event) >= newest]
    whole = case.estimate and len(case.pods) >= sum(need.every[POD_SLOTS] for need in case.estimate.jobs.needs)
    message = _text(events[-1], "message") if events and not whole else ""
    status = STATUS.search(message)  # of the API server, which Volcano writes as Go writes a structure
    return message if status is None else status[1].replace('\\"', '"')


def _kueue(case: _Case) -> Iterator[Reason]:
    gang, position = case.snapshot.gang, case.facts.position
    if case.admission != defaults.KUEUE or gang is None or _condition(gang, "Admitted").get("status") == "True":
        return
    of, reserved = f"Workload/{_name(gang)}", _condition(gang, "QuotaReserved")
    if reserved.get("status") != "True":
        place = "unknown" if position is None else position + 1
        words = _words(reserved.get("message") or "it has not considered the job yet")
        yield _reason(f"Kueue has not admitted the job (position in the queue: {place}): {words}", of)
    for check in mappings(value_at(gang, "status.admissionChecks")):
        if check.get("state") != "Ready" and reserved.get("status") == "True":
            words = f"{check.get('state')}: {_words(check.get('message'))}"
            yield _reason(f"the admission check {check.get('name')} is {words}", of)


def _no_workload(case: _Case) -> Iterator[Reason]:
    missing = case.snapshot.gang is None and "gang" not in case.snapshot.not_read and not case.snapshot.pods
    if case.admission == defaults.KUEUE and missing and case.is_old(case.snapshot.job):
        text = "Kueue has made no Workload for the job: it does not run, or does not manage jobs of this kind"
        yield _deployment(text, KUEUE.controller)


def _silent(case: _Case) -> Iterator[Reason]:
    job, record = case.snapshot.job, case.snapshot.record
    backend = BACKENDS.get(case.snapshot.target.environment.backend if record is None else record.backend)
    held = case.admission == defaults.KUEUE and _condition(case.snapshot.gang, "Admitted").get("status") != "True"
    begun = held or case.snapshot.pods or not _is_empty(mapping(job).get("status"))
    if backend is not None and not begun and case.is_old(job):
        version = mapping(job).get("apiVersion")
        operator = next((each for each in backend.OPERATORS if each.api_version == version), backend.OPERATORS[0])
        yield _deployment(f"{operator.project} has done nothing with the job since its creation", operator.controller)


def _deployment(text: str, place: str) -> Reason:
    namespace, _, name = place.partition("/")
    return _reason(text, f"Deployment/{name}", f"look at `kubectl get deployment {name} -n {namespace}`")


def _scheduler(case: _Case) -> Iterator[Reason]:
    """Yield what the scheduler reports of the pods without a node, or of their gang, or that it reports nothing."""
    conditions = [(pod, _condition(pod, "PodScheduled")) for pod in case.unplaced]
    words = Counter(_words(each["message"]) for _, each in conditions if each.get("message"))
    unseen = next((pod for pod, each in conditions if not each and case.is_old(pod)), None)
    scheduled = max(map(event_time, _events(case, {"Scheduled"})), default="")
    gang = (_text(event, "message") for event in _events(case, {"Unschedulable"}) if event_time(event) > scheduled)
    of_gang = [message for message in gang if not message.startswith(NO_PODS)]
    if words:
        (message, count), *_ = words.most_common(1)
        yield _reason(f"the scheduler does not place {count} of {len(case.pods)} pods: {message}")
    elif unseen is not None:
        name = _text(unseen, "spec.schedulerName")
        text = f"the scheduler {name} has not considered the pod {_name(unseen)}"
        yield _deployment(text, SCHEDULERS.get(name, f"{defaults.KUBE_SYSTEM}/{name}"))
    elif not case.pods and of_gang:
        yield _reason(f"the scheduler does not start the gang: {_words(of_gang[-1])}")


# --- preemption


class Preemption(Struct, frozen=True):
    """The eviction of a job whose pods have not started again. at: RFC 3339. by: the jobs that took its room, or that
    run on its nodes now."""

    at: str
    text: str
    by: tuple[str, ...] = ()


PREEMPTOR = re.compile(r"JobUID: ([\w-]+)\).*preemptor path: (\S+);")


def preemption(snapshot: Snapshot, facts: Facts = UNREAD) -> Preemption | None:
    """Return how the job was evicted; None if it was not, or if its pods have started since."""
    case = _Case(snapshot, facts)
    found = _evicted_by_kueue(case) if case.admission == defaults.KUEUE else _evicted_by_scheduler(case)
    started = max((_text(pod, "status.startTime") for pod in case.pods), default="")
    return None if found is None or started > found.at else found


def _evicted_by_kueue(case: _Case) -> Preemption | None:
    condition = _condition(case.snapshot.gang, "Evicted")
    if condition.get("status") != "True":
        return None
    at, message, kueue = _text(condition, "lastTransitionTime"), _text(condition, "message"), case.facts.live.kueue
    preemptor = PREEMPTOR.search(message)
    if preemptor is None:
        return Preemption(at, f"evicted at {_clock(at, case)} by Kueue: {_words(message)}")
    job = kueue.jobs.get(preemptor[1], "") if kueue else ""
    by = job or f"a job in {preemptor[2]} that was not read"
    return Preemption(at, f"preempted at {_clock(at, case)} by {by}", (job,) if job else ())


def _evicted_by_scheduler(case: _Case) -> Preemption | None:
    """Return the newest eviction. Its event does not name the job that took the room."""
    events = _events(case, EVICTIONS)
    if not events:
        return None
    at, own = event_time(events[-1]), f"{case.snapshot.target.namespace}/{_name(case.snapshot.job)}"
    nodes = [node for node in case.facts.live.nodes or () if node.name in case.facts.nodes]
    jobs = tuple(sorted({job for node in nodes for job in node.holders} - {own}))
    more = f"; its nodes now run {list_names(jobs, MOST_NAMED)}" if jobs else ""
    how = "reclaimed" if "reclaim" in _text(events[-1], "message") else "preempted"
    return Preemption(at, f"{how} at {_clock(at, case)}{more}", jobs)


def _clock(at: str, case: _Case) -> str:
    """Return the time for people, with the day unless it is today."""
    day, clock = at[:10], f"{at[11:16]} UTC"
    return clock if day == case.snapshot.read_at[:10] else f"{day} {clock}"


# --- parts of objects


def _text(body: Any, path: str) -> str:
    """Return the text at the path, "" if there is none."""
    return str(value_at(body, path) or "")


def _name(body: Any) -> str:
    return _text(body, "metadata.name")


def _condition(body: Any, kind: str) -> Mapping[str, Any]:
    return next((each for each in mappings(value_at(body, "status.conditions")) if each.get("type") == kind), {})


def _is_of(event: Body, body: Body) -> bool:
    return _text(event, "involvedObject.uid") == _text(body, "metadata.uid")


def _states(pod: Body) -> list[Mapping[str, Any]]:
    fields = ("status.initContainerStatuses", "status.containerStatuses")
    return [mapping(each.get("state")) for field in fields for each in mappings(value_at(pod, field))]


def _waiting(case: _Case, states: Collection[str]) -> Iterator[tuple[Body, str]]:
    """Yield the pod and the message of each container that waits for one of these reasons now."""
    for pod in case.pods:
        waiting = [mapping(state.get("waiting")) for state in _states(pod)]
        yield from ((pod, str(one.get("message") or one["reason"])) for one in waiting if one.get("reason") in states)


def _events(case: _Case, kinds: Collection[str]) -> list[Body]:
    return [event for event in case.snapshot.events if event.get("reason") in kinds]


def _words(text: object) -> str:
    """Return a text from elsewhere as a part of a sentence."""
    line = " ".join(without_credentials(str(text or "")).split()).rstrip(".")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _is_empty(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return not value if items is None else all(map(_is_empty, items))


# --- the table

Finder = Callable[[_Case], Iterable[Reason]]


class Row(Struct, frozen=True):
    """A reason. meaning: for the documentation. fix: unless the reason has another one. find: what else counts, apart
    from shortages with this code. fallback: it counts only if no row before it has a reason."""

    meaning: str
    fix: str
    find: Finder = lambda case: ()
    fallback: bool = False


_FEWER = "use fewer or smaller pods"
_ENDS = f"wait until a holder ends, or {_FEWER}"
_PLATFORM = "ask the platform team"
_NODES = f"correct `node_selector` or `tolerations`, or {_PLATFORM} for such a node"
_IMAGE = "correct `image`, or name the Secret of its registry in `image_pull_secrets`"

CODES: Mapping[str, Row] = {
    "queue-missing": Row("The queue does not exist", _PLATFORM, _missing_queue),
    "queue-closed": Row("The queue is closed or stopped", f"wait, or {_PLATFORM} to open it", _closed_queue),
    "queue-full": Row("The queue has too little left", f"{_ENDS}, or set `queue` to another one"),
    "queue-borrowed": Row("Jobs of queues above their share hold the room", f"wait, or {_PLATFORM} for `reclaim`"),
    "never-fits": Row("Nodes, queue or quota are too small, also without other jobs", f"{_FEWER}, or {_PLATFORM}"),
    "nodes-full": Row("Other jobs hold the nodes", _ENDS),
    "gang-short": Row("Some pods of the gang have no place, or do not exist", _ENDS, _short_gang),
    "no-node": Row("No node admits the pods: labels, taints, or cordoned nodes", _NODES),
    "claim-unbound": Row("A claim has no volume", "wait, or look at `kubectl describe pvc`", _unbound_claims),
    "object-missing": Row("A Secret, ConfigMap or claim, or its key, does not exist", "create it", _missing_objects),
    "image": Row("An image cannot be pulled", _IMAGE, _containers("image")),
    "container-refused": Row("A node cannot start a container", "correct the job", _containers("container-refused")),
    "denied": Row("A webhook or the API server refuses the pods", "correct the job", _refused("denied")),
    "quota": Row("A ResourceQuota has too little left", f"{_ENDS}, or {_PLATFORM} for more", _refused("quota")),
    "kueue": Row("Kueue's own reason", "wait, or set `queue` to another one", _kueue),
    "no-workload": Row("Kueue has made no Workload", _PLATFORM, _no_workload),
    "silent": Row("The operator has done nothing with the job", _PLATFORM, _silent),
    "behind": Row("The pods fit, and other jobs wait too", "wait", _behind, fallback=True),
    "scheduler": Row("The scheduler's own reason", "wait, or correct the job", _scheduler, fallback=True),
}
"""All reasons by code, in the order in which they are shown."""
