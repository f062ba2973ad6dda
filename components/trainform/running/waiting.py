"""Why a job waits: a closed, ordered table of reasons, found in the objects of the job and the facts of its cluster.

The arithmetic is that of `review`. An event or a condition counts only if the present state of its object agrees.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS, value_at
from trainform.cluster.amounts import POD_SLOTS
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import reported
from trainform.cluster.pod_references import Reference, creation
from trainform.errors import list_names
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.manifests.templates import NamedObject, named_objects
from trainform.review.pod_limits import MOST_NAMED
from trainform.running.case import Case, condition, name_of, reason_of, text_at, words_of
from trainform.running.facts import MADE_FIRST, NAMED, UNREAD, Facts, named_by_pods
from trainform.running.model import Reason
from trainform.running.read import event_time
from trainform.running.snapshot import Body, Snapshot

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
    case, found = Case(snapshot, facts), list[Reason]()
    gone = snapshot.job is None and "job" not in snapshot.not_read
    for code, row in CODES.items():
        if not gone and not (row.fallback and found):
            here = (*case.shortages.get(code, ()), *row.find(case))
            found += [structs.replace(each, code=code, fix=each.fix or row.fix) for each in here]
    return tuple(sorted(found, key=lambda reason: not reason.never))


# --- queues, quotas and nodes


def _missing_queue(case: Case) -> Iterator[Reason]:
    (kind, name), record, unread = case.queue, case.snapshot.record, "queue" in case.snapshot.not_read
    if case.snapshot.queue is None and not unread and record is not None and record.queue == name != "":
        yield reason_of(f"the {kind} {name} does not exist", f"{kind}/{name}")


def _closed_queue(case: Case) -> Iterator[Reason]:
    (kind, name), state = case.queue, text_at(case.snapshot.queue, "status.state")
    if kind == "Queue" and state not in ("", "Open"):
        yield reason_of(f"the queue {name} is in the state {state} and starts no jobs", f"{kind}/{name}")
    active = condition(case.snapshot.queue, "Active")
    if active.get("status") == "False" and "queue-closed" not in case.shortages:
        yield reason_of(f"the {kind} {name} is not active: {words_of(active.get('message'))}", f"{kind}/{name}")


def _short_gang(case: Case) -> Iterator[Reason]:
    """Yield a gang of which the scheduler has a place for some pods, where the nodes were not read."""
    needed = value_at(case.snapshot.gang, "spec.minMember") or len(case.pods)
    placed = sum(condition(pod, "PodScheduled").get("reason") == "Schedulable" for pod in case.unplaced)
    if 0 < placed < needed and not case.shortages:
        text = f"the gang is short by {needed - placed}: {placed} of its {needed} pods have a place"
        yield reason_of(text, f"PodGroup/{name_of(case.snapshot.gang)}")


def _behind(case: Case) -> Iterator[Reason]:
    ahead = case.estimate.ahead() if case.estimate and case.unplaced == case.pods else []
    if ahead:
        yield reason_of(f"the pods fit, and {list_names(ahead, MOST_NAMED)} may take the room first")


# --- what the pods need


def _unbound_claims(case: Case) -> Iterator[Reason]:
    words = [str(condition(pod, "PodScheduled").get("message")) for pod in case.unplaced]
    for claim in case.snapshot.claims:
        phase, name = text_at(claim, "status.phase"), name_of(claim)
        chosen = "volume.kubernetes.io/selected-node" in mapping(value_at(claim, "metadata.annotations"))
        # the class may wait for the first pod: then the claim has no volume until the scheduler chooses a node
        if phase == "Lost" or (phase == "Pending" and (chosen or any("unbound immediate" in each for each in words))):
            size, what = value_at(claim, "spec.resources.requests.storage"), "lost its" if phase == "Lost" else "no"
            text = f"the claim {name} ({size}, class {value_at(claim, 'spec.storageClassName')}) has {what} volume"
            yield reason_of(text, f"{CLAIM}/{name}")


def _missing_objects(case: Case) -> Iterator[Reason]:
    """Yield the objects that do not exist, by a read or by the kubelet, each once."""
    needed = {f"{named.kind}/{named.name}": named for named in named_by_pods(case.snapshot)}
    found = {of: "" for of in needed if of in case.facts.live.missing}
    for pod, message in (*_waiting(case, {CONFIGURATION}), *_mounts(case)):
        found = {f"{named.kind}/{named.name}": message for named in _named_in(pod, message)} | found
    for of, message in found.items():
        named, namespace = needed[of], case.snapshot.target.namespace
        fix = creation(Reference(named.kind, named.name, named.keys, "", named.as_files), namespace)
        yield reason_of(words_of(message) or f"the {named.kind} {named.name} does not exist in {namespace}", of, fix)


def _named_in(pod: Body, message: str) -> list[NamedObject]:
    """Return the objects of the pod that the kubelet names in a message."""
    named = (each for each in named_objects(mapping(pod.get("spec"))) if each.kind in MADE_FIRST and not each.optional)
    return [each for each in named if re.search(rf'["/]{re.escape(each.name)}(?:"|\s|$)', message)]


def _mounts(case: Case) -> Iterator[tuple[Body, str]]:
    """Yield the newest message on a mount of each pod whose containers wait for it, unless all objects that it names
    exist by now."""
    live, events = case.facts.live, case.events({"FailedMount"})
    newest = {text_at(event, "involvedObject.uid"): text_at(event, "message") for event in events}
    for pod in case.pods:
        message = newest.get(text_at(pod, "metadata.uid"), "")
        named = {f"{each.kind}/{each.name}" for each in _named_in(pod, message)}
        unread = live.drift is None or NAMED in live.not_read
        if named and (unread or named & {*live.missing}) and all("waiting" in state for state in _states(pod)):
            yield pod, message


def _containers(code: str) -> Finder:
    """Return the finder of containers that wait for another reason than a missing object: each message once."""

    def find(case: Case) -> Iterator[Reason]:
        what, states = WAITING[code]
        pods = defaultdict[str, list[str]](list)
        for pod, message in _waiting(case, states):
            if not _named_in(pod, message):
                pods[words_of(message)].append(name_of(pod))
        for message, names in pods.items():
            more = f" (and {len(names) - 1} more)" if names[1:] else ""
            yield reason_of(f"the pod {names[0]}{more} {what}: {message}", f"Pod/{names[0]}")

    return find


# --- what others refuse, or do not do


def _denied(case: Case) -> Iterator[Reason]:
    """Yield what the API server refuses, unless it is a quota that the arithmetic has."""
    message = _refusal(case)
    quota, webhook = QUOTA.search(message), WEBHOOK.search(message)
    if message and not (quota and "quota" in case.shortages):
        of = f"ResourceQuota/{quota[1]}" if quota else f"Webhook/{webhook[1]}" if webhook else ""
        yield reason_of(f"the API server refuses the pods: {words_of(message)}", of)


def _refusal(case: Case) -> str:
    """Return the newest message on pods that could not be created, "" if none are missing or one was created since."""
    newest = max(text_at(body, "metadata.creationTimestamp") for body in (case.snapshot.job, *case.pods))
    events = [event for event in case.events(NOT_CREATED) if event_time(event) >= newest]
    whole = case.estimate and len(case.pods) >= sum(need.every[POD_SLOTS] for need in case.estimate.jobs.needs)
    message = text_at(events[-1], "message") if events and not whole else ""
    status = STATUS.search(message)  # of the API server, which Volcano writes as Go writes a structure
    return message if status is None else status[1].replace('\\"', '"')


def _kueue(case: Case) -> Iterator[Reason]:
    gang, position = case.snapshot.gang, case.facts.position
    if case.snapshot.admission != defaults.KUEUE or gang is None or condition(gang, "Admitted").get("status") == "True":
        return
    of, reserved = f"Workload/{name_of(gang)}", condition(gang, "QuotaReserved")
    if reserved.get("status") != "True":
        place = "unknown" if position is None else position + 1
        words = words_of(reserved.get("message") or "it has not considered the job yet")
        yield reason_of(f"Kueue has not admitted the job (position in the queue: {place}): {words}", of)
    for check in mappings(value_at(gang, "status.admissionChecks")):
        if check.get("state") != "Ready" and reserved.get("status") == "True":
            words = f"{check.get('state')}: {words_of(check.get('message'))}"
            yield reason_of(f"the admission check {check.get('name')} is {words}", of)


def _no_workload(case: Case) -> Iterator[Reason]:
    missing = case.snapshot.gang is None and "gang" not in case.snapshot.not_read and not case.snapshot.pods
    if case.snapshot.admission == defaults.KUEUE and missing and case.is_old(case.snapshot.job):
        text = "Kueue has made no Workload for the job: it does not run, or does not manage jobs of this kind"
        yield _deployment(text, KUEUE.controller)


def _silent(case: Case) -> Iterator[Reason]:
    job, record = case.snapshot.job, case.snapshot.record
    backend = BACKENDS.get(case.snapshot.target.environment.backend if record is None else record.backend)
    begun = case.snapshot.pods or reported(mapping(value_at(job, "status")))
    if backend is not None and not begun and case.is_old(job):
        version = text_at(job, "apiVersion")
        operator = next((each for each in backend.OPERATORS if each.api_version == version), backend.OPERATORS[0])
        yield _deployment(f"{operator.project} has done nothing with the job since its creation", operator.controller)


def _deployment(text: str, place: str) -> Reason:
    namespace, _, name = place.partition("/")
    return reason_of(text, f"Deployment/{name}", f"look at `kubectl get deployment {name} -n {namespace}`")


def _scheduler(case: Case) -> Iterator[Reason]:
    """Yield what the scheduler reports of the pods without a node, or of their gang."""
    found = [text_at(condition(pod, "PodScheduled"), "message") for pod in case.unplaced]
    words = Counter(map(words_of, filter(None, found)))
    scheduled = max(map(event_time, case.events({"Scheduled"})), default="")
    gang = (text_at(event, "message") for event in case.events({"Unschedulable"}) if event_time(event) > scheduled)
    of_gang = [message for message in gang if not message.startswith(NO_PODS)]
    if words:
        (message, count), *_ = words.most_common(1)
        yield reason_of(f"the scheduler does not place {count} of {len(case.pods)} pods: {message}")
    elif not case.pods and of_gang:
        yield reason_of(f"the scheduler does not start the gang: {words_of(of_gang[-1])}")


# --- parts of objects


def _states(pod: Body) -> list[Mapping[str, Any]]:
    fields = ("status.initContainerStatuses", "status.containerStatuses")
    return [mapping(each.get("state")) for field in fields for each in mappings(value_at(pod, field))]


def _waiting(case: Case, states: Collection[str]) -> Iterator[tuple[Body, str]]:
    """Yield the pod and the message of each container that waits for one of these reasons now."""
    for pod in case.pods:
        waiting = [mapping(state.get("waiting")) for state in _states(pod)]
        yield from ((pod, str(one.get("message") or one["reason"])) for one in waiting if one.get("reason") in states)


# --- the table

Finder = Callable[[Case], Iterable[Reason]]


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
    "queue-missing": Row("The queue does not exist", f"set `queue` to another one, or {_PLATFORM}", _missing_queue),
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
    "denied": Row("A webhook, a quota or the API server refuses the pods", "correct the job", _denied),
    "quota": Row("A ResourceQuota has too little left", f"{_ENDS}, or {_PLATFORM} for more"),
    "kueue": Row("Kueue's own reason", "wait, or set `queue` to another one", _kueue),
    "no-workload": Row("Kueue has made no Workload", _PLATFORM, _no_workload),
    "silent": Row("The operator has done nothing with the job", _PLATFORM, _silent),
    "behind": Row("The pods fit, and other jobs wait too", "wait", _behind, fallback=True),
    "scheduler": Row("The scheduler's own reason", "wait, or correct the job", _scheduler, fallback=True),
}
"""All reasons by code, in the order in which they are shown."""
