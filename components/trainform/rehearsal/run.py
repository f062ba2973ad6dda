"""A rehearsal from the first container to the last."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from trainform.errors import TrainformError
from trainform.escaping import escaped, without_sequences
from trainform.locking import hold
from trainform.progress import SILENT, Progress
from trainform.rehearsal.display import Display
from trainform.rehearsal.engine import Engine
from trainform.rehearsal.ground import Ground
from trainform.rehearsal.images import ready_images
from trainform.rehearsal.interrupts import endings_as_interrupts, uninterrupted
from trainform.rehearsal.kubexec.bridge import Bridge
from trainform.rehearsal.kubexec.delivery import with_relays
from trainform.rehearsal.life import Life, Surroundings
from trainform.rehearsal.masking import Masker
from trainform.rehearsal.records import ENDED, FAILED, RUNNING, SUCCEEDED, PodRecord, Records
from trainform.rehearsal.stage import Stage, containers, pod_name, short_name
from trainform.rehearsal.volumes import host_paths
from trainform.rehearsal.waiting import with_getent

TIMEOUT_SECONDS = 600.0
# how long the others may still speak when one has failed: what they say about it often names the cause
GRACE_SECONDS = 3.0


@dataclasses.dataclass(frozen=True)
class Options:
    """image: in place of every image; None leaves them. timeout: seconds from the first pod's start to the last one's end.
    claims: folders of this machine in place of claims, by name. grace: seconds for the others after one has failed."""

    image: str | None = None
    timeout: float = TIMEOUT_SECONDS
    claims: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    grace: float = GRACE_SECONDS


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How it ended: each pod, and in `problem` what went wrong, "" where nothing did."""

    pods: tuple[PodRecord, ...]
    problem: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether every pod ended with 0, or was stopped because the job was complete."""
        return not self.problem


def rehearse(stage: Stage, options: Options, display: Display, progress: Progress = SILENT) -> Outcome:
    """Run the pods to their end and remove everything. InputError or TrainformError where they cannot be started."""
    with rehearsal(stage, options, display, progress) as running:
        return running.wait()


@contextlib.contextmanager
def rehearsal(stage: Stage, options: Options, display: Display, progress: Progress = SILENT) -> Iterator[Rehearsal]:
    """The running pods; what was made is removed when the block is left, however it is left.

    One rehearsal of an experiment at a time: under the lock, what carries the experiment's label is left over from a killed one.
    """
    import platformdirs

    stage = with_relays(stage if options.image is None else with_getent(stage))
    if not stage.pods:
        raise TrainformError("there is no pod to rehearse", "give a role at least one replica")
    lock = platformdirs.user_state_path("trainform") / "rehearsals" / stage.experiment / "lock"
    engine = Engine(stage.experiment, lock)
    try:
        with endings_as_interrupts(), hold(lock, f"rehearsal of {stage.experiment}", progress):
            left = engine.remove_leftovers()
            if left:
                progress.note(f"removed {left} objects of a rehearsal of {stage.experiment} that was killed")
            ground = Ground(engine, stage, options.claims)
            images = ready_images(engine, stage, options.image, progress)
            running = Rehearsal(stage, options, display, engine, ground)
            try:
                with progress.step(f"making the network, volumes and names of {len(stage.pods)} pods"):
                    ground.lay(images)
                with display.watch(running.names, running.rows):
                    running.begin()
                    yield running
            finally:
                with uninterrupted():
                    running.stop()
    finally:
        engine.close()


class Rehearsal:
    """Pods that run. Made by `rehearsal`."""

    def __init__(self, stage: Stage, options: Options, display: Display, engine: Engine, ground: Ground) -> None:
        self.stage = stage
        self.names = [(pod_name(pod), short_name(pod)) for pod in stage.pods]
        self.records = Records(name for name, _ in self.names)
        self._options = options
        self._display = display
        self._engine = engine
        self._ground = ground
        self._masked = Masker(stage.secrets)
        self._bridge = Bridge(engine, self.records, stage, self._say)
        self._around = Surroundings(engine, ground, self.records, stage.restarts, self._say, self._bridge)
        self._lives: dict[str, Life] = {}
        self._deadline = 0.0

    def begin(self) -> None:
        """Start every pod."""
        for note in (*self.stage.notes, *_replaced(self.stage)):
            self._display.note(self._masked(note))
        self._deadline = time.monotonic() + self._options.timeout
        for pod in self.stage.pods:
            self._begin(pod_name(pod))

    def rows(self) -> tuple[PodRecord, ...]:
        """Every pod as it may be shown: a reason may repeat a word of its command."""
        return tuple(dataclasses.replace(record, reason=self._masked(record.reason)) for record in self.records.all())

    def recreate(self, name: str) -> None:
        """Delete a pod and make it again: same name, another address (on a shared node: the node's)."""
        self._lives[name].end()
        self._ground.renew(name)
        self._begin(name)

    def kill(self, name: str) -> None:
        """SIGKILL to the pod's main container; its `restartPolicy` says what follows."""
        self._lives[name].kill()

    def wait(self) -> Outcome:
        """Until the job is complete, a pod has failed, or time is up; what still runs is stopped."""
        self.records.wait(lambda records: self._complete(records) or _failed(records) != [], self._deadline)
        records = self.records.all()
        # first: of a job that is complete, the other pods may fail since their peers have left
        if self._complete(records):
            return self._ended("stopped with the job", "")
        if _failed(records):
            self.records.wait(_all_ended, min(self._deadline, time.monotonic() + self._options.grace))
            return self._ended(
                "stopped since another pod failed", self._shown(map(self._failure, _failed(self.records.all())))
            )
        late = [record for record in records if record.phase not in ENDED]
        problem = self._shown(map(self._lateness, late))
        return self._ended("stopped when time was up", problem)

    def stop(self) -> None:
        """Remove everything."""
        for life in self._lives.values():
            life.leave()
        self._engine.remove_all()
        for life in self._lives.values():
            life.join()
        self._bridge.join()

    def _begin(self, name: str) -> None:
        life = Life(self._around, self.stage.pod(name))
        life.start()
        self._lives[name] = life

    def _complete(self, records: Sequence[PodRecord]) -> bool:
        needed = self.stage.ends_with if self.stage.ends_with else {record.pod for record in records}
        return all(record.phase == SUCCEEDED for record in records if record.pod in needed)

    def _ended(self, reason: str, problem: str) -> Outcome:
        running = [record.pod for record in self.records.all() if record.phase not in ENDED]
        self._engine.each(lambda name: self._lives[name].end(reason), running)
        return Outcome(self.rows(), problem)

    def _failure(self, record: PodRecord) -> str:
        last = f": {record.last_line}" if record.last_line else ""
        return f"{dict(self.names)[record.pod]} failed, {record.reason}{last}"

    def _lateness(self, record: PodRecord) -> str:
        last = f"its last line: {record.last_line}" if record.last_line else "it wrote nothing"
        state = "runs" if record.phase == RUNNING else f"is in phase {record.phase}"
        return f"{dict(self.names)[record.pod]} still {state} after {self._options.timeout:.0f} s; {last}"

    def _shown(self, found: Iterable[str]) -> str:
        """What was found out about pods, a line for each whatever they wrote."""
        return "\n".join(escaped(self._masked(line)) for line in found)

    def _say(self, pod: str, line: str) -> None:
        line = self._masked(line)
        words = without_sequences(line).strip()
        if words:
            self.records.change(pod, last_line=words)
        self._display.line(pod, line)


def _failed(records: Sequence[PodRecord]) -> list[PodRecord]:
    return [record for record in records if record.phase == FAILED]


def _all_ended(records: Sequence[PodRecord]) -> bool:
    return all(record.phase in ENDED for record in records)


def _replaced(stage: Stage) -> Iterator[str]:
    """What the pods get in place of what they ask for."""
    for path in host_paths(stage.pods):
        yield f"hostPath {path}: an empty folder stands in its place, never this machine's own"
    for pod in stage.pods:
        for container in containers(pod):
            if container.get("securityContext", {}).get("privileged"):
                yield f"{short_name(pod)}, container {container['name']}: runs without `privileged` here"
