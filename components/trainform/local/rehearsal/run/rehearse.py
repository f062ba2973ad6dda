"""A rehearsal, from its first container to its outcome."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from msgspec import Struct

from trainform.console.locking import hold
from trainform.console.progress import SILENT, Progress
from trainform.console.signals import signal_handler
from trainform.errors import TrainformError
from trainform.local.rehearsal.docker.engine import Engine, ready_images
from trainform.local.rehearsal.kubelet.volumes import host_paths
from trainform.local.rehearsal.kubexec.delivery import insert_stand_ins
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.pod_infrastructure import PodInfrastructure
from trainform.local.rehearsal.run.pod_runner import PodRunner, RunContext
from trainform.local.rehearsal.run.records import ENDED, FAILED, SUCCEEDED, PodRecord
from trainform.local.rehearsal.run.report import Outcome, Report
from trainform.local.rehearsal.workload import Workload, containers, init_containers, pod_name, short_name

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NSLOOKUP, GETENT = "nslookup", "getent hosts"
TIMEOUT_SECONDS = 600.0
# time for the other pods after one has failed: their output often names the cause
GRACE_SECONDS = 3.0


class Options(Struct, frozen=True):
    """Options of a rehearsal."""

    image: str | None = None
    """Image that replaces all others, None to keep them."""
    timeout: float = TIMEOUT_SECONDS
    """Seconds for the job, from its first pod or object on."""
    claims: Mapping[str, Path] = {}
    """Folders of this machine that replace claims, by the claim's name."""
    grace: float = GRACE_SECONDS
    """Seconds for which the other pods continue after one has failed."""


def rehearse(workload: Workload, options: Options, display: ConsoleDisplay, progress: Progress = SILENT) -> Outcome:
    """Run the pods to their end, and remove all objects. InputError or TrainformError if they cannot be started."""
    with rehearsal(workload, options, display, progress) as running:
        return running.wait()


@contextlib.contextmanager
def rehearsal(
    workload: Workload, options: Options, display: ConsoleDisplay, progress: Progress = SILENT
) -> Iterator[Rehearsal]:
    """Run the pods while the block runs, and remove all objects at its end.

    A lock allows one rehearsal of an experiment at a time: objects with its label are those of a killed one.
    """
    import platformdirs

    workload = insert_stand_ins(workload if options.image is None else replace_nslookup(workload))
    if not workload.pods:
        raise TrainformError("there is no pod to rehearse", "give a role at least one replica")
    lock = platformdirs.user_state_path("trainform") / "rehearsals" / workload.experiment / "lock"
    engine = Engine(workload.experiment, lock)
    with endings_as_interrupts(), hold(lock, f"rehearsal of {workload.experiment}", progress):
        left = engine.remove_leftovers()
        if left:
            progress.note(f"removed {left} objects of a rehearsal of {workload.experiment} that was killed")
        infrastructure = PodInfrastructure(engine, workload, options.claims)
        images = ready_images(engine, workload, options.image, progress)
        running = Rehearsal(workload, options, display, engine, infrastructure)
        try:
            with progress.step(f"making the network, volumes and names of {len(workload.pods)} pods"):
                infrastructure.create(images)
            with running.report.watch():
                running.begin()
                yield running
        finally:
            with signal_handler(ENDING, signal.SIG_IGN):
                running.stop()


class Rehearsal:
    """A rehearsal whose pods run; `rehearsal` makes it."""

    def __init__(
        self,
        workload: Workload,
        options: Options,
        display: ConsoleDisplay,
        engine: Engine,
        infrastructure: PodInfrastructure,
    ) -> None:
        self.workload = workload
        self.report = Report(workload, pod_name, display)
        self.records = self.report.records
        self._options = options
        self._engine = engine
        self._context = RunContext(engine, infrastructure, self.records, workload, self.report.write_line)
        self._runners: dict[str, PodRunner] = {}
        self._deadline = 0.0

    def begin(self) -> None:
        """Start every pod."""
        for note in (*self.workload.notes, *_replaced(self.workload)):
            self.report.note(note)
        self._deadline = time.monotonic() + self._options.timeout
        for pod in self.workload.pods:
            runner = PodRunner(self._context, pod)
            runner.start()
            self._runners[runner.name] = runner

    def wait(self) -> Outcome:
        """Wait until the job is complete, a pod has failed or the time is up; stop the rest; return the outcome."""
        self.records.wait(lambda records: self._is_complete(records) or _failed(records) != [], self._deadline)
        records = self.records.all()
        # asked first, because pods of a complete job may fail when their peers have left
        if self._is_complete(records):
            return self._finish("stopped with the job", [])
        if _failed(records):
            self.records.wait(_all_ended, min(self._deadline, time.monotonic() + self._options.grace))
            return self._finish("stopped since another pod failed", self.report.failures())
        return self._finish("stopped when time was up", self.report.late_pods())

    def stop(self) -> None:
        """End all pods, and remove everything that was made."""
        for runner in self._runners.values():
            runner.cancel()
        self._engine.remove_all()
        for runner in self._runners.values():
            runner.join()

    def _is_complete(self, records: Sequence[PodRecord]) -> bool:
        needed = self.workload.ends_with if self.workload.ends_with else {record.pod for record in records}
        return all(record.phase == SUCCEEDED for record in records if record.pod in needed)

    def _finish(self, reason: str, problems: Sequence[str]) -> Outcome:
        running = [record.pod for record in self.records.all() if record.phase not in ENDED]
        self._engine.each(lambda name: self._runners[name].end(reason), running)
        return self.report.outcome(problems)


def _failed(records: Sequence[PodRecord]) -> list[PodRecord]:
    return [record for record in records if record.phase == FAILED]


def _all_ended(records: Sequence[PodRecord]) -> bool:
    return all(record.phase in ENDED for record in records)


def _replaced(workload: Workload) -> Iterator[str]:
    """Yield a note for each thing that the pods get in place of what they ask for."""
    for path in host_paths(workload.pods):
        yield f"hostPath {path}: an empty folder takes its place, and never the folder of this machine"
    for pod in workload.pods:
        for container in containers(pod):
            if container.get("securityContext", {}).get("privileged"):
                yield f"{short_name(pod)}, container {container['name']}: runs without `privileged` here"


# --- signals


@contextlib.contextmanager
def endings_as_interrupts() -> Iterator[None]:
    """Inside the block, the first signal that would end the program raises KeyboardInterrupt, and later ones are
    ignored: a second Ctrl-C must not interrupt the cleaning up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    with signal_handler(ENDING, interrupt):
        yield


# --- lookups of names


def replace_nslookup(workload: Workload) -> Workload:
    """Return the workload with `getent hosts` for `nslookup` in init containers of the operator, and a note for each:
    an image that replaces all others may have no nslookup."""
    pods, notes = copy.deepcopy(workload.pods), list(workload.notes)
    for pod in pods:
        for container in init_containers(pod):
            if container["name"] in workload.lookup_containers:
                container["command"] = [word.replace(NSLOOKUP, GETENT) for word in container["command"]]
                notes.append(f"{short_name(pod)}: {container['name']} waits with `{GETENT}` instead of `{NSLOOKUP}`")
    return dataclasses.replace(workload, pods=pods, notes=tuple(notes))
