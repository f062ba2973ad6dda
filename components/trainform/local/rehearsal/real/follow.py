"""Follow the pods of a rehearsal on real nodes: their states, their output, and the end of the job."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from trainform.cluster.phases import ENDED as JOB_ENDED
from trainform.cluster.phases import Phase, phase_of
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
from trainform.local.rehearsal.workload import planned_name
from trainform.local.sandbox.api import Api, RequestError
from trainform.manifests.manifest import mapping, mappings

PHASES = {"Pending": PENDING, "Running": RUNNING, "Succeeded": SUCCEEDED, "Failed": FAILED}
POLL_SECONDS = 0.3
OUTPUT_SECONDS = 30.0  # for the rest of the output, after the job has ended
# A pod that waits for one of these does not start by itself: all objects exist from the beginning.
STUCK_SECONDS = 10.0
STUCK_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"}
)


class Follower:
    """Follows the pods of a job, which the report knows by their planned names."""

    def __init__(self, api: Api, job: Mapping[str, Any], report: Report) -> None:
        self._api, self._report, self._records = api, report, report.records
        self._job = path_of(job)
        self._pods = f"/api/v1/namespaces/{job['metadata']['namespace']}/pods"
        self._read: set[str] = set()
        self._readers: list[threading.Thread] = []
        self._stuck: dict[str, float] = {}

    def run(self, deadline: float) -> Phase | None:
        """Return the phase in which the job has ended; None if it has not until the monotonic time `deadline`, or if a
        pod cannot start."""
        while (phase := phase_of(self._api.get(self._job), None)) not in JOB_ENDED:
            self._look()
            now = time.monotonic()
            if now > deadline or any(now - since > STUCK_SECONDS for since in self._stuck.values()):
                return None
            time.sleep(POLL_SECONDS)
        self._look()
        end = time.monotonic() + OUTPUT_SECONDS
        for reader in self._readers:
            reader.join(max(0.0, end - time.monotonic()))
        if any(reader.is_alive() for reader in self._readers):
            self._report.note(f"the output goes on, and is not read any more: the job ended {OUTPUT_SECONDS:.0f} s ago")
        for record in self._records.all():
            if record.phase not in ENDED:
                self._records.end(record.pod, STOPPED, None, "stopped with the job")
        return phase

    def _look(self) -> None:
        """Record the state of each pod, and follow the output of containers that have begun."""
        records = {record.pod: record for record in self._records.all()}
        for pod in self._api.get(self._pods)["items"]:
            record = records.get(planned_name(pod))
            if record is not None:
                self._look_at(pod, record)

    def _look_at(self, pod: dict[str, Any], record: PodRecord) -> None:
        status, main = mapping(pod.get("status")), str(pod["spec"]["containers"][0]["name"])
        init, others = (mappings(status.get(field)) for field in ("initContainerStatuses", "containerStatuses"))
        found: dict[str, Any] = next((each for each in others if each.get("name") == main), {})
        state, restarts = mapping(found.get("state")), int(found.get("restartCount", 0))
        waiting, terminated = (_states([*init, *others], kind) for kind in ("waiting", "terminated"))
        stuck = next((each for each in waiting if each.get("reason") in STUCK_REASONS), {})
        if stuck:
            self._stuck.setdefault(record.pod, time.monotonic())
        else:
            self._stuck.pop(record.pod, None)
        ended = mapping(state.get("terminated"))
        if ended or "running" in state:
            began = time.monotonic() if record.began is None else record.began
            self._records.change(record.pod, began=began, restarts=restarts)
            self._follow_output(pod, record.pod, main, restarts)
        phase = PHASES.get(str(status.get("phase")), PENDING)
        if phase not in ENDED:
            reason = ": ".join(str(stuck[key]) for key in ("reason", "message") if key in stuck)
            reason = reason if reason else _waits_for(status, found)
            phase = PREPARING if phase == PENDING and init else phase
            self._records.change(record.pod, phase=phase, reason=reason, exit_code=None, ended=None)
        elif record.phase not in ENDED:
            ended = next((each for each in terminated if each.get("exitCode")), ended)
            code, why = ended.get("exitCode"), ended.get("reason") or status.get("reason")
            reason = str(why) if code is None or why not in (None, "Error") else f"exit code {code}"
            self._records.end(record.pod, phase, code, "" if phase == SUCCEEDED else reason)

    def _follow_output(self, pod: Mapping[str, Any], name: str, main: str, restarts: int) -> None:
        """Read the output of the container's present run in a thread, once."""
        run = f"{pod['metadata']['uid']}/{restarts}"
        if run in self._read:
            return
        self._read.add(run)
        path = f"{self._pods}/{pod['metadata']['name']}/log?container={main}&follow=true"
        reader = threading.Thread(target=self._read_output, args=(path, name), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _read_output(self, path: str, name: str) -> None:
        try:
            for line in self._api.lines(path):
                self._report.write_line(name, line)
        except RequestError:
            return  # the pod was removed


def _states(containers: Iterable[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the details of a state of each container; empty for those in another state."""
    return [mapping(mapping(each.get("state")).get(kind)) for each in containers]


def _waits_for(status: Mapping[str, Any], main: Mapping[str, Any]) -> str:
    """Return why a pod has no node yet, or how its main container ended before it was started again; else ""."""
    conditions = mappings(status.get("conditions"))
    placed = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
    if placed.get("status") == "False":
        return str(placed.get("message", ""))
    last = mapping(mapping(main.get("lastState")).get("terminated"))
    return f"exit code {last['exitCode']} before" if "exitCode" in last else ""
