"""Why a job waits: a closed, ordered table of reasons, found in the objects of the job and the facts of its cluster.

The arithmetic is that of `review`. What a component reports counts only if the present state of its object agrees.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.backends.backend import BACKENDS, value_at
from trainform.cluster.amounts import NOTHING, POD_SLOTS, spelled
from trainform.cluster.dry_run import shown_text
from trainform.cluster.live_drift import clock, seconds_between
from trainform.cluster.operators import KUEUE
from trainform.cluster.phases import ENDED_PODS, PodState, pod_state, reported
from trainform.errors import list_names
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.plan.operator import Operator
from trainform.review.capacity import Estimate
from trainform.review.context import Context
from trainform.review.pod_limits import MOST_NAMED, Lack
from trainform.review.pod_needs import Need, need_of
from trainform.review.preview import Preview
from trainform.running.facts import EVICTIONS, UNREAD, Facts, review_of
from trainform.running.model import Reason
from trainform.running.snapshot import Body, Snapshot, condition, container_statuses, event_time, name_of, text_at

SILENT = 30  # seconds after which a controller must have done something

_FEWER = "use fewer or smaller pods"
_ENDS = f"wait until a holder ends, or {_FEWER}"
_PLATFORM = "ask the platform team"
CODES: Mapping[str, tuple[str, str]] = {
    "queue-missing": ("The queue does not exist", f"set `queue` to another one, or {_PLATFORM}"),
    "queue-closed": ("The queue is closed or stopped", f"wait, or {_PLATFORM} to open it"),
    "queue-full": ("The queue has too little left", f"{_ENDS}, or set `queue` to another one"),
    "queue-borrowed": ("Jobs of queues above their share hold the room", f"wait, or {_PLATFORM} for `reclaim`"),
    "never-fits": ("Nodes, queue or quota are too small, also without other jobs", f"{_FEWER}, or {_PLATFORM}"),
    "nodes-full": ("Other jobs hold the nodes, or they are cordoned or not ready", _ENDS),
    "gang-short": ("The nodes have room for a part of the gang", _ENDS),
    "no-node": ("No node admits the pods: labels, taints, or cordoned nodes",
                f"correct `node_selector` or `tolerations`, or {_PLATFORM} for such a node"),
    "claim-unbound": ("A claim has no volume", "wait, or look at `kubectl describe pvc`"),
    "object-missing": ("A Secret, ConfigMap or claim, or its key, does not exist", "create it, or correct the name"),
    "image": ("An image cannot be pulled",
              "correct `image`, or name the Secret of its registry in `image_pull_secrets`"),
    "container-refused": ("A node cannot start a container", "correct the job"),
    "denied": ("A webhook or the API server refuses the pods", "correct the job"),
    "quota": ("A ResourceQuota has too little left", f"{_ENDS}, or {_PLATFORM} for more"),
    "kueue": ("Kueue's own reason", "wait, or set `queue` to another one"),
    "silent": ("The operator, or Kueue, has done nothing with the job", _PLATFORM),
    "scheduler": ("The scheduler's own reason", "wait, or correct the job"),
}  # fmt: skip
"""Each reason by code with its meaning and what to do, in the order in which they are shown."""

# What the kubelet reports of a container that waits, or of a mount, by code.
_REPORTED = {
    **dict.fromkeys(("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"), "image"),
    **dict.fromkeys(("CreateContainerConfigError", "CreateContainerError", "RunContainerError"), "container-refused"),
    "FailedMount": "container-refused",
}
_OBJECT = re.compile(r"(secret|configmap) \"\S+\" not found|couldn't find key|non-existent (secret|config) key")
_NOT_CREATED = ("FailedCreate", "FailedCreatePod", "JobCreationFailed", "PodGroupError", "PluginError")
_STATUS = re.compile(r'Message:"((?:[^"\\]|\\.)+)"')
_NO_PODS = "0/0 tasks in gang"  # how Volcano's message on a gang begins before it has pods
_PREEMPTOR = re.compile(r"JobUID: ([\w-]+)\)")


class Case(Struct, frozen=True):
    """A job that waits. pods: without those that have ended, or end now. unplaced: those of them without a node."""

    snapshot: Snapshot
    facts: Facts
    pods: list[Body]
    unplaced: list[Body]


def reasons(snapshot: Snapshot, facts: Facts = UNREAD) -> tuple[Reason, ...]:
    """Return why the job waits: first what waiting does not solve, then in the order of the table. Empty if that is
    unknown."""
    if snapshot.job is None and "job" not in snapshot.not_read:
        return ()
    states = [(pod, pod_state(pod)) for pod in snapshot.pods]
    pods = [pod for pod, state in states if state not in (*ENDED_PODS, PodState.ENDING)]
    case = Case(snapshot, facts, pods, [pod for pod, state in states if state == PodState.WAITING])
    found: list[Reason] = []
    for find in (_shortages, _queue, _unbound_claims, _containers, _refusal, _kueue, _silent):
        known = {reason.code for reason in found}  # amounts and reads replace messages with the same code
        found += [reason for reason in find(case) if reason.code not in known]
    order = [*CODES]
    ordered = sorted(found, key=lambda reason: (not reason.never, order.index(reason.code)))
    return tuple(ordered or _scheduler(case))


def _reason(code: str, text: str, of: str = "", fix: str = "", **more: Any) -> Reason:
    return Reason(code, text, fix or CODES[code][1], of, **more)


# --- amounts


def _shortages(case: Case) -> Iterator[Reason]:
    """Yield what the pods without a node lack."""
    review, target = review_of(case.snapshot), case.snapshot.target
    context = Context(target.stack, Preview("stream", review.steps), (review,), target.environment, case.facts.live)
    need, placed = need_of(review, context), len(case.pods) - len(case.unplaced)
    if need is None or not need.pods or placed >= need.every[POD_SLOTS]:
        return
    estimate = Estimate(context, [need])
    for lack in estimate.lacks():
        if lack.verdict in ("never", "later") and (lack.part or placed < need.gang[POD_SLOTS]):
            yield _shortage(estimate, need, lack)


def _shortage(estimate: Estimate, need: Need, lack: Lack) -> Reason:
    never, kind = lack.verdict == "never", lack.object.partition("/")[0]
    if not lack.resource:
        return _reason("queue-closed" if kind else "no-node", lack.reason, lack.object, never=never)
    fitting, gang = sum(min(estimate.role(pods).fit, pods.gang) for pods in need.pods), int(need.gang[POD_SLOTS])
    largest = "" if lack.largest is None else spelled(lack.resource, lack.largest)
    if never:
        code = "never-fits"
    elif kind:
        code = "quota" if kind == "ResourceQuota" else "queue-full"
    elif {estimate.queue_of[job].name for job in estimate.evicts(lack)} - {need.queue}:
        code = "queue-borrowed"
    else:
        code = "gang-short" if (need.queue or need.local_queue) and 0 < fitting < gang else "nodes-full"
    room = "" if kind or never else f" ({fitting} of {gang} pods fit, the largest free node has {largest})"
    return _reason(
        code,
        f"{lack.reason}{room}",
        lack.object,
        never=never,
        resource=estimate.names.get(lack.resource, lack.resource),
        needed=spelled(lack.resource, lack.requested),
        free=spelled(lack.resource, max(lack.requested - lack.missing, NOTHING)),
        largest=largest,
        holders=tuple(estimate.holders(lack)),
    )


# --- objects


def _queue(case: Case) -> Iterator[Reason]:
    """Yield that the queue of pods without a node does not exist, or is closed."""
    snapshot, name = case.snapshot, case.snapshot.queue_name
    if not name or "queue" in snapshot.not_read or (case.pods and not case.unplaced):
        return
    kind = "LocalQueue" if snapshot.admission == defaults.KUEUE else "Queue"
    of, state, active = f"{kind}/{name}", text_at(snapshot.queue, "status.state"), condition(snapshot.queue, "Active")
    if snapshot.queue is None:
        yield _reason("queue-missing", f"the {kind} {name} does not exist", of)
    elif state not in ("", "Open"):
        yield _reason("queue-closed", f"the queue {name} is {state}, and starts no jobs", of)
    elif active.get("status") == "False":
        yield _reason("queue-closed", f"the {kind} {name} is not active: {_line(active.get('message'))}", of)


def _unbound_claims(case: Case) -> Iterator[Reason]:
    waits = any("unbound immediate" in str(condition(pod, "PodScheduled").get("message")) for pod in case.unplaced)
    for claim in case.snapshot.claims:
        phase, name = text_at(claim, "status.phase"), name_of(claim)
        chosen = "volume.kubernetes.io/selected-node" in mapping(value_at(claim, "metadata.annotations"))
        # the class may wait for the first pod: then the claim has no volume until the scheduler chooses a node
        if phase == "Lost" or (phase == "Pending" and (chosen or waits)):
            yield _reason("claim-unbound", f"the claim {name} is {phase}, without a volume", f"{CLAIM}/{name}")


# --- what components report


def _containers(case: Case) -> Iterator[Reason]:
    """Yield what the kubelet reports of pods that it cannot start, each message once."""
    pods = defaultdict[tuple[str, str], list[str]](list)
    for pod in case.pods:
        for reason, message in _reports(case, pod):
            code = _REPORTED.get(reason, "")
            code = "object-missing" if code == "container-refused" and _OBJECT.search(message) else code
            pods[code, _line(message)].append(name_of(pod))
    for (code, message), (first, *others) in pods.items():
        more = f" (and {len(others)} more)" if others else ""
        if code:
            yield _reason(code, f"the pod {first}{more} does not start: {message}", f"Pod/{first}")


def _reports(case: Case, pod: Body) -> Iterator[tuple[str, str]]:
    """Yield reasons and messages of the containers of a pod that wait, and of its newest mount that failed if no
    container could be created yet."""
    waiting = [mapping(mapping(each.get("state")).get("waiting")) for each in container_statuses(pod)]
    yield from ((str(each["reason"]), str(each.get("message") or each["reason"])) for each in waiting if each)
    if {each.get("reason") for each in waiting} <= {"ContainerCreating", "PodInitializing"}:
        uid = text_at(pod, "metadata.uid")
        mounts = case.snapshot.events_with("FailedMount")
        own = [text_at(event, "message") for event in mounts if text_at(event, "involvedObject.uid") == uid]
        yield from (("FailedMount", message) for message in own[-1:])


def _refusal(case: Case) -> Iterator[Reason]:
    """Yield the newest message on pods that could not be created, unless one was created since."""
    newest = max(text_at(body, "metadata.creationTimestamp") for body in (case.snapshot.job, *case.pods))
    for event in case.snapshot.events_with(*_NOT_CREATED)[-1:]:
        if event_time(event) >= newest:
            message = text_at(event, "message")
            status = _STATUS.search(message)  # of the API server, which Volcano writes as Go writes a structure
            message = message if status is None else status[1].replace('\\"', '"')
            code = "quota" if "exceeded quota" in message else "denied"
            yield _reason(code, f"the API server refuses the pods: {_line(message)}")


def _kueue(case: Case) -> Iterator[Reason]:
    gang, position = case.snapshot.gang, case.facts.position
    if case.snapshot.admission != defaults.KUEUE or gang is None or condition(gang, "Admitted").get("status") == "True":
        return
    reserved, checks = condition(gang, "QuotaReserved"), mappings(value_at(gang, "status.admissionChecks"))
    if reserved.get("status") != "True":
        place = "unknown" if position is None else position + 1
        words = _line(reserved.get("message") or "it has not considered the job yet")
        texts = [f"Kueue has not admitted the job (position in the queue: {place}): {words}"]
    else:
        waits = [(each["name"], each["state"], _line(each.get("message"))) for each in checks]
        texts = [f"the admission check {name} is {state}: {text}" for name, state, text in waits if state != "Ready"]
    yield from (_reason("kueue", text, f"Workload/{name_of(gang)}") for text in texts)


def _silent(case: Case) -> Iterator[Reason]:
    """Yield the controller that has done nothing with the job for longer than it needs."""
    snapshot, job = case.snapshot, case.snapshot.job
    age = seconds_between(text_at(job, "metadata.creationTimestamp"), snapshot.read_at)
    if snapshot.pods or age is None or age <= SILENT:
        return
    name = snapshot.target.environment.backend if snapshot.record is None else snapshot.record.backend
    known: Sequence[Operator] = BACKENDS[name].OPERATORS if name in BACKENDS else ()
    operators = [each for each in known if each.api_version == text_at(job, "apiVersion")] or known
    if snapshot.admission == defaults.KUEUE and snapshot.gang is None and "gang" not in snapshot.not_read:
        operators = [KUEUE]
    elif reported(status := mapping(value_at(job, "status"))) or status.keys() - {"state"}:  # Volcano's webhook sets it
        return
    if operators:
        controller = operators[0].controller
        nothing = "created no Workload for" if operators[0] is KUEUE else "done nothing with"
        text = f"the controller {controller} has {nothing} the job"
        yield _reason("silent", text, f"Deployment/{controller.partition('/')[2]}")


def _scheduler(case: Case) -> Iterator[Reason]:
    """Yield what the scheduler reports of the pods without a node, or of their gang."""
    words = [_line(condition(pod, "PodScheduled").get("message")) for pod in case.unplaced]
    for message, count in Counter(filter(None, words)).most_common(1):
        yield _reason("scheduler", f"the scheduler does not place {count} of {len(case.pods)} pods: {message}")
    scheduled = max(map(event_time, case.snapshot.events_with("Scheduled")), default="")
    gang = [event for event in case.snapshot.events_with("Unschedulable") if event_time(event) > scheduled]
    texts = [text for text in (text_at(event, "message") for event in gang) if not text.startswith(_NO_PODS)]
    if not case.pods and texts:
        yield _reason("scheduler", f"the scheduler does not start the gang: {_line(texts[-1])}")


def _line(text: object) -> str:
    """Return a text from elsewhere as a part of a sentence."""
    return shown_text(str(text or "")).rstrip(".")


# --- evictions


def preemption(snapshot: Snapshot, facts: Facts = UNREAD) -> str:
    """Return how the job was evicted: by which job if Kueue reports it, else what runs on its nodes now. "" if it was
    not, or if its pods have started since."""
    at, text = (_kueue_eviction if snapshot.admission == defaults.KUEUE else _scheduler_eviction)(snapshot, facts)
    started = max((text_at(pod, "status.startTime") for pod in snapshot.pods), default="")
    return text if at > started else ""


def _kueue_eviction(snapshot: Snapshot, facts: Facts) -> tuple[str, str]:
    evicted = condition(snapshot.gang, "Evicted")
    if evicted.get("status") != "True":
        return "", ""
    at, message = text_at(evicted, "lastTransitionTime"), text_at(evicted, "message")
    preemptor, when = _PREEMPTOR.search(message), clock(at, snapshot.read_at)
    job = preemptor and facts.live.kueue.jobs.get(preemptor[1])
    return at, f"preempted at {when} by {job}" if job else f"evicted at {when} by Kueue: {_line(message)}"


def _scheduler_eviction(snapshot: Snapshot, facts: Facts) -> tuple[str, str]:
    """Return the newest eviction. Its event does not name the job that took the room."""
    events, own = snapshot.events_with(*EVICTIONS), f"{snapshot.target.namespace}/{name_of(snapshot.job)}"
    if not events:
        return "", ""
    at, nodes = event_time(events[-1]), [node for node in facts.live.nodes or () if node.name in facts.nodes]
    jobs = sorted({job for node in nodes for job in node.holders} - {own})
    more = f"; its nodes now run {list_names(jobs, MOST_NAMED)}" if jobs else ""
    return at, f"preempted at {clock(at, snapshot.read_at)}{more}"
