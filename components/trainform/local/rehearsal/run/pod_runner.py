"""Runs one pod: its init containers one by one, then its containers together, with the policy's restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct

from trainform.errors import TrainformError
from trainform.local.rehearsal.docker.engine import Engine, RemovedError
from trainform.local.rehearsal.kubexec.delivery import relay_command
from trainform.local.rehearsal.run.pod_infrastructure import PodInfrastructure
from trainform.local.rehearsal.run.records import FAILED, PREPARING, RUNNING, STOPPED, SUCCEEDED, Records
from trainform.local.rehearsal.workload import Workload, init_containers, pod_name

NEVER = "Never"
CANNOT_START = 128  # the exit code of a container whose program could not be started
RESTART_SECONDS = 1.0  # a kubelet waits ten seconds before the first restart
LOG_SECONDS = 30.0  # Docker delivers the last lines when a container ends, on a busy machine some seconds later
JOIN_SECONDS = 30.0  # for threads whose containers have been removed
LONGEST_LINE = 16_384


class RunContext(Struct, frozen=True):
    """The objects that the runners of all pods share."""

    engine: Engine
    infrastructure: PodInfrastructure
    records: Records
    workload: Workload
    write_line: Callable[[str, str], None]
    """Called with the name of a pod and a line of its output."""


class PodRunner:
    """Runs a pod once, in its own thread."""

    def __init__(self, context: RunContext, pod: dict[str, Any]) -> None:
        self._context = context
        self._pod = pod
        self.name = pod_name(pod)
        self._restarts = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"pod {self.name}", daemon=True)

    def start(self) -> None:
        """Start the pod's thread, and return at once."""
        self._context.records.change(self.name, began=time.monotonic())
        self._thread.start()

    def end(self, reason: str) -> None:
        """Kill the pod's containers, and record the pod as stopped for this reason."""
        self.cancel()
        self._context.engine.remove_containers(pod=self.name)
        self._thread.join()
        self._context.records.end(self.name, STOPPED, None, reason)

    def cancel(self) -> None:
        """From now on start no container, and record no failure. The caller removes the containers."""
        self._over.set()

    def join(self) -> None:
        """Wait for the pod's thread, whose containers have been removed."""
        self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        try:
            self._run_containers()
        except RemovedError:
            if not self._over.is_set():
                self._context.records.end(self.name, FAILED, None, "its container was removed during the rehearsal")
        except Exception as error:  # an error in this program must not look like a pod that runs for long
            self._context.records.fail(error)

    def _run_containers(self) -> None:
        records = self._context.records
        records.change(self.name, phase=PREPARING if init_containers(self._pod) else RUNNING)
        for container in init_containers(self._pod):
            code, why = self._run_and_restart(container)
            if code != 0:
                self._record_end(FAILED, code, f"init container {container['name']}: {why}")
                return
        records.change(self.name, phase=RUNNING)
        together = self._pod["spec"]["containers"]
        with ThreadPoolExecutor(len(together)) as pool:
            ends = list(pool.map(self._run_and_restart, together))
        failed = next((end for end in ends if end[0] != 0), None)
        if failed is None:
            self._record_end(SUCCEEDED, 0, "")
        else:
            self._record_end(FAILED, *failed)

    def _record_end(self, phase: str, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._context.records.end(self.name, phase, code, reason)

    def _run_and_restart(self, container: dict[str, Any]) -> tuple[int, str]:
        """Run and restart a container as the policy allows; return exit code and reason of the last run."""
        while True:
            code, why = self._run_once(container)
            most = self._context.workload.restarts
            may_restart = self._pod["spec"].get("restartPolicy") != NEVER and self._restarts < most
            if code == 0 or not may_restart or self._over.is_set():
                return code, why
            self._restarts += 1
            self._context.records.change(self.name, restarts=self._restarts)
            self._context.write_line(self.name, f"[{why}; restart {self._restarts} of {most}]")
            if self._over.wait(RESTART_SECONDS):
                raise RemovedError(self.name)

    def _run_once(self, container: dict[str, Any]) -> tuple[int, str]:
        try:
            identity = self._make(container)
            self._context.engine.start(identity)
        except TrainformError as error:
            return CANNOT_START, error.message
        if self._context.workload.agent is not None and container is self._pod["spec"]["containers"][0]:
            self._context.engine.execute(identity, relay_command(self._pod))
        reader = threading.Thread(target=self._write_output, args=(identity,), daemon=True)
        reader.start()
        code = self._context.engine.wait(identity)
        reader.join(LOG_SECONDS)
        if self._over.is_set():
            raise RemovedError(self.name)
        return code, "" if code == 0 else f"exit code {code}"

    def _make(self, container: dict[str, Any]) -> str:
        """Create a container without starting it, and return its id. RemovedError where the pod has been ended
        meanwhile: its containers may have been removed just before this one existed."""
        identity = self._context.infrastructure.make_container(self._pod, container)
        if self._over.is_set():
            self._context.engine.remove_container(identity)
            raise RemovedError(self.name)
        return identity

    def _write_output(self, identity: str) -> None:
        try:
            for line in lines(self._context.engine.output(identity)):
                self._context.write_line(self.name, line)
        except RemovedError:
            pass
        except Exception as error:  # Docker has several errors for a container that is being removed
            if not self._over.is_set():
                self._context.records.fail(error)


def lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a stream: of a progress bar the last state, and of an endless line pieces."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from map(_shown, whole)
        while len(rest) > LONGEST_LINE:
            yield _shown(rest[:LONGEST_LINE])
            rest = rest[LONGEST_LINE:]
    if rest:
        yield _shown(rest)


def _shown(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r").rpartition("\r")[2]
