"""Answers the pods that call `kubectl exec`: Docker runs the command in a pod of the same rehearsal."""

from __future__ import annotations

import base64
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform.errors import TrainformError
from trainform.local.rehearsal.docker.engine import STDERR, STDOUT, ContainerStreams, Engine, RemovedError
from trainform.local.rehearsal.run.records import FAILED, RUNNING, STOPPED, SUCCEEDED, Records
from trainform.local.rehearsal.workload import Workload, pod_name, short_name

POLL_SECONDS = 0.2
QUIET_SECONDS = 2.0  # pods may be late by so much before a line names them
JOIN_SECONDS = 30.0  # for threads whose containers have been removed
NOT_FOUND = 'Error from server (NotFound): pods "{pod}" not found'
COMPLETED = "error: cannot exec into a container in a completed pod; current phase is {phase}"
NO_SUCH_CONTAINER = "Error from server (BadRequest): container {container} is not valid for pod {pod}"
NOT_RUNNING = 'error: Internal error occurred: unable to upgrade connection: container not found ("{container}")'

Request = Mapping[str, Any]


def refusal(request: Request, workload: Workload, phases: Mapping[str, str]) -> str | None:
    """Return kubectl's message for a request that it would refuse; None for a container of a running pod."""
    name = request["pod"]
    pod = next((pod for pod in workload.pods if pod_name(pod) == name), None)
    phase = phases.get(name, STOPPED)
    if pod is None or phase == STOPPED or request.get("namespace", workload.namespace) != workload.namespace:
        return NOT_FOUND.format(pod=name)
    if phase in {SUCCEEDED, FAILED}:
        return COMPLETED.format(phase=phase)
    container = chosen_container(request, pod)
    if container not in [each["name"] for each in pod["spec"]["containers"]]:
        return NO_SUCH_CONTAINER.format(container=container, pod=name)
    return None


def chosen_container(request: Request, pod: dict[str, Any]) -> str:
    """Return the name of the container in the request, else of the pod's first container."""
    return str(request.get("container", pod["spec"]["containers"][0]["name"]))


class Bridge:
    """Serves the relays of one rehearsal, each in a thread. write_line: shows a line in the name of a pod."""

    def __init__(
        self, engine: Engine, records: Records, workload: Workload, write_line: Callable[[str, str], None]
    ) -> None:
        self._engine = engine
        self._records = records
        self._workload = workload
        self._write_line = write_line
        self._threads: list[threading.Thread] = []

    def is_relay(self, container: dict[str, Any]) -> bool:
        """Return True if the init container is a relay."""
        return self._workload.agent is not None and container["name"] == self._workload.agent.delivery

    def deliver(
        self,
        pod: dict[str, Any],
        container: dict[str, Any],
        make: Callable[[dict[str, Any]], str],
        over: threading.Event,
    ) -> tuple[int, str]:
        """Start the relay, wait until the pods of the hostfile run, and return an exit code and its reason.

        make: creates a container of the pod, and returns its id. RemovedError when `over` is set."""
        found: queue.SimpleQueue[list[str] | TrainformError | None] = queue.SimpleQueue()
        self._start(self._serve, container, make, found)
        hosts = found.get()
        if over.is_set() or hosts is None:
            raise RemovedError(pod_name(pod))
        if isinstance(hosts, TrainformError):
            return 1, f"the stand-in for kubectl, which needs `python3` in the image, did not start: {hosts.message}"
        known = {pod_name(other) for other in self._workload.pods}
        absent = [host for host in hosts if host not in known]
        if absent:
            return 1, f"the hostfile names pods that are not there: {', '.join(absent)}"
        self._wait([host for host in hosts if host != pod_name(pod)], pod_name(pod), over)
        return 0, ""

    def join(self) -> None:
        """Wait for the threads, whose containers have been removed."""
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

    def _start(self, work: Callable[..., None], *words: Any) -> None:
        thread = threading.Thread(target=work, args=words, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _wait(self, hosts: list[str], name: str, over: threading.Event) -> None:
        """Wait until these pods run, and name those that are late. The rehearsal's own timeout ends the waiting."""
        began = time.monotonic()
        reported: list[str] = []
        while late := [host for host in hosts if not self._runs(host)]:
            if late != reported and time.monotonic() - began > QUIET_SECONDS:
                words = (f"{short_name(self._workload.pod(host))} ({self._records.get(host).phase})" for host in late)
                self._write_line(name, f"[waits for pods of the hostfile that do not run: {', '.join(words)}]")
                reported = late
            if over.wait(POLL_SECONDS):
                raise RemovedError(name)

    def _runs(self, name: str) -> bool:
        first = self._workload.pod(name)["spec"]["containers"][0]["name"]
        return self._records.get(name).phase == RUNNING and self._engine.running(pod=name, container=first) is not None

    def _serve(
        self, container: dict[str, Any], make: Callable[[dict[str, Any]], str], found: queue.SimpleQueue[Any]
    ) -> None:
        """Serve the relay to its end. `found` gets the hosts of its hostfile, or the error; None if it was removed."""
        errors: list[bytes] = []
        try:
            identity = make(container)
            with self._engine.attached(identity) as stream:
                self._engine.start(identity)
                lock = threading.Lock()
                for message in _messages(stream.output(), errors):
                    if "hosts" in message:
                        found.put(message["hosts"])
                    else:
                        self._start(self._answer, message, stream, lock)
            found.put(TrainformError(b"".join(errors).decode(errors="replace").strip().rpartition("\n")[2]))
        except RemovedError:
            found.put(None)
        except TrainformError as error:
            found.put(error)
        except Exception as error:  # an error in this program must not look like a pod that runs for long
            self._records.fail(error)
            found.put(None)

    def _answer(self, request: Request, stream: ContainerStreams, lock: threading.Lock) -> None:
        """Run the command, and send its output and exit code back to the caller."""

        def send(**answer: Any) -> None:
            with lock:
                stream.write(json.dumps({"to": request["from"], **answer}).encode() + b"\n")

        def on_output(kind: int, data: bytes) -> None:
            send(stream=kind, data=base64.b64encode(data).decode())

        try:
            code, words = self._executed(request, on_output)
            if words:
                on_output(STDERR, f"{words}\n".encode())
            send(exit=code)
        except OSError:
            pass  # the relay has ended, and with it the caller
        except Exception as error:
            self._records.fail(error)

    def _executed(self, request: Request, on_output: Callable[[int, bytes], None]) -> tuple[int, str]:
        """Run the command, and return its exit code and kubectl's message where it is not 0."""
        phases = {record.pod: record.phase for record in self._records.all()}
        refused = refusal(request, self._workload, phases)
        if refused is not None:
            return 1, refused
        container = chosen_container(request, self._workload.pod(request["pod"]))
        try:
            identity = self._engine.running(pod=request["pod"], container=container)
            if identity is None:
                return 1, NOT_RUNNING.format(container=container)
            code = self._engine.execute(identity, request["command"], on_output)
        except RemovedError:
            return 1, NOT_RUNNING.format(container=container)
        except TrainformError as error:
            return 1, f"error: {error.message}"
        return code, "" if code == 0 else f"command terminated with exit code {code}"


def _messages(output: Iterable[tuple[int, bytes]], errors: list[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the messages in the lines of standard output. What arrives on the other stream is added to `errors`."""
    rest = b""
    for kind, piece in output:
        if kind != STDOUT:
            errors.append(piece)
            continue
        *whole, rest = (rest + piece).split(b"\n")
        yield from map(json.loads, whole)
