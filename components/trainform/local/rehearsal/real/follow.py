"""Follow the pods of a rehearsal on real nodes: their states, their output, and the end of the job."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from trainform.cluster.live_drift import seconds_between
from trainform.cluster.phases import Phase, decided_end
from trainform.local.rehearsal.real.objects import path_of
from trainform.local.rehearsal.run.records import (
    ENDED,
    FAILED,
    PENDING,
    PREPARING,
    RUNNING,
    STOPPED,
    SUCCEEDED,
    PodRecord,
)
from trainform.local.rehearsal.run.report import Report
from trainform.local.rehearsal.workload import Workload, planned_name, pod_name
from trainform.local.sandbox.api import Api, RequestError
from trainform.manifests.manifest import mapping, mappings
from trainform.running.failure import end_of, error_line
from trainform.running.snapshot import container_statuses

PHASES = {"Pending": PENDING, "Running": RUNNING, "Succeeded": SUCCEEDED, "Failed": FAILED}
POLL_SECONDS = 0.3
LAST_SECONDS = 3.0  # for pods that still run when the job ends; then their namespace is deleted
OUTPUT_SECONDS = 30.0  # for the rest of the output of pods that have ended
# A pod that waits for one of these does not start by itself: all objects exist from the beginning.
STUCK_SECONDS = 10.0
CRASHES = "CrashLoopBackOff"
STUCK_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"}
)


class _Failure(NamedTuple):
    """A run of a container that failed. at: its end, as the kubelet writes it."""

    at: str
    code: int | None
    reason: str
    error: str


class Follower:
    """Follows the pods of a job, which the report knows by their planned names."""

    def __init__(self, api: Api, job: Mapping[str, Any], report: Report, workload: Workload) -> None:
        self._api, self._report, self._records = api, report, report.records
        self._job = path_of(job)
        self._pods = f"/api/v1/namespaces/{job['metadata']['namespace']}/pods"
        self._silent = workload.lookup_containers
        self._completing = {planned_name(pod) for pod in workload.pods if pod_name(pod) in workload.ends_with}
        self._read: set[str] = set()
        self._readers: list[tuple[str, threading.Thread]] = []
        self._states = deque[dict[str, Any]]()  # of pods, since the last look
        self._stuck: dict[str, float] = {}
        self._over = False
        # by planned name, since a pod may be made anew
        self._seen: defaultdict[str, set[str]] = defaultdict(set)
        self._failures: dict[str, _Failure] = {}
        self._completed: dict[str, str] = {}
        self._crashing: set[str] = set()

    def run(self, deadline: float) -> Phase | None:
        """Return the phase in which the operator ends the job; None at the monotonic time `deadline`, or if a pod
        cannot start."""
        threading.Thread(target=self._watch, daemon=True).start()
        while (phase := decided_end(self._api.get(self._job))) is None:
            self._look()
            now = time.monotonic()
            if now > deadline or any(now - since > STUCK_SECONDS for since in self._stuck.values()):
                return None
            time.sleep(POLL_SECONDS)
        self._look()
        self._read_rest(self._readers, LAST_SECONDS)
        self._over = True
        self._look()
        running = {record.pod for record in self._records.all() if record.phase not in ENDED}
        if self._read_rest([each for each in self._readers if each[0] not in running], OUTPUT_SECONDS):
            self._report.note(f"the rest of the output is left out: it was not read within {OUTPUT_SECONDS:.0f} s")
        self._end_the_rest(phase)
        return phase

    def _watch(self) -> None:
        """Collect all states of pods: one that ends may be deleted before the next look."""
        with contextlib.suppress(RequestError):  # the client is closed at the end
            for line in self._api.lines(f"{self._pods}?watch=true"):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self._states.append(event["object"])

    def _end_the_rest(self, phase: Phase) -> None:
        """Record how the pods ended that ran until the end of the job, or that failed after its completion."""
        phases = {record.pod: record.phase for record in self._records.all()}
        left = {pod for pod, found in phases.items() if found not in ENDED}
        end = max(self._completed.values(), default="") if phase == Phase.SUCCEEDED else ""
        late = {pod for pod, failure in self._failures.items() if failure.at >= end > ""}
        failed = (left & self._crashing) - late
        if phase == Phase.FAILED and not failed and FAILED not in phases.values():
            restarted = sorted(left & self._failures.keys(), key=lambda pod: self._failures[pod].at)
            failed = {*restarted[-1:]}  # it had no restart left
        for pod in failed:
            failure = self._failures[pod]
            self._records.change(pod, error=failure.error)
            self._records.end(pod, FAILED, failure.code, failure.reason)
        for pod in (left - failed) | {pod for pod in late if phases[pod] == FAILED}:
            self._records.end(pod, STOPPED, None, "ended with the job")

    @staticmethod
    def _read_rest(readers: Sequence[tuple[str, threading.Thread]], seconds: float) -> bool:
        """Wait for the output of these pods; return True if some of it is left after this time."""
        end = time.monotonic() + seconds
        for _, reader in readers:
            reader.join(max(0.0, end - time.monotonic()))
        return any(reader.is_alive() for _, reader in readers)

    def _look(self) -> None:
        """Record the state of the newest pod of each name, and follow the output of containers that have begun."""
        records = {record.pod: record for record in self._records.all()}
        states = [self._states.popleft() for _ in range(len(self._states))]
        pods = [pod for pod in (*states, *self._api.get(self._pods)["items"]) if planned_name(pod) in records]
        for pod in pods:
            self._seen[planned_name(pod)].add(pod["metadata"]["uid"])
            if (failure := self._failure(pod)) is not None:
                self._failures[planned_name(pod)] = failure
        newest = {planned_name(pod): pod for pod in sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"])}
        for name, pod in newest.items():
            self._look_at(pod, records[name])

    def _look_at(self, pod: dict[str, Any], record: PodRecord) -> None:
        status, main = mapping(pod.get("status")), str(pod["spec"]["containers"][0]["name"])
        init, others = (mappings(status.get(field)) for field in ("initContainerStatuses", "containerStatuses"))
        found: dict[str, Any] = next((each for each in others if each.get("name") == main), {})
        own = [*init, found]
        restarts = sum(int(each.get("restartCount", 0)) for each in own) + len(self._seen[record.pod]) - 1
        waiting = _states([*init, *others], "waiting")
        stuck = next((each for each in waiting if each.get("reason") in STUCK_REASONS), {})
        if stuck:
            self._stuck.setdefault(record.pod, time.monotonic())
        else:
            self._stuck.pop(record.pod, None)
        for each in own:
            if {"running", "terminated"} & mapping(each.get("state")).keys():
                began = time.monotonic() if record.began is None else record.began
                self._records.change(record.pod, began=began, restarts=restarts)
                self._follow_output(pod, record.pod, each)
        phase, last = PHASES.get(str(status.get("phase")), PENDING), self._failures.get(record.pod)
        crashes = last is not None and CRASHES in {each.get("reason") for each in _states(own, "waiting")}
        if not self._over:
            (self._crashing.add if crashes else self._crashing.discard)(record.pod)
        if phase not in ENDED:
            reason = ": ".join(str(stuck[key]) for key in ("reason", "message") if key in stuck)
            reason = reason or _waits_for(status) or ("" if last is None else f"{last.reason} before")
            phase = PREPARING if phase == PENDING and init else phase
            self._records.change(record.pod, phase=phase, reason=reason, error="", exit_code=None, ended=None)
        elif record.phase in ENDED:
            return
        elif phase == SUCCEEDED:
            if record.pod in self._completing:
                self._completed[record.pod] = str(_states([found], "terminated")[0].get("finishedAt", ""))
            self._records.end(record.pod, phase, 0)
        elif (failure := self._failure(pod)) is not None:
            self._records.change(record.pod, error=failure.error)
            self._records.end(record.pod, phase, failure.code, failure.reason)

    def _failure(self, pod: Mapping[str, Any]) -> _Failure | None:
        """Return the last run of the pod that failed before the operator deleted it, or ended the job."""
        failure = None if self._over else _failure_of(pod)
        return None if failure is None or _is_stopped(pod, failure.at) else failure

    def _follow_output(self, pod: Mapping[str, Any], name: str, container: Mapping[str, Any]) -> None:
        """Read the output of the container's present run in a thread, once."""
        run = f"{pod['metadata']['uid']}/{container['name']}/{container.get('restartCount', 0)}"
        if run in self._read or container["name"] in self._silent:
            return
        self._read.add(run)
        path = f"{self._pods}/{pod['metadata']['name']}/log?container={container['name']}&follow=true"
        reader = threading.Thread(target=self._read_output, args=(path, name), daemon=True)
        reader.start()
        self._readers.append((name, reader))

    def _read_output(self, path: str, name: str) -> None:
        try:
            for line in self._api.lines(path):
                self._report.write_line(name, line)
        except RequestError:
            return  # the pod was removed


def _failure_of(pod: Mapping[str, Any]) -> _Failure | None:
    """Return the last run that failed of the main container, else of another one; None if no run has failed."""
    end = end_of(pod)
    if end is None:
        return None
    name = end.container or pod["spec"]["containers"][0]["name"]
    ended = [each for each in container_statuses(pod) if each.get("name") == name]
    runs = [mapping(each.get(field)).get("terminated") for each in ended for field in ("state", "lastState")]
    run = next((mapping(each) for each in runs if mapping(each).get("exitCode")), {})
    why = run.get("reason") or mapping(pod.get("status")).get("reason")
    reason = str(why) if end.exit_code is None or why not in (None, "Error") else f"exit code {end.exit_code}"
    return _Failure(end.at, end.exit_code, f"{end.container}: {reason}" if end.container else reason, error_line(end))


def _is_stopped(pod: Mapping[str, Any], at: str) -> bool:
    """Return True if the pod, which ended at this time, was deleted before, which is by the operator."""
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return False
    seconds = seconds_between(at, metadata["deletionTimestamp"])  # the end of its grace period
    return seconds is not None and seconds <= metadata.get("deletionGracePeriodSeconds", 0)


def _states(containers: Iterable[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the details of a state of each container; empty for those in another state."""
    return [mapping(mapping(each.get("state")).get(kind)) for each in containers]


def _waits_for(status: Mapping[str, Any]) -> str:
    """Return why a pod has no node yet; else ""."""
    conditions = mappings(status.get("conditions"))
    placed = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
    return str(placed.get("message", "")) if placed.get("status") == "False" else ""
