"""A job that waits, with the facts about it, and the room that its pods lack: the arithmetic is that of `review`."""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from trainform import defaults
from trainform.backends.backend import value_at
from trainform.cluster.amounts import NOTHING, POD_SLOTS, spelled
from trainform.cluster.phases import ENDED_PODS, PodState, pod_state
from trainform.errors import list_names, without_credentials
from trainform.manifests.manifest import mappings
from trainform.review.capacity import Estimate
from trainform.review.context import Context
from trainform.review.job_objects import local_queue_of, queue_of
from trainform.review.pod_limits import Lack
from trainform.review.pod_needs import Need, need_of
from trainform.review.preview import Preview
from trainform.running.facts import Facts, review_of
from trainform.running.model import Holder, Reason
from trainform.running.snapshot import Body, Snapshot

SILENT = datetime.timedelta(seconds=30)  # after which a controller must have done something
LONGEST = 400  # characters of a text from elsewhere


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A job that waits, and the facts about it."""

    snapshot: Snapshot
    facts: Facts

    @functools.cached_property
    def queue(self) -> tuple[str, str]:
        """Return kind and name of the queue in which it waits; two empty texts if all its pods have nodes."""
        kueue, record = self.snapshot.admission == defaults.KUEUE, self.snapshot.record
        if self.snapshot.admission == defaults.NONE or (self.pods and not self.unplaced):
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
        return "" < text_at(body, "metadata.creationTimestamp") < least

    def events(self, kinds: Collection[str]) -> list[Body]:
        """Return the events with one of these reasons, oldest first."""
        return [event for event in self.snapshot.events if event.get("reason") in kinds]


def _shortage(estimate: Estimate, need: Need, lack: Lack) -> tuple[str, Reason]:
    """Return the reason of a shortage, with its code."""
    never, kind = lack.verdict == "never", lack.object.partition("/")[0]
    if not lack.resource:
        return "queue-closed" if kind else "no-node", reason_of(lack.reason, lack.object, never=never)
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
    return code, reason_of(
        f"{lack.reason}{f' ({list_names(facts)})' if facts else ''}",
        lack.object,
        never=never,
        resource=estimate.names.get(lack.resource, lack.resource),
        needed=spelled(lack.resource, lack.requested),
        free=spelled(lack.resource, max(lack.requested - lack.missing, NOTHING)),
        largest=largest,
        holders=tuple(Holder(*holder) for holder in estimate.holders(lack)),
    )


def reason_of(text: str, of: str = "", fix: str = "", **more: Any) -> Reason:
    """Return a reason without a code. text: a sentence without its capital and its point."""
    return Reason("", f"{text[0].upper()}{text[1:]}.", fix, of, **more)


# --- parts of objects


def text_at(body: Any, path: str) -> str:
    """Return the text at the path, "" if there is none."""
    return str(value_at(body, path) or "")


def name_of(body: Any) -> str:
    """Return the name of an object; "" if there is none."""
    return text_at(body, "metadata.name")


def condition(body: Any, kind: str) -> Mapping[str, Any]:
    """Return the condition of this type in the status; empty if there is none."""
    return next((each for each in mappings(value_at(body, "status.conditions")) if each.get("type") == kind), {})


def words_of(text: object) -> str:
    """Return a text from elsewhere as a part of a sentence."""
    line = " ".join(without_credentials(str(text or "")).split()).rstrip(".")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
