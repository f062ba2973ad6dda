"""The status of a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from trainform.local.sandbox import nodes
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.api import Api, RequestError
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.components import COMPONENTS, FORWARDER
from trainform.local.sandbox.folder import Layout, os_errors_as_sandbox_errors
from trainform.local.sandbox.kubeconfig import server_url
from trainform.local.sandbox.processes import is_running
from trainform.local.sandbox.state import State, read_state


class ComponentStatus(Struct, frozen=True):
    """The status of one component. `pid` is None if it was never started, `port` is None if it does not listen."""

    name: str
    running: bool
    pid: int | None
    port: int | None
    log: Path


class SandboxStatus(Struct, frozen=True):
    """The status of a sandbox. `running`: every component runs and the API server answers; only then nodes count."""

    folder: Path
    running: bool
    url: str | None
    nodes_ready: int
    nodes: int
    components: tuple[ComponentStatus, ...]
    addons: tuple[str, ...] = ()
    real_nodes: dict[str, bool] = {}
    """Name -> True if it is ready. They are not part of `nodes`."""

    def as_dict(self) -> dict[str, Any]:
        """Return the status as it is printed by `status --output json`."""
        printed: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)  # paths as texts
        return printed


@os_errors_as_sandbox_errors
def status(folder: Path) -> SandboxStatus:
    """Return the status: look at the processes and ask the API server."""
    layout = Layout(folder)
    state = read_state(layout)
    addons = () if state is None else state.settings.addons
    rows = _rows(state, layout)
    if state is None:
        return SandboxStatus(folder, False, None, 0, 0, rows)
    url = server_url(state.ports["kube-apiserver"])
    ready, total, real = 0, 0, dict[str, bool]()
    running = state.complete and all(row.running for row in rows)
    if running:
        try:
            with Api(state.ports["kube-apiserver"], Certificates(layout.pki)) as api:
                ready, total = nodes.count_nodes(api)
                real = nodes.ready_nodes(api, nodes.REAL_NODES)
        except RequestError:
            running = False
    return SandboxStatus(folder, running, url, ready, total, rows, addons, real)


@os_errors_as_sandbox_errors
def is_up(folder: Path) -> bool:
    """Return True if every component runs. Unlike `status`, this does not ask the API server."""
    layout = Layout(folder)
    state = read_state(layout)
    return state is not None and state.complete and all(row.running for row in _rows(state, layout))


def _rows(state: State | None, layout: Layout) -> tuple[ComponentStatus, ...]:
    addons = () if state is None else state.settings.addons
    rows = [(row.name, row.port) for row in (*COMPONENTS, *(ADDONS[name].component for name in addons))]
    if state is not None and state.settings.real:
        rows.append((FORWARDER, None))
    return tuple(_component(name, port, state, layout) for name, port in rows)


def _component(name: str, port: str | None, state: State | None, layout: Layout) -> ComponentStatus:
    process = None if state is None else next((p for p in state.processes if p.name == name), None)
    return ComponentStatus(
        name=name,
        running=process is not None and is_running(process),
        pid=None if process is None else process.pid,
        port=None if state is None or port is None else state.ports[port],
        log=layout.log(name),
    )
