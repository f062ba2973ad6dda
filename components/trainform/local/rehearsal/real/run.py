"""A rehearsal on real nodes, from the nodes to its outcome."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.console.lines import escaped
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.console.signals import signal_handler
from trainform.errors import SandboxError
from trainform.job.render import RenderedJob
from trainform.local.rehearsal.fewer_processes import differences, smaller_plan
from trainform.local.rehearsal.real.follow import Follower
from trainform.local.rehearsal.real.objects import Rehearsed, path_of, rehearsed
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.records import ENDED, FAILED, PodRecord, Records
from trainform.local.rehearsal.run.rehearse import ENDING, Masker, Options, Outcome, endings_as_interrupts
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload, planned_name, short_name
from trainform.local.sandbox.addons import sort_by_table
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.control import up
from trainform.local.sandbox.folder import Layout, chosen_folder
from trainform.local.sandbox.real.load import full_name
from trainform.local.sandbox.real.start import NODE_IMAGE, ready_images
from trainform.local.sandbox.settings import SandboxSettings, default_pools
from trainform.local.sandbox.state import read_state
from trainform.local.toolchain.ensure import ensure
from trainform.plan.model import Plan

FOLDER = "rehearsals"  # next to the project's sandbox
NAMESPACES, PREFIX = "/api/v1/namespaces", "rehearsal-"
LEAST_NODES = 2
LONGEST_NAME = 40
COMPLETED = "Completed"
LOOKUP_IMAGE = "alpine:3.10"  # of the init containers that operators add
STOP = "trainform sandbox down --folder {folder}"
LATE_SECONDS, RETRY_SECONDS = 30.0, 0.2
TRIED_AGAIN = (400, 403, 500)  # what webhooks answer


def rehearse_for_real(
    job: RenderedJob, processes: int, options: Options, display: ConsoleDisplay, progress: Progress, *, probe: bool
) -> tuple[Workload, Outcome]:
    """Run the operator's own job on real nodes, and remove its namespace. Returns the workload of its plan with the
    notes that were shown. TrainformError if it cannot be started."""
    namespace = f"{PREFIX}{job.plan.experiment[:LONGEST_NAME].rstrip('-')}-{uuid.uuid4().hex[:6]}"
    place = job.environment.namespace.model_copy(update={"name": namespace})
    environment = job.environment.model_copy(update={"namespace": place})
    lasting = job.experiment.model_copy(update={"ttl": None})  # or the job might be gone before its end is seen
    plan = smaller_plan(job.plan, lasting, environment, processes)
    workload = workload_of_plan(plan)
    image = None if options.image is None else full_name(options.image)
    made = rehearsed(plan, workload, image, job.experiment.launcher if probe else None)
    notes = (*differences(job.plan, plan), *made.notes)
    workload = dataclasses.replace(workload, notes=notes)
    folder = chosen_folder().with_name(FOLDER)
    # one at a time: a new image or add-on restarts nodes or control plane
    with endings_as_interrupts(), hold(folder.with_name(f"{FOLDER}.lock"), "another rehearsal", progress):
        _ready_nodes(folder, plan, workload, made, options.image, progress)
        state = read_state(Layout(folder))
        if state is None:
            raise SandboxError(f"the sandbox of rehearsals in {folder} has ended", "run the same command again")
        with Api(state.ports["kube-apiserver"], Certificates(Layout(folder).pki)) as api:
            _remove_namespaces(api)
            running = RealRehearsal(api, workload, made, options, display)
            try:
                return workload, running.run()
            finally:
                with signal_handler(ENDING, signal.SIG_IGN), contextlib.suppress(RequestError):
                    _remove_namespaces(api)


def _remove_namespaces(api: Api) -> None:
    """Delete the namespaces of this rehearsal and of those that were killed, without waiting."""
    for item in api.get(NAMESPACES)["items"]:
        name = item["metadata"]["name"]
        if name.startswith(PREFIX) and item["status"]["phase"] == "Active":
            api.delete(f"{NAMESPACES}/{name}")


def _ready_nodes(
    folder: Path, plan: Plan, workload: Workload, made: Rehearsed, image: str | None, progress: Progress
) -> None:
    """Load the images, and start the sandbox of rehearsals if it does not run or has too few nodes."""
    before = read_state(Layout(folder))
    on_host = sum(bool(pod["spec"].get("hostNetwork")) for pod in workload.pods)  # two of them may have the same ports
    count = max(LEAST_NODES, on_host, 0 if before is None else before.settings.real or 0)
    images: dict[str, str | None] = dict.fromkeys(made.images) if image is None else {image: None}
    if BACKENDS[plan.backend].LOOKUP_CONTAINERS:
        images[NODE_IMAGE] = LOOKUP_IMAGE
    ready_images(images, folder, progress)
    addons = [plan.backend] if plan.backend in ADDONS else []
    addons += [defaults.KUEUE] if plan.admission == defaults.KUEUE else []
    pool = structs.replace(default_pools()[0], name="node", count=count)
    settings = SandboxSettings(folder, (pool,), addons=sort_by_table(addons), real=count)
    if before is None:
        progress.note(f"real nodes are started, for later rehearsals too; `{STOP.format(folder=folder)}` stops them")
    up(settings, ensure(progress), progress)


class RealRehearsal:
    """A rehearsal whose nodes are ready."""

    def __init__(
        self, api: Api, workload: Workload, made: Rehearsed, options: Options, display: ConsoleDisplay
    ) -> None:
        self._api, self._made, self._options, self._display = api, made, options, display
        self._notes = workload.notes
        self._names = {planned_name(pod): short_name(pod) for pod in workload.pods}
        self._records = Records(self._names)
        self._masked = Masker(workload.secrets)

    def run(self) -> Outcome:
        """Apply the objects, follow the job to its end, and return the outcome."""
        for note in self._notes:
            self._display.note(self._masked(note))
        with self._display.watch([*self._names.items()], self.rows):
            end = time.monotonic() + LATE_SECONDS
            for body in self._made.bodies:
                self._apply(body, end)
            deadline = time.monotonic() + self._options.timeout
            follower = Follower(self._api, self._made.job, self._records, self._write_line, self._display.note)
            phase = follower.run(deadline)
        problem = "" if phase == COMPLETED else "\n".join(escaped(self._masked(line)) for line in self._problem(phase))
        return Outcome(self.rows(), problem)

    def rows(self) -> tuple[PodRecord, ...]:
        """Return the record of every pod, with secrets masked."""
        return tuple(structs.replace(record, reason=self._masked(record.reason)) for record in self._records.all())

    def _apply(self, body: dict[str, Any], end: float) -> None:
        """Apply an object. Webhooks refuse some for a moment, since they do not see yet to what these refer."""
        while True:
            try:
                self._api.apply(path_of(body), body)
            except RequestError as error:
                if time.monotonic() > end or error.status not in TRIED_AGAIN:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _problem(self, phase: str) -> Iterator[str]:
        """Yield why the job has not completed: what failed, or the pods that still run."""
        failed = [record for record in self._records.all() if record.phase == FAILED]
        late = [record for record in self._records.all() if record.phase not in ENDED]
        for record in failed:
            last = f": {record.last_line}" if record.last_line else ""
            yield f"{self._names[record.pod]} failed, {record.reason}{last}"
        if phase:
            if not failed:
                yield f"the operator ended the job: {phase}"
            return
        for record in late:
            last = f"its last line: {record.last_line}" if record.last_line else "it wrote nothing"
            state = f"is in phase {record.phase}{f' ({record.reason})' if record.reason else ''}"
            yield f"{self._names[record.pod]} {state} after {record.seconds:.0f} s; {last}"

    def _write_line(self, pod: str, line: str) -> None:
        self._display.line(pod, self._masked(line))
