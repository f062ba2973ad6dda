"""What `pulumi up` really does, held against the report of the review before it."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.engine.live import Live
from tests.engine.pods import is_running

IN_NAMESPACE = {
    "jobs": "Job",
    "jobsets": "JobSet",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "services": "Service",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
}
IN_CLUSTER = {"queues": "Queue", "priorityclasses": "PriorityClass"}
OF_SERVER = ("managedFields", "resourceVersion", "generation")
SETTLED = 3.0  # seconds in which a pod that has room starts
STARTS = 60.0
OLD, NEW, BOTH = "gone", "new", "changed"

Key = tuple[str, str]
"""Kind and name."""


class Change(NamedTuple):
    """What has become of an object."""

    what: str
    kind: str
    name: str


class Objects(NamedTuple):
    """The live objects of a namespace and of the whole cluster, but those that controllers made."""

    found: Mapping[Key, Mapping[str, Any]]

    def changes(self, after: Objects) -> set[Change]:
        """Return what differs afterwards. A new object of the same name is both gone and new. The record of what is
        deployed is left out: no reader asks for it."""
        both = self.found.keys() & after.found.keys()
        again = {key for key in both if uid(self.found[key]) != uid(after.found[key])}
        changed = {key for key in both - again if content(self.found[key]) != content(after.found[key])}
        parts = {OLD: (self.found.keys() - both) | again, NEW: (after.found.keys() - both) | again, BOTH: changed}
        return {Change(what, *key) for what, keys in parts.items() for key in keys if not key[1].endswith("-deployed")}


def objects(live: Live, namespace: str) -> Objects:
    """Read them now."""
    return Objects({(kind, body["metadata"]["name"]): body for kind, body in _read(live, namespace)})


def _read(live: Live, namespace: str) -> Iterator[tuple[str, dict[str, Any]]]:
    served = {plural: kind for plural, kind in IN_NAMESPACE.items() if plural != "jobsets" or has_jobsets(live)}
    for plural, kind in served.items():
        for body in live.find_all(plural, namespace):
            if "ownerReferences" not in body["metadata"] and body["metadata"]["name"] != "kube-root-ca.crt":
                yield kind, body
    for plural, kind in IN_CLUSTER.items():
        yield from ((kind, body) for body in live.find_all(plural))


def has_jobsets(live: Live) -> bool:
    """Whether the cluster serves them."""
    return live.request("GET", live.path("jobsets", "default")).status_code == 200


def uid(body: Mapping[str, Any]) -> str:
    """Return the identity of an object."""
    found: str = body["metadata"]["uid"]
    return found


def content(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object without what only the server and controllers write."""
    found = copy.deepcopy({key: value for key, value in body.items() if key != "status"})
    for field in OF_SERVER:
        found["metadata"].pop(field, None)
    return found


def untrue(report: Mapping[str, Any], before: Objects, after: Objects) -> list[str]:
    """Return what the report has said otherwise than `pulumi up` did, as sentences."""
    changes = before.changes(after)
    said = {(each["kind"], each["name"]): each for each in report["objects"]}
    replaced = {kind for (kind, _), each in said.items() if "replace" in each["operation"]}
    replaced |= {*JOBS} if replaced & {*JOBS} else set()  # a job may get another operator
    found = [
        f"{each.kind} {each.name} is {each.what}, and the review does not say it"
        for each in changes
        if (each.kind, each.name) not in said and not (each.what == OLD and each.kind in replaced)
    ]
    for (kind, name), each in said.items():
        real = {change.what for change in changes if (change.kind, change.name) == (kind, name)}
        expected = _expected(each["operation"])
        if not (expected is None or real == expected or (not each["destructive"] and expected == {OLD} and not real)):
            found.append(f"{kind} {name}: the review says {each['operation']}, and it is {sorted(real)}")
    found += _of_effects(report, {name for kind, name in before.found if kind in JOBS}, changes)
    if changes and report["headline"].startswith("Nothing changes"):
        found.append(f"the review says that nothing changes, and {sorted(changes)} do")
    return found


JOBS, CLAIM = ("Job", "JobSet"), "PersistentVolumeClaim"


def _of_effects(report: Mapping[str, Any], jobs: set[str], changes: set[Change]) -> Iterator[str]:
    """Yield what is told of jobs that end, and of claims. jobs: names of those before."""
    told = {kind: {each["object"] for each in report["effects"] if each["kind"] == kind} for kind in KINDS}
    ended = {each.name for each in changes if each.what == OLD and each.kind in JOBS}
    said = set[str]().union(*told.values()) & jobs - told["keep"]
    if ended != said:
        yield f"the review says that the jobs {sorted(said)} end, and {sorted(ended)} do"
    lost = {each.name for each in changes if each.what == OLD and each.kind == CLAIM}
    if lost & told["keep"] or (lost and not any(each["category"] == "data" for each in report["findings"])):
        yield f"the claims {sorted(lost)} are gone, without a finding"


KINDS = ("replace", "stop", "delete", "keep")


def _expected(operation: str) -> set[str] | None:
    """Return what an operation of the engine does to the object of the name that the report has; None: that is not
    known. A job that is replaced has another name then."""
    return {"create": {NEW}, "replace": {NEW}, "delete": {OLD}, "update": {BOTH}}.get(operation)


def starts_as_said(live: Live, namespace: str, verdict: str, pods: int) -> bool:
    """Whether the pods run, or do not, as the review has said of the room for them."""
    if verdict not in ("now", "later", "never"):
        return True
    deadline = time.monotonic() + (STARTS if verdict == "now" else SETTLED)
    while time.monotonic() < deadline:
        if _running(live, namespace) == pods:
            return verdict == "now"
        time.sleep(0.25)
    return verdict != "now"


def _running(live: Live, namespace: str) -> int:
    return sum(map(is_running, live.find_all("pods", namespace)))
