"""Follow the pods of a rehearsal on real nodes: their states, their output, and the end of the job."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
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
from trainform.running.failure import CASCADE, FailedRun, end_of, error_line, first_failures, termination
from trainform.running.model import Cause, End
from trainform.running.snapshot import container_statuses, event_time

PHASES = {"Pending": PENDING, "Running": RUNNING, "Succeeded": SUCCEEDED, "Failed": FAILED}
WAITING = (PENDING, PREPARING)
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
    """A run of a container that failed. began: its start, "" if the kubelet does not write it."""

    began: str
    end: End
    reason: str
    error: str


class Follower:
    """Follows the pods of a job, which the report knows by their planned names."""

    def __init__(self, api: Api, job: Mapping[str, Any], report: Report, workload: Workload) -> None:
        self._api, self._report, self._records = api, report, report.records
        self._job = path_of(job)
        namespace = f"/api/v1/namespaces/{job['metadata']['namespace']}"
        self._pods, self._warnings = f"{namespace}/pods", f"{namespace}/events?fieldSelector=type=Warning"
        self._silent = workload.lookup_containers
        self._completing = {planned_name(pod) for pod in workload.pods if pod_name(pod) in workload.ends_with}
        self._readers: dict[str, threading.Thread] = {}  # by run of a container; each has the name of its pod
        self._states = deque[dict[str, Any]]()  # of pods, since the last look
        self._stuck: dict[str, float] = {}
        self._job_ended = False
        # by planned name, since a pod may be recreated
        self._seen: defaultdict[str, set[str]] = defaultdict(set)
        self._ended: dict[str, str] = {}  # the UID with which it has ended
        self._failures: dict[str, _Failure] = {}
        self._completed_at = ""
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
        self._read_rest(self._readers.values(), LAST_SECONDS)
        self._job_ended = True
        self._look()
        running = {record.pod for record in self._records.all() if record.phase not in ENDED}
        if self._read_rest([each for each in self._readers.values() if each.name not in running], OUTPUT_SECONDS):
            self._report.note(f"the rest of the output is left out: it was not read within {OUTPUT_SECONDS:.0f} s")
        self._end_the_rest(phase)
        return phase

    def reason(self) -> str:
        """Return the last message of the operator about the job; "" if it has none."""
        status = mapping(self._api.get(self._job).get("status"))
        reports = [*mappings(status.get("conditions")), mapping(status.get("state"))]
        messages = (each.get("message") for each in reversed(reports) if each.get("status") != "False")
        return str(next(filter(None, messages), ""))

    def causes(self) -> set[str]:
        """Return the pods that cannot start, else those that failed first."""
        return set(self._stuck) or self._first_failed()

    def warnings(self) -> list[str]:
        """Return the last warning about each object, if a pod waits and its status does not say for what."""
        if not any(record.phase in WAITING and not record.reason for record in self._records.all()):
            return []
        events = sorted(self._api.get(self._warnings)["items"], key=event_time)
        last = {(each["involvedObject"]["kind"], each["involvedObject"]["name"]): each["message"] for each in events}
        return [f"{kind} {name}: {message}" for (kind, name), message in last.items()]

    def _watch(self) -> None:
        """Collect every state of the pods: one may end and be deleted between two looks."""
        with contextlib.suppress(RequestError):  # the client is closed at the end
            while not self._job_ended:  # the API server ends a watch after half an hour
                for line in self._api.lines(f"{self._pods}?watch=true"):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    self._states.append(event["object"])

    def _end_the_rest(self, phase: Phase) -> None:
        """Record the end of the pods that ran until the job ended, and of those that failed after its completion."""
        records = {record.pod: record for record in self._records.all()}
        running = {pod for pod, record in records.items() if record.phase not in ENDED}
        stuck = running & self._stuck.keys()
        late = {pod for pod in self._failures if phase == Phase.SUCCEEDED and self._is_late(pod)}
        failed = (running & self._crashing) - late
        if phase == Phase.FAILED:
            failed = running & self._first_failed()
        for pod in failed - stuck:
            self._record_failure(pod, self._failures[pod])
        for pod in stuck:
            self._records.end(pod, FAILED, None, records[pod].reason)
        for pod in running - failed - stuck:
            self._records.end(pod, STOPPED, None, "ended with the job")
        for pod in late:
            if records[pod].phase != SUCCEEDED:  # it was recreated
                failure = self._failures[pod]
                self._records.end(pod, STOPPED, failure.end.exit_code, f"{failure.reason} after the job completed")

    def _is_late(self, pod: str) -> bool:
        """Return True if the pod failed after the job was complete. Times are whole seconds: of failures in the second
        of the completion, only those that the end of another pod can cause count as later."""
        end = self._failures[pod].end
        return end.at > self._completed_at > "" or (end.at == self._completed_at and end.cause in CASCADE)

    def _first_failed(self) -> set[str]:
        """Return the pods that failed first in the last attempt: causes before their cascade."""
        runs = [FailedRun(pod, failure.began, failure.end) for pod, failure in self._failures.items()]
        return {run.pod for run in first_failures(runs)[0]} if runs else set()

    @staticmethod
    def _read_rest(readers: Collection[threading.Thread], seconds: float) -> bool:
        """Wait for the output of these pods; return True if some of it is left after this time."""
        end = time.monotonic() + seconds
        for reader in readers:
            reader.join(max(0.0, end - time.monotonic()))
        return any(reader.is_alive() for reader in readers)

    def _look(self) -> None:
        """Record the state of the newest pod of each name, and follow the output of containers that have begun."""
        records = {record.pod: record for record in self._records.all()}
        states = [self._states.popleft() for _ in range(len(self._states))]
        found = [pod for pod in (*states, *self._api.get(self._pods)["items"]) if planned_name(pod) in records]
        pods = sorted(found, key=lambda pod: pod["metadata"]["creationTimestamp"])
        for pod in pods:
            name = planned_name(pod)
            self._seen[name].add(pod["metadata"]["uid"])
            if (failure := self._failure(pod)) is not None:
                self._failures[name] = failure
            if not self._job_ended and "deletionTimestamp" not in pod["metadata"]:
                crashes = CRASHES in {each.get("reason") for each in _states(container_statuses(pod), "waiting")}
                (self._crashing.add if crashes and name in self._failures else self._crashing.discard)(name)
        for name, pod in {planned_name(pod): pod for pod in pods}.items():
            self._look_at(pod, records[name])

    def _look_at(self, pod: dict[str, Any], record: PodRecord) -> None:
        """Record the state of a pod, and follow the output of its steps and its main container."""
        name, status, statuses = record.pod, mapping(pod.get("status")), container_statuses(pod)
        init = mappings(status.get("initContainerStatuses"))
        main = next((each for each in statuses if each.get("name") == pod["spec"]["containers"][0]["name"]), {})
        own = [*init, main]
        if begun := [each for each in own if _has_begun(each)]:
            restarts = sum(int(each.get("restartCount", 0)) for each in own) + len(self._seen[name]) - 1
            self._records.change(name, began=record.began or time.monotonic(), restarts=restarts)
        for each in begun:
            self._follow_output(pod, name, each)
        phase = PHASES.get(str(status.get("phase")), PENDING)
        if phase not in ENDED:
            if self._job_ended or "deletionTimestamp" in pod["metadata"]:
                return  # the kubelet does not start it again
            before = f"restarted after {self._failures[name].reason}" if name in self._failures else ""
            reason = self._stuck_reason(name, statuses) or _waits_for(status) or before
            phase = PREPARING if phase == PENDING and init else phase
            self._records.change(name, phase=phase, reason=reason, error="", exit_code=None, ended=None)
        elif self._ended.get(name) == pod["metadata"]["uid"]:
            return
        elif phase == SUCCEEDED:
            self._ended[name] = pod["metadata"]["uid"]
            if name in self._completing:
                finished = str(mapping(mapping(main.get("state")).get("terminated")).get("finishedAt", ""))
                self._completed_at = max(self._completed_at, finished)
            self._records.end(name, phase, 0)
        elif (failure := self._failure(pod)) is not None:
            self._ended[name] = pod["metadata"]["uid"]
            self._record_failure(name, failure)

    def _stuck_reason(self, name: str, statuses: Iterable[Mapping[str, Any]]) -> str:
        """Return why a container of the pod cannot start, and remember since when; else ""."""
        stuck = next((each for each in _states(statuses, "waiting") if each.get("reason") in STUCK_REASONS), {})
        if stuck:
            self._stuck.setdefault(name, time.monotonic())
        else:
            self._stuck.pop(name, None)
        return ": ".join(str(stuck[key]) for key in ("reason", "message") if key in stuck)

    def _record_failure(self, name: str, failure: _Failure) -> None:
        self._records.end(name, FAILED, failure.end.exit_code, failure.reason, failure.error)

    def _failure(self, pod: Mapping[str, Any]) -> _Failure | None:
        """Return the pod's last failed run; None if that ended after the pod's deletion, or after the job."""
        failure = None if self._job_ended else _failure_of(pod)
        return None if failure is None or _is_stopped(pod, failure.end.at) else failure

    def _follow_output(self, pod: Mapping[str, Any], name: str, container: Mapping[str, Any]) -> None:
        """Read the output of the container's present run in a thread, once."""
        run = f"{pod['metadata']['uid']}/{container['name']}/{container.get('restartCount', 0)}"
        if run in self._readers or container["name"] in self._silent:
            return
        path = f"{self._pods}/{pod['metadata']['name']}/log?container={container['name']}&follow=true"
        reader = threading.Thread(target=self._read_output, args=(path, name), name=name, daemon=True)
        self._readers[run] = reader
        reader.start()

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
    _, run = termination(pod)
    began, status = str(run.get("startedAt", "")), mapping(pod.get("status"))
    if "reason" in status:  # evicted, or out of time: the exit code is that of the signal
        return _Failure(began, end, str(status["reason"]), str(status.get("message", "")))
    why = run.get("reason")
    reason = f"exit code {end.exit_code}" if why in (None, "Error") else str(why)
    if why == "OOMKilled" and end.cause is not Cause.OOM:
        # the kernel killed a child process, or on cgroup v1 a process of another container
        reason = f"exit code {end.exit_code} ({why})"
    return _Failure(began, end, f"{end.container}: {reason}" if end.container else reason, error_line(end))


def _is_stopped(pod: Mapping[str, Any], at: str) -> bool:
    """Return True if the operator had deleted the pod before it ended. at: its end."""
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return False
    seconds = seconds_between(at, metadata["deletionTimestamp"])  # the end of its grace period
    return seconds is not None and seconds <= metadata.get("deletionGracePeriodSeconds", 0)


def _has_begun(container: Mapping[str, Any]) -> bool:
    """Return True if the container runs or has run; it may back off when it is seen first."""
    return any({"running", "terminated"} & mapping(container.get(field)).keys() for field in ("state", "lastState"))


def _states(containers: Iterable[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the details of a state of each container; empty for those in another state."""
    return [mapping(mapping(each.get("state")).get(kind)) for each in containers]


def _waits_for(status: Mapping[str, Any]) -> str:
    """Return why a pod has no node yet; else ""."""
    conditions = mappings(status.get("conditions"))
    placed = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
    return str(placed.get("message", "")) if placed.get("status") == "False" else ""
