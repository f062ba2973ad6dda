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
from trainform.cluster.phases import Phase
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.console.signals import signal_handler
from trainform.job.render import RenderedJob
from trainform.local.rehearsal.fewer_processes import differences, smaller_plan
from trainform.local.rehearsal.real.follow import Follower
from trainform.local.rehearsal.real.objects import RehearsalObjects, path_of, rehearsal_objects
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.rehearse import ENDING, Options, endings_as_interrupts
from trainform.local.rehearsal.run.report import Outcome, Report
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload, planned_name
from trainform.local.sandbox.addons import sort_by_table
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.folder import chosen_folder
from trainform.local.sandbox.real.load import full_name
from trainform.local.sandbox.real.start import NODE_IMAGE, load_images
from trainform.local.sandbox.settings import SandboxSettings, default_pools
from trainform.local.sandbox.state import open_api, read_settings
from trainform.local.sandbox.status import is_up
from trainform.local.toolchain.ensure import ensure
from trainform.plan.model import Plan

FOLDER = "rehearsals"  # next to the project's sandbox
FOLDER_OF_CLAIMS = "rehearsals-with-claims"  # whose nodes have folders of this machine; it ends with the rehearsal
NAMESPACES, PREFIX = "/api/v1/namespaces", "rehearsal-"
LEAST_NODES = 2
LONGEST_NAME = 40
LOOKUP_IMAGE = "alpine:3.10"  # of the init containers that operators add
STOP = "trainform sandbox down --folder {folder}"
APPLY_SECONDS, RETRY_SECONDS = 10.0, 0.2
WEBHOOK_REFUSALS = (400, 403, 500)


def rehearse_on_nodes(
    job: RenderedJob, processes: int, options: Options, display: ConsoleDisplay, progress: Progress, *, probe: bool
) -> tuple[Workload, Outcome]:
    """Run the operator's own job on real nodes, and remove its namespace. TrainformError if it cannot be started.

    Return the workload of its plan, with the notes that were shown, and the outcome."""
    namespace = f"{PREFIX}{job.plan.experiment[:LONGEST_NAME].rstrip('-')}-{uuid.uuid4().hex[:6]}"
    place = job.environment.namespace.model_copy(update={"name": namespace})
    environment = job.environment.model_copy(update={"namespace": place})
    lasting = job.experiment.model_copy(update={"ttl": None})  # or the job might be gone before its end is seen
    plan = smaller_plan(job.plan, lasting, environment, processes)
    workload = workload_of_plan(plan)
    image = None if options.image is None else full_name(options.image)
    objects = rehearsal_objects(plan, workload, image, job.experiment.launcher if probe else None, options.claims)
    notes = (*differences(job.plan, plan), *objects.notes)
    workload = dataclasses.replace(workload, notes=notes)
    folder = chosen_folder().with_name(FOLDER_OF_CLAIMS if options.claims else FOLDER)
    # one at a time: a new image or add-on restarts nodes or control plane
    with (
        endings_as_interrupts(),
        hold(folder.with_name(f"{FOLDER}.lock"), "another rehearsal", progress),
        _sandbox(folder, plan, workload, objects, options, progress) as api,
    ):
        _remove_namespaces(api)
        report = Report(workload, planned_name, display)
        for note in notes:
            report.note(note)
        try:
            return workload, _run(api, objects, report, options.timeout, workload)
        finally:
            with signal_handler(ENDING, signal.SIG_IGN), contextlib.suppress(RequestError):
                _remove_namespaces(api)


@contextlib.contextmanager
def _sandbox(
    folder: Path, plan: Plan, workload: Workload, objects: RehearsalObjects, options: Options, progress: Progress
) -> Iterator[Api]:
    """Yield a client of the sandbox, and stop it at the end if its nodes have folders of claims. First stop one that a
    killed rehearsal left running, because its job still writes to the user's folders."""
    left = folder.with_name(FOLDER_OF_CLAIMS)
    if read_settings(left) is not None:
        down(left, progress)
    try:
        _start_nodes(folder, plan, workload, objects, options, progress)
        with open_api(folder) as api:
            yield api
    finally:
        if options.claims:
            with signal_handler(ENDING, signal.SIG_IGN):
                down(folder, progress)


def _remove_namespaces(api: Api) -> None:
    """Delete the namespaces of this rehearsal and of those that were killed, without waiting. Their pods get one
    second, so that they hold no port of a node when the next rehearsal begins."""
    for item in api.get(NAMESPACES)["items"]:
        name = item["metadata"]["name"]
        if name.startswith(PREFIX) and item["status"]["phase"] == "Active":
            api.delete(f"{NAMESPACES}/{name}")
            api.delete(f"{NAMESPACES}/{name}/pods?gracePeriodSeconds=1")


def _start_nodes(
    folder: Path, plan: Plan, workload: Workload, objects: RehearsalObjects, options: Options, progress: Progress
) -> None:
    """Load the images, and start the sandbox of rehearsals if it does not run or has too few nodes."""
    before = read_settings(folder) if is_up(folder) else None
    on_host = sum(bool(pod["spec"].get("hostNetwork")) for pod in workload.pods)  # two of them may have the same ports
    count = max(LEAST_NODES, on_host, 0 if before is None else before.real or 0)
    images: dict[str, str | None] = dict.fromkeys(objects.images if options.image is None else [options.image])
    if BACKENDS[plan.backend].LOOKUP_CONTAINERS:
        images[NODE_IMAGE] = LOOKUP_IMAGE
    load_images(images, folder, progress)
    addons = [plan.backend] if plan.backend in ADDONS else []
    addons += [defaults.KUEUE] if plan.admission == defaults.KUEUE else []
    pool = structs.replace(default_pools()[0], name="node", count=count)
    gangs = plan.admission == defaults.VOLCANO
    folders = {name: str(path) for name, path in options.claims.items()}
    settings = SandboxSettings(folder, (pool,), addons=sort_by_table(addons), gangs=gangs, real=count, folders=folders)
    if before is None and not folders:
        progress.note(f"real nodes are started, for later rehearsals too; `{STOP.format(folder=folder)}` stops them")
    up(settings, ensure(progress), progress)


def _run(api: Api, objects: RehearsalObjects, report: Report, timeout: float, workload: Workload) -> Outcome:
    """Apply the objects, follow the job to its end, and return the outcome."""
    with report.watch():
        end = time.monotonic() + APPLY_SECONDS
        for body in objects.bodies:
            _apply(api, body, end)
        follower = Follower(api, objects.job, report, workload)
        deadline = time.monotonic() + timeout
        phase = follower.run(deadline)
        late = time.monotonic() > deadline
    problems = report.failures(follower.causes())
    if phase is None:
        if late:
            problems.append(f"the job did not end within {timeout:.0f} s (--timeout)")
        problems += report.late_pods() or ["all pods have ended, and the operator has not ended the job"]
        problems += follower.warnings()
    elif problems or phase != Phase.SUCCEEDED:
        problems.append(": ".join(filter(None, [f"the operator reports the job as {phase}", follower.reason()])))
    return report.outcome(problems)


def _apply(api: Api, body: dict[str, Any], end: float) -> None:
    """Apply an object, also if webhooks refuse it for a moment, because they do not see a new object that it names."""
    while True:
        try:
            api.apply(path_of(body), body)
        except RequestError as error:
            if time.monotonic() > end or error.status not in WEBHOOK_REFUSALS:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return
