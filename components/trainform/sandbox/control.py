"""`up` and `down`: one sandbox in one folder, from nothing to ready and back, from whatever state the folder is in."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path

from trainform.progress import SILENT, Progress, Step
from trainform.sandbox import nodes, objects
from trainform.sandbox.api import Api
from trainform.sandbox.certificates import Certificates
from trainform.sandbox.components import COMPONENTS, PORTS
from trainform.sandbox.folder import Layout, sandbox_edge
from trainform.sandbox.kubeconfig import CONTEXT, server_url, write_kubeconfig
from trainform.sandbox.ports import pick_ports
from trainform.sandbox.processes import Process, is_running, stop
from trainform.sandbox.readiness import readiness
from trainform.sandbox.settings import SandboxSettings
from trainform.sandbox.start import Start
from trainform.sandbox.state import State, read_processes, read_state, write_state
from trainform.sandbox.waiting import PortTakenError, blaming, wait_for
from trainform.toolchain.model import Toolchain

READY_SECONDS = 90.0
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
    settings: SandboxSettings, toolchain: Toolchain, progress: Progress = SILENT, timeout: float = READY_SECONDS
) -> Sandbox:
    """Make the sandbox run as `settings` say, and return when it is ready.

    One that runs already is left alone or adjusted (nodes, storage classes, contexts). One of which only a part is left is
    started again on its data. `SandboxError` names the component that failed, with the end of its log.
    """
    layout = Layout(settings.folder)
    with layout.held("trainform sandbox up", progress, timeout):
        layout.make()
        deadline = time.monotonic() + timeout
        state = read_state(layout)
        if state is not None and _serves(state, layout, toolchain):
            state = _adjust(layout, dataclasses.replace(state, pulumi=toolchain.pulumi), settings, progress, deadline)
        else:
            state = _start(layout, state, settings, toolchain, progress, deadline)
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


def _serves(state: State, layout: Layout, toolchain: Toolchain) -> bool:
    """Whether all components of this tool chain run, and the API server answers."""
    expected = {row.name: str(toolchain.control_plane.binaries[row.binary]) for row in COMPONENTS}
    running = {process.name: process.binary for process in state.processes if is_running(process)}
    if not state.complete or running != expected:
        return False
    with Api(state.ports["kube-apiserver"], Certificates(layout.pki), timeout=5) as api:
        return api.healthy("/readyz")


def _adjust(layout: Layout, state: State, settings: SandboxSettings, progress: Progress, deadline: float) -> State:
    if state.settings == settings:
        progress.note(f"the sandbox in {layout.root} is up already")
        write_state(layout, state)
        return state
    port, certificates = state.ports["kube-apiserver"], Certificates(layout.pki)
    with progress.step("sandbox: adjusting nodes and storage classes") as step, Api(port, certificates) as api:
        with blaming(state.processes, "kube-apiserver"):
            nodes.match_nodes(api, settings.pools)
            objects.apply_storage_classes(api, settings.storage_classes)
        write_kubeconfig(layout.kubeconfig, port, certificates, settings.contexts)
        wait_for(readiness(api, settings.pools), state.processes, deadline, step)
    adjusted = dataclasses.replace(state, settings=settings)
    write_state(layout, adjusted)
    return adjusted


def _start(
    layout: Layout,
    before: State | None,
    settings: SandboxSettings,
    toolchain: Toolchain,
    progress: Progress,
    deadline: float,
) -> State:
    wanted: Mapping[str, int] = {} if before is None else before.ports
    left = [process for process in read_processes(layout) if is_running(process)]
    if left:
        progress.note(f"{len(left)} of {len(COMPONENTS)} components of an earlier start still run: starting all again")
        stop(left)
    with progress.step("sandbox: starting") as step:
        for attempt in range(1, ATTEMPTS + 1):
            state = State(settings, toolchain.pulumi, pick_ports(PORTS, wanted if attempt == 1 else {}))
            try:
                return _start_once(layout, state, toolchain, deadline, step)
            except PortTakenError:
                if attempt == ATTEMPTS:
                    raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _start_once(layout: Layout, state: State, toolchain: Toolchain, deadline: float, step: Step) -> State:
    started: list[Process] = []

    def record(processes: list[Process]) -> None:
        started[:] = processes
        write_state(layout, dataclasses.replace(state, processes=tuple(processes)))

    Start(layout, state, toolchain.control_plane, record).run(deadline, step)
    complete = dataclasses.replace(state, processes=tuple(started), complete=True)
    write_state(layout, complete)
    return complete
