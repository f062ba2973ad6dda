"""The life of one pod: its init containers one after the other, then its containers, again where they may be restarted."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trainform.errors import TrainformError
from trainform.rehearsal.engine import Engine, RemovedError
from trainform.rehearsal.ground import Ground
from trainform.rehearsal.kubexec.bridge import JOIN_SECONDS, Bridge
from trainform.rehearsal.records import FAILED, PREPARING, RUNNING, STOPPED, SUCCEEDED, Records
from trainform.rehearsal.stage import init_containers, pod_name

NEVER = "Never"
CANNOT_START = 128  # what a container's exit code is where its program could not be started
RESTART_SECONDS = 1.0  # a kubelet begins with ten
LOG_SECONDS = 30.0  # the last lines come with the end of a container, or not at all; a busy machine hands them on late
LONGEST_LINE = 16_384


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What all pods of a rehearsal share. `say` takes a pod's name and a line of its output."""

    engine: Engine
    ground: Ground
    records: Records
    restarts: int
    say: Callable[[str, str], None]
    bridge: Bridge


class Life:
    """One incarnation of a pod, in a thread of its own."""

    def __init__(self, surroundings: Surroundings, pod: dict[str, Any]) -> None:
        self._around = surroundings
        self._pod = pod
        self.name = pod_name(pod)
        self._restarts = 0
        self._over = threading.Event()
        self._main = ""
        self._thread = threading.Thread(target=self._run, name=f"pod {self.name}", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._around.records.begin(self.name)
        self._thread.start()

    def end(self, reason: str | None = None) -> None:
        """Kill the pod's containers. With a reason the pod is stopped; without one its record is left to its next incarnation."""
        self.leave()
        self._around.engine.remove_containers(pod=self.name)
        self._thread.join()
        if reason is not None:
            self._around.records.end(self.name, STOPPED, None, reason)

    def leave(self) -> None:
        """From now on nothing is begun, and nothing that ends is a failure: whoever calls this removes the containers."""
        self._over.set()

    def join(self) -> None:
        """Wait for the pod's thread, whose containers have been removed."""
        self._thread.join(JOIN_SECONDS)

    def kill(self) -> None:
        """SIGKILL to the main container, as the out-of-memory killer does it."""
        self._around.engine.kill(self._main)

    def _run(self) -> None:
        try:
            self._live()
        except RemovedError:
            if not self._over.is_set():
                self._around.records.end(self.name, FAILED, None, "its container was removed by somebody else")
        except Exception as error:  # a fault of ours must not look like a pod that takes its time
            self._around.records.fail(error)

    def _live(self) -> None:
        records = self._around.records
        records.change(self.name, phase=PREPARING if init_containers(self._pod) else RUNNING)
        for container in init_containers(self._pod):
            code, why = self._prepared(container)
            if code != 0:
                self._ended(FAILED, code, f"init container {container['name']}: {why}")
                return
        records.change(self.name, phase=RUNNING)
        ends = self._together(self._pod["spec"]["containers"])
        failed = next((end for end in ends if end[0] != 0), None)
        if failed is None:
            self._ended(SUCCEEDED, 0, "")
        else:
            self._ended(FAILED, *failed)

    def _prepared(self, container: dict[str, Any]) -> tuple[int, str]:
        """Run an init container; exit code and reason."""
        if self._around.bridge.brings(container):
            return self._around.bridge.deliver(self._pod, container, self._make, self._over)
        return self._until_done(container)

    def _ended(self, phase: str, code: int, reason: str) -> None:
        if not self._over.is_set():
            self._around.records.end(self.name, phase, code, reason)

    def _together(self, containers: list[dict[str, Any]]) -> list[tuple[int, str]]:
        """Run all at a time; exit code and reason of each, in order."""
        first, *others = containers
        ends: dict[str, tuple[int, str]] = {}
        threads = [threading.Thread(target=self._beside, args=(container, ends), daemon=True) for container in others]
        for thread in threads:
            thread.start()
        try:
            ends[first["name"]] = self._until_done(first, main=True)
        finally:
            for thread in threads:
                thread.join()
        return [ends[container["name"]] for container in containers if container["name"] in ends]

    def _beside(self, container: dict[str, Any], ends: dict[str, tuple[int, str]]) -> None:
        try:
            ends[container["name"]] = self._until_done(container)
        except RemovedError:
            pass
        except Exception as error:
            self._around.records.fail(error)

    def _until_done(self, container: dict[str, Any], main: bool = False) -> tuple[int, str]:
        """Run a container, again as often as it may be; exit code and reason of the last time."""
        while True:
            code, why = self._once(container, main)
            may_restart = self._pod["spec"].get("restartPolicy") != NEVER and self._restarts < self._around.restarts
            if code == 0 or not may_restart or self._over.is_set():
                return code, why
            self._restarts += 1
            self._around.records.change(self.name, restarts=self._restarts)
            self._around.say(self.name, f"[{why}; restart {self._restarts} of {self._around.restarts}]")
            if self._over.wait(RESTART_SECONDS):
                raise RemovedError(self.name)

    def _once(self, container: dict[str, Any], main: bool) -> tuple[int, str]:
        try:
            identity = self._make(container)
            if main:
                self._main = identity
            self._around.engine.start(identity)
        except TrainformError as error:
            return CANNOT_START, error.message
        reader = threading.Thread(target=self._read, args=(identity,), daemon=True)
        reader.start()
        code = self._around.engine.wait(identity)
        reader.join(LOG_SECONDS)
        if self._over.is_set():
            raise RemovedError(self.name)
        return code, "" if code == 0 else f"exit code {code}"

    def _make(self, container: dict[str, Any]) -> str:
        """A container that does not run yet; its id. RemovedError where the pod is over: whoever ended it may have looked before the
        container was there."""
        identity = self._around.ground.make_container(self._pod, container)
        if self._over.is_set():
            self._around.engine.remove_container(identity)
            raise RemovedError(self.name)
        return identity

    def _read(self, identity: str) -> None:
        try:
            for line in lines(self._around.engine.output(identity)):
                self._around.say(self.name, line)
        except RemovedError:
            pass
        except Exception as error:  # Docker has several words for a container that is just being removed
            if not self._over.is_set():
                self._around.records.fail(error)


def lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Whole lines of a stream. Of what a progress bar overwrites the last state stays; a line that never ends is cut."""
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
