"""Follow the pods of a rehearsal on real nodes: their states, their output, and the end of the job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from trainform.cluster.facts import ENDED as JOB_ENDED
from trainform.cluster.phases import reported_phase
from trainform.console.lines import strip_sequences
from trainform.local.rehearsal.run.records import (
    ENDED,
    FAILED,
    PENDING,
    PREPARING,
    RUNNING,
    STOPPED,
    SUCCEEDED,
    Records,
)
from trainform.local.rehearsal.workload import planned_name
from trainform.local.sandbox.api import Api, RequestError
from trainform.manifests.manifest import mapping, mappings

POLL_SECONDS = 0.3
OUTPUT_SECONDS = 3.0  # for the rest of the output, after the job has ended
# A pod that waits for one of these does not start by itself: nothing of a rehearsal comes later.
HOPELESS_SECONDS = 10.0
HOPELESS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"}
)


class Follower:
    """Follows the pods of one namespace. write: shows a line of a pod, by its planned name."""

    def __init__(self, api: Api, namespace: str, job: str, records: Records, write: Callable[[str, str], None]) -> None:
        self._api, self._job, self._records, self._write = api, job, records, write
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._known = {record.pod for record in records.all()}
        self._read: set[str] = set()
        self._readers: list[threading.Thread] = []
        self._hopeless: dict[str, float] = {}

    def run(self, deadline: float) -> str:
        """Return the phase in which the job has ended; "" if it has not until the monotonic time `deadline`, or if a
        pod cannot start."""
        while True:
            for pod in self._api.get(self._pods)["items"]:
                if planned_name(pod) in self._known:
                    self._look_at(pod)
            phase = reported_phase(mapping(self._api.get(self._job).get("status")))
            if phase in JOB_ENDED:
                break
            now = time.monotonic()
            if now > deadline or any(now - since > HOPELESS_SECONDS for since in self._hopeless.values()):
                return ""
            time.sleep(POLL_SECONDS)
        end = time.monotonic() + OUTPUT_SECONDS
        for reader in self._readers:
            reader.join(max(0.0, end - time.monotonic()))
        for record in self._records.all():
            if record.phase not in ENDED:
                self._records.end(record.pod, STOPPED, None, "stopped with the job")
        return phase

    def _look_at(self, pod: dict[str, Any]) -> None:
        name, status = planned_name(pod), mapping(pod.get("status"))
        main = str(pod["spec"]["containers"][0]["name"])
        state, restarts = _main_state(status, main)
        record = next(record for record in self._records.all() if record.pod == name)
        if record.phase in ENDED and pod["metadata"].get("deletionTimestamp"):
            return  # it is removed after its end
        waiting, ended = mapping(state.get("waiting")), mapping(state.get("terminated"))
        reason = str(waiting.get("reason", ""))
        if reason in HOPELESS:
            self._hopeless.setdefault(name, time.monotonic())
            reason = ": ".join(filter(None, [reason, str(waiting.get("message", ""))]))
        else:
            self._hopeless.pop(name, None)
        if "running" in state or ended:
            began = time.monotonic() if record.began is None else record.began
            self._records.change(name, began=began, restarts=restarts)
            self._follow_output(pod, name, main, restarts)
        phase = {"Pending": PENDING, "Running": RUNNING}.get(status.get("phase", PENDING), PENDING)
        if status.get("phase") == "Pending" and status.get("initContainerStatuses"):
            phase = PREPARING
        if status.get("phase") in ("Succeeded", "Failed") and record.phase not in ENDED:
            code = ended.get("exitCode")
            why = str(ended.get("reason") or status.get("reason") or "")
            why = f"exit code {code}" if why in ("", "Error") and code is not None else why
            succeeded = status["phase"] == "Succeeded"
            self._records.end(name, SUCCEEDED if succeeded else FAILED, code, "" if succeeded else why)
        elif record.phase not in ENDED or restarts > record.restarts or status.get("phase") == "Running":
            self._records.change(name, phase=phase, reason=reason, exit_code=None, ended=None)

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
                words = strip_sequences(line).strip()
                if words:
                    self._records.change(name, last_line=words)
                self._write(name, line)
        except RequestError:
            return  # the pod was removed


def _main_state(status: Mapping[str, Any], main: str) -> tuple[dict[str, Any], int]:
    """Return the state of the main container and how often it was restarted."""
    statuses = mappings(status.get("containerStatuses"))
    found: dict[str, Any] = next((each for each in statuses if each.get("name") == main), {})
    return mapping(found.get("state")), int(found.get("restartCount", 0))
