"""`up` and `down`: start and stop the sandbox of one folder, whatever state the folder is in."""

from __future__ import annotations

import operator
import platform
import time
from collections.abc import Container, Mapping
from pathlib import Path

from msgspec import Struct, structs

from trainform import defaults
from trainform.console.progress import SILENT, Progress
from trainform.errors import SandboxError, TrainformError
from trainform.local.docker_daemon import no_real_nodes
from trainform.local.sandbox import nodes
from trainform.local.sandbox.addons import add_dependencies, install_addons, sort_by_table
from trainform.local.sandbox.addons.addon import InstalledAddOn
from trainform.local.sandbox.addons.addon_table import ADDONS, KUBEFLOW, MPI_OPERATOR, SCHEDULER
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.cluster_objects import apply_storage_classes
from trainform.local.sandbox.components import COMPONENTS, FORWARDER, PORTS
from trainform.local.sandbox.folder import Layout, os_errors_as_sandbox_errors
from trainform.local.sandbox.kubeconfig import server_url, write_kubeconfig
from trainform.local.sandbox.ports import pick_ports
from trainform.local.sandbox.processes import Process, is_running, stop, unrecorded
from trainform.local.sandbox.project_copy import copy_folder, remove_secrets
from trainform.local.sandbox.real.start import containers, ready_image
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.sandbox.start import Start, all_programs, readiness
from trainform.local.sandbox.state import State, read_processes, read_state, write_state
from trainform.local.sandbox.waiting import PortTakenError, explained_by, wait_for
from trainform.local.toolchain.tools import Toolchain

READY_SECONDS = 90.0
ADDON_SECONDS = 20.0
NODE_SECONDS = 60.0  # one is ready in 4 s, and in minutes where the machine is emulated
ATTEMPTS = 3


class Sandbox(Struct, frozen=True):
    """The connection to a control plane that is ready."""

    folder: Path
    kubeconfig: Path
    url: str
    uid: str
    """UID of its namespace kube-system; new data have a new one."""
    real_nodes: int
    context: str = defaults.SANDBOX_CONTEXT


@os_errors_as_sandbox_errors
def up(
    settings: SandboxSettings, toolchain: Toolchain, progress: Progress = SILENT, timeout: float | None = None
) -> Sandbox:
    """Start the sandbox that `settings` describe, and return when it is ready.

    A sandbox that runs already is adjusted where its settings differ (nodes, storage classes, contexts). A sandbox that
    runs only in part, or that lacks an add-on, is restarted on its data. Add-ons stay until `down`, also those of an
    earlier `up`. Missing add-ons are built first; `timeout` (seconds; default: 90, and 20 for each add-on and 60 for
    each real node) counts from then on. Raises `SandboxError` with the component that failed and the end of its log.
    """
    layout = Layout(settings.folder)
    with layout.locked("trainform sandbox up", progress, READY_SECONDS if timeout is None else timeout):
        layout.make()
        state = read_state(layout)
        settings = _merge(settings, state, progress)
        addons = install_addons(settings.addons, progress)
        image = _image(progress) if settings.real else ""
        usual = READY_SECONDS + ADDON_SECONDS * len(addons) + NODE_SECONDS * (settings.real or 0)
        seconds = usual if timeout is None else timeout
        run = Run(layout, settings, toolchain, addons, progress, time.monotonic() + seconds, image)
        if state is not None and run.is_up(state):
            state = run.adjust(structs.replace(state, pulumi=toolchain.pulumi))
        else:
            state = run.start(state)
    port = state.ports["kube-apiserver"]
    with Api(port, Certificates(layout.pki)) as api:
        uid = api.get(f"/api/v1/namespaces/{defaults.KUBE_SYSTEM}")["metadata"]["uid"]
    return Sandbox(layout.root, layout.kubeconfig, server_url(port), uid, settings.real or 0)


@os_errors_as_sandbox_errors
def down(folder: Path, progress: Progress = SILENT, purge: bool = False) -> bool:
    """Stop the processes that `up` started, and remove the cluster's data; return False if there was no sandbox.

    Removes the states of Pulumi stacks too. Logs and passphrase stay, unless `purge` is set. `SandboxError` for a
    folder that is not a sandbox's, and for a process that cannot be stopped.
    """
    layout = Layout(folder)
    if not layout.root.exists():
        return False
    with layout.locked("trainform sandbox down", progress):
        found = layout.state.exists()
        running = _running(layout)
        if running:
            with progress.step(f"sandbox: stopping {len(running)} components"):
                stop(running)
        _remove_real_nodes(layout, progress)
        if purge and layout.log(FORWARDER).exists():
            _remove_images(progress)
        layout.remove(purge)
        if purge:
            remove_secrets(copy_folder(folder))
    return found


def _running(layout: Layout) -> list[Process]:
    """Return the processes of the sandbox that run, also one that a killed `up` could not record any more."""
    recorded = [process for process in read_processes(layout) if is_running(process)]
    return [*recorded, *unrecorded(layout.logs, recorded)]


def _remove_real_nodes(layout: Layout, progress: Progress, *, claims: bool = True) -> None:
    """Remove the real nodes of the last `up`, if it started any. A damaged state does not name them, but their
    forwarder has a log."""
    state = read_state(layout)
    had = layout.state.exists() and layout.log(FORWARDER).exists() if state is None else state.settings.real
    if had:
        with progress.step("sandbox: removing the real nodes"), containers(layout.root) as docker:
            docker.remove(claims=claims)


def _remove_images(progress: Progress) -> None:
    """Remove the images of all real nodes; a note says why they stay."""
    try:
        with containers(Path()) as docker:
            docker.remove_images()
    except TrainformError as error:
        progress.note(f"the images of the real nodes stay: {error.message}")


def _image(progress: Progress) -> str:
    reason = no_real_nodes()
    if reason:
        raise SandboxError(reason, "leave out `--nodes real`: simulated nodes need no Docker")
    if platform.system() != "Linux":
        progress.note("real nodes have been run on Linux only, and not yet on this system")
    return ready_image(progress)


def _merge(settings: SandboxSettings, before: State | None, progress: Progress) -> SandboxSettings:
    """Return the settings with the add-ons and real nodes of the last `up`, and add-ons that others depend on. Raises
    `SandboxError` if the sandbox was created with another `mpi_job`."""
    there = () if before is None else before.settings.addons
    without_gangs = () if settings.gangs else (SCHEDULER.name,)
    names = add_dependencies(sort_by_table(there, settings.addons, without_gangs))
    if before is not None and KUBEFLOW.name in there and before.settings.mpi_job != settings.mpi_job:
        versions = f"{before.settings.mpi_job}, and the environment needs {settings.mpi_job}"
        raise SandboxError(f"this sandbox serves MPIJob {versions}", "trainform sandbox down")
    if settings.mpi_job == "v1":
        names = tuple(name for name in names if name != MPI_OPERATOR.name)
    for needed in names:
        if needed not in (*settings.addons, *there):
            dependents = [name for name in names if needed in ADDONS[name].needs] or ["jobs without Volcano"]
            progress.note(f"the add-on {needed} is installed too: {' and '.join(dependents)} cannot run without it")
    real = settings.real if settings.real is not None or before is None else before.settings.real
    count = sum(pool.count for pool in settings.pools)
    if real is not None and real > count:
        progress.note(f"{count} real nodes are started instead of {real}: the environment has no more nodes")
        real = count
    return structs.replace(settings, addons=names, real=real)


class Run(Struct, frozen=True):
    """One call of `up`: the settings, the programs, and the deadline (of the monotonic clock)."""

    layout: Layout
    settings: SandboxSettings
    toolchain: Toolchain
    addons: tuple[InstalledAddOn, ...]
    progress: Progress
    deadline: float
    image: str = ""

    def is_up(self, state: State) -> bool:
        """Return True if all components of this tool chain and of the add-ons run, and the API server is ready."""
        rows = all_programs(self.toolchain.control_plane, self.addons)
        expected = {component.name: str(binary) for component, binary in rows.items()}
        running = {process.name: process.binary for process in state.processes if is_running(process)}
        if not state.complete or not expected.items() <= running.items() or state.settings.gangs != self.settings.gangs:
            return False
        if _real_nodes_change(state, self.settings) or not self._real_nodes_run(running):
            return False
        with Api(state.ports["kube-apiserver"], Certificates(self.layout.pki)) as api:
            return api.is_healthy("/readyz")

    def _real_nodes_run(self, running: Container[str]) -> bool:
        """Return True if all real nodes run. running: names of processes."""
        if not self.settings.real:
            return True
        with containers(self.layout.root) as docker:
            return FORWARDER in running and len(docker.running()) == self.settings.real

    def adjust(self, state: State) -> State:
        """Change a running sandbox to the settings without a restart; return its new state."""
        layout, settings = self.layout, self.settings
        if state.settings == settings:
            self.progress.note(f"the sandbox in {layout.root} is up already")
            write_state(layout, state)
            return state
        port, certificates = state.ports["kube-apiserver"], Certificates(layout.pki)
        with self.progress.step("sandbox: adjusting nodes and storage classes") as step, Api(port, certificates) as api:
            with explained_by(state.processes, "kube-apiserver"):
                nodes.reconcile_nodes(api, settings.pools)
                apply_storage_classes(api, settings.storage_classes)
            write_kubeconfig(layout.kubeconfig, port, certificates, settings.contexts)
            conditions = readiness(api, settings.pools, self.addons, state.ports)
            wait_for(conditions, state.processes, self.deadline, step)
        adjusted = structs.replace(state, settings=settings)
        write_state(layout, adjusted)
        return adjusted

    def start(self, before: State | None) -> State:
        """Stop what is left of an earlier start, start all components on the existing data, and return the state."""
        preferred: Mapping[str, int] = {} if before is None else before.ports
        left = _running(self.layout)
        if left:
            self.progress.note(_restart_reason(len(left), before, self.settings))
            stop(left)
        _remove_real_nodes(self.layout, self.progress, claims=not self.settings.real)
        names = [*PORTS, *(port for row in self.addons for port in row.addon.ports)]
        with self.progress.step("sandbox: starting") as step:
            for attempt in range(1, ATTEMPTS + 1):
                ports = pick_ports(names, preferred if attempt == 1 else {})
                state = State(self.settings, self.toolchain.pulumi, ports)
                start = Start(self.layout, state, self.toolchain.control_plane, self.addons, self.image)
                try:
                    return start.run(self.deadline, step)
                except PortTakenError:
                    if attempt == ATTEMPTS:
                        raise
        raise AssertionError("unreachable: the last attempt returns or raises")


def _real_nodes_change(before: State, settings: SandboxSettings) -> bool:
    """Return True if other real nodes are needed: their kubelets and their API server start anew."""
    if not before.settings.real or not settings.real:
        return bool(before.settings.real) != bool(settings.real)
    parts = operator.attrgetter("real", "pools", "folders", "published")
    return parts(before.settings) != parts(settings)


def _restart_reason(left: int, before: State | None, settings: SandboxSettings) -> str:
    there = () if before is None else before.settings.addons
    new = [name for name in settings.addons if name not in there]
    if new:
        return f"new in this sandbox: {', '.join(new)}; all components are restarted on its data"
    if before is not None and _real_nodes_change(before, settings):
        return "other real nodes than before; all components are restarted on its data"
    if before is not None and before.settings.gangs != settings.gangs:
        made = "gangs" if settings.gangs else "no gangs"
        return f"operators make {made} from now on; all components are restarted on its data"
    count = len(COMPONENTS) + len(there) + bool(settings.real)
    return f"{left} of {count} components of an earlier start still run; all are restarted"
