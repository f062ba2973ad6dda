"""`up` and `down`: one sandbox in one folder, from nothing to ready and back, from whatever state the folder is in."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

from trainform.progress import SILENT, Progress, Step
from trainform.sandbox import nodes, objects
from trainform.sandbox.addons import ADDONS, Installed, chosen_addons, installed, parts_of, together, with_needed
from trainform.sandbox.api import Api
from trainform.sandbox.certificates import Certificates
from trainform.sandbox.components import COMPONENTS, PORTS, programs
from trainform.sandbox.folder import Layout, sandbox_edge
from trainform.sandbox.kubeconfig import CONTEXT, server_url, write_kubeconfig
from trainform.sandbox.ports import pick_ports
from trainform.sandbox.processes import Process, is_running, stop
from trainform.sandbox.readiness import readiness
from trainform.sandbox.settings import SandboxSettings
from trainform.sandbox.start import Start
from trainform.sandbox.state import State, read_processes, read_state, write_state
from trainform.sandbox.waiting import PortTakenError, blaming, wait_for
from trainform.toolchain.addons import ensure_addons
from trainform.toolchain.model import Toolchain

READY_SECONDS = 90.0
ADDON_SECONDS = 20.0
ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Sandbox:
    """A ready control plane: how to reach it."""

    folder: Path
    kubeconfig: Path
    url: str
    context: str = CONTEXT


@sandbox_edge
def up(
    settings: SandboxSettings, toolchain: Toolchain, progress: Progress = SILENT, timeout: float | None = None
) -> Sandbox:
    """Make the sandbox run as `settings` say, and return when it is ready.

    One that runs already is left alone or adjusted (nodes, storage classes, contexts). One of which only a part is left, or that
    lacks an add-on, is started again on its data. Add-ons stay until `down`, those of an earlier `up` too; what is missing of them
    is built first, and only then `timeout` (seconds; default: 90, and 20 for each add-on) begins. `SandboxError` names the component
    that failed, with the end of its log.
    """
    layout = Layout(settings.folder)
    with layout.held("trainform sandbox up", progress, READY_SECONDS if timeout is None else timeout):
        layout.make()
        state = read_state(layout)
        settings = _with_addons(settings, state, progress)
        addons = installed(settings.addons, ensure_addons(parts_of(settings.addons), progress))
        seconds = READY_SECONDS + ADDON_SECONDS * len(addons) if timeout is None else timeout
        run = Run(layout, settings, toolchain, addons, progress, time.monotonic() + seconds)
        if state is not None and run.serves(state):
            state = run.adjust(dataclasses.replace(state, pulumi=toolchain.pulumi))
        else:
            state = run.start(state)
    return Sandbox(layout.root, layout.kubeconfig, server_url(state.ports["kube-apiserver"]))


@sandbox_edge
def down(folder: Path, progress: Progress = SILENT, purge: bool = False) -> bool:
    """End what `up` started and remove the cluster's data; False where there was nothing.

    The state of Pulumi stacks goes too, since it describes objects that are gone. Logs and passphrase stay, unless `purge` is set.
    """
    layout = Layout(folder)
    if not layout.root.exists():
        return False
    with layout.held("trainform sandbox down", progress):
        found = layout.state.exists()
        running = [process for process in read_processes(layout) if is_running(process)]
        if running:
            with progress.step(f"sandbox: stopping {len(running)} components"):
                stop(running)
        layout.remove_cluster()
        if purge:
            layout.remove_all()
    return found


def _with_addons(settings: SandboxSettings, before: State | None, progress: Progress) -> SandboxSettings:
    """With the add-ons that are there already and those that the wanted ones need."""
    there = () if before is None else before.settings.addons
    names = with_needed(together(there, chosen_addons(settings.addons)))
    for needed in names:
        if needed not in (*settings.addons, *there):
            askers = [name for name in names if needed in ADDONS[name].needs]
            progress.note(f"the add-on {needed} comes too: {' and '.join(askers)} cannot do without it")
    return dataclasses.replace(settings, addons=names)


@dataclasses.dataclass(frozen=True)
class Run:
    """One `up`: what it should come to, out of what, and until when (of the monotonic clock)."""

    layout: Layout
    settings: SandboxSettings
    toolchain: Toolchain
    addons: tuple[Installed, ...]
    progress: Progress
    deadline: float

    def serves(self, state: State) -> bool:
        """Whether all components of this tool chain and of the add-ons run, and the API server answers."""
        rows = [*programs(self.toolchain.control_plane.binaries), *(addon.program for addon in self.addons)]
        expected = {row.component.name: str(row.binary) for row in rows}
        running = {process.name: process.binary for process in state.processes if is_running(process)}
        if not state.complete or running != expected:
            return False
        with Api(state.ports["kube-apiserver"], Certificates(self.layout.pki)) as api:
            return api.healthy("/readyz")

    def adjust(self, state: State) -> State:
        """Make a running sandbox match the settings without touching its processes."""
        layout, settings = self.layout, self.settings
        if state.settings == settings:
            self.progress.note(f"the sandbox in {layout.root} is up already")
            write_state(layout, state)
            return state
        port, certificates = state.ports["kube-apiserver"], Certificates(layout.pki)
        with self.progress.step("sandbox: adjusting nodes and storage classes") as step, Api(port, certificates) as api:
            with blaming(state.processes, "kube-apiserver"):
                nodes.match_nodes(api, settings.pools)
                objects.apply_storage_classes(api, settings.storage_classes)
            write_kubeconfig(layout.kubeconfig, port, certificates, settings.contexts)
            promised = readiness(api, settings.pools, self.addons, state.ports)
            wait_for(promised, state.processes, self.deadline, step)
        adjusted = dataclasses.replace(state, settings=settings)
        write_state(layout, adjusted)
        return adjusted

    def start(self, before: State | None) -> State:
        """Start all components, on the data that is there."""
        wanted: Mapping[str, int] = {} if before is None else before.ports
        left = [process for process in read_processes(self.layout) if is_running(process)]
        if left:
            self.progress.note(_why_again(len(left), before, self.settings))
            stop(left)
        names = [*PORTS, *(port for row in self.addons for port in row.addon.ports)]
        with self.progress.step("sandbox: starting") as step:
            for attempt in range(1, ATTEMPTS + 1):
                ports = pick_ports(names, wanted if attempt == 1 else {})
                try:
                    return self._start_once(State(self.settings, self.toolchain.pulumi, ports), step)
                except PortTakenError:
                    if attempt == ATTEMPTS:
                        raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _start_once(self, state: State, step: Step) -> State:
        started: list[Process] = []

        def record(processes: list[Process]) -> None:
            started[:] = processes
            write_state(self.layout, dataclasses.replace(state, processes=tuple(processes)))

        Start(self.layout, state, self.toolchain.control_plane, self.addons, record).run(self.deadline, step)
        complete = dataclasses.replace(state, processes=tuple(started), complete=True)
        write_state(self.layout, complete)
        return complete


def _why_again(left: int, before: State | None, settings: SandboxSettings) -> str:
    there = () if before is None else before.settings.addons
    new = [name for name in settings.addons if name not in there]
    if new:
        return f"new in this sandbox: {', '.join(new)}; starting all components again, on its data"
    count = len(COMPONENTS) + len(there)
    return f"{left} of {count} components of an earlier start still run: starting all again"
