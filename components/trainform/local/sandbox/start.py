"""The start of the control plane: waves of components, and the conditions between them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from trainform.console.progress import Step
from trainform.defaults import NODES_LABEL, REAL
from trainform.local.sandbox import nodes
from trainform.local.sandbox.addons.addon import InstalledAddOn
from trainform.local.sandbox.addons.addon_table import MPI_OPERATOR
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates, WebhookCertificates
from trainform.local.sandbox.cluster_objects import (
    ACCOUNT,
    DEFAULT_QUEUE,
    QUEUES,
    apply_crds,
    apply_storage_classes,
    apply_webhooks,
    crds_established,
    webhooks_admit,
)
from trainform.local.sandbox.components import COMPONENTS, Component, Context, commands
from trainform.local.sandbox.folder import Layout, write_private
from trainform.local.sandbox.kubeconfig import write_kubeconfig
from trainform.local.sandbox.ports import is_open
from trainform.local.sandbox.processes import Command, Process, launch, stop
from trainform.local.sandbox.real.start import RealNodes, containers
from trainform.local.sandbox.settings import NodePool
from trainform.local.sandbox.state import State, write_state
from trainform.local.sandbox.waiting import Condition, explained_by, wait_for
from trainform.local.toolchain.tools import ControlPlane

STAGES = Path(__file__).parent / "stages"

# How often Go collects garbage: at 400 the components need a fifth less processor time and 0.4 GB more.
INHERITED = ("GOGC",)

# The default of Volcano's Helm chart (1.14.1).
SCHEDULER = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def admission_configuration(*, real: bool) -> dict[str, Any]:
    """Return the configuration of the API server's admission plugins. real: pods run on real nodes, unless their
    namespace says otherwise with the annotation `scheduler.alpha.kubernetes.io/node-selector`."""
    chosen = {"clusterDefaultNodeSelector": f"{NODES_LABEL}={REAL}"} if real else {}
    plugin = {"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": chosen}}
    api = "apiserver.config.k8s.io/v1"
    return {"apiVersion": api, "kind": "AdmissionConfiguration", "plugins": [plugin]}


class Start(Struct):
    """One start of all components. The state is written after each start of a process. image: of the real nodes."""

    layout: Layout
    state: State
    control_plane: ControlPlane
    addons: Sequence[InstalledAddOn]
    image: str = ""

    @property
    def certificates(self) -> Certificates:
        """Return the files of the control plane's certificates."""
        return Certificates(self.layout.pki)

    def run(self, deadline: float, step: Step) -> State:
        """Start all components, and return the state when they are ready. Stop all after a failure or Ctrl-C."""
        port = self.state.ports["kube-apiserver"]
        try:
            self.certificates.make()
            if self.addons:
                WebhookCertificates(self.layout.pki).make()
            write_kubeconfig(self.layout.kubeconfig, port, self.certificates, self.state.settings.contexts)
            with Api(port, self.certificates) as api:
                self._run_waves(api, deadline, step)
        except BaseException:
            stop(self.state.processes)
            if self.state.settings.real:
                with containers(self.layout.root) as docker:
                    docker.remove(claims=False)
            raise
        self._write(structs.replace(self.state, complete=True))
        return self.state

    def _write(self, state: State) -> None:
        self.state = state
        write_state(self.layout, state)

    def _context(self) -> Context:
        scheduler = self.layout.config / "scheduler.yaml"
        write_private(scheduler, SCHEDULER.encode())
        admission = self.layout.config / "admission.yaml"
        write_private(admission, json.dumps(admission_configuration(real=bool(self.state.settings.real))).encode())
        stages = (*self.control_plane.stages, *sorted(STAGES.glob("*.yaml")))
        gangs = self.state.settings.gangs
        mpi_operator = MPI_OPERATOR.name in self.state.settings.addons
        context = Context(
            self.layout, self.certificates, self.state.ports, stages, scheduler, admission, gangs, mpi_operator
        )
        for addon in self.addons:
            addon.configure(context)
        return context

    def _run_waves(self, api: Api, deadline: float, step: Step) -> None:
        context = self._context()
        self._launch(0, context)
        etcd = Condition("etcd listens", "etcd", lambda: is_open(self.state.ports["etcd"]))
        wait_for([etcd], self.state.processes, deadline, step)

        self._launch(1, context)
        ready = Condition("the API server is ready", "kube-apiserver", lambda: api.is_healthy("/readyz"))
        wait_for([ready], self.state.processes, deadline, step)

        self._launch(2, context)
        self._create_objects(api, deadline, step)

        self._launch(3, context)
        conditions = readiness(api, self.state.settings.pools, self.addons, self.state.ports)
        if self.state.settings.real:
            conditions.append(self._start_real_nodes(api, step))
        wait_for(conditions, self.state.processes, deadline, step)

    def _start_real_nodes(self, api: Api, step: Step) -> Condition:
        step.update("sandbox: starting the real nodes")
        port = self.state.ports["kube-apiserver"]
        real = RealNodes(self.layout, api, port, self.state.settings, self.image)
        self._launch_commands([real.network()])
        real.start()
        return real.readiness()

    def _launch(self, wave: int, context: Context) -> None:
        self._launch_commands(commands(wave, context, all_programs(self.control_plane, self.addons)))

    def _launch_commands(self, started: Iterable[Command]) -> None:
        before = self.state.processes
        environment = {"PATH": os.defpath, "HOME": str(self.layout.config)}
        environment |= {name: os.environ[name] for name in INHERITED if name in os.environ}

        def record(running: list[Process]) -> None:
            self._write(structs.replace(self.state, processes=(*before, *running)))

        launch(started, environment, record)

    def _create_objects(self, api: Api, deadline: float, step: Step) -> None:
        """Create the objects that Volcano and the add-ons expect, and the nodes."""
        # of two operators with a kind of the same name, the later in the table serves it
        files = (*self.control_plane.crds, *(path for addon in self.addons for path in addon.crds))
        crds = tuple({path.name: path for path in files}.values())
        with explained_by(self.state.processes, "kube-apiserver"):
            apply_crds(api, crds)
            apply_webhooks(api, self.state.ports["webhook-manager"], self.certificates)
            apply_storage_classes(api, self.state.settings.storage_classes)
            for addon in self.addons:
                addon.prepare(api, self.state.ports, WebhookCertificates(self.layout.pki))
            step.update("sandbox: making the nodes")
            nodes.delete_real_nodes(api)
            nodes.reconcile_nodes(api, self.state.settings.pools)
        established = Condition("the CRDs are served", "kube-apiserver", lambda: crds_established(api, crds))
        wait_for([established], self.state.processes, deadline, step)


def all_programs(control_plane: ControlPlane, addons: Iterable[InstalledAddOn]) -> dict[Component, Path]:
    """Return all components of a sandbox with their executables."""
    programs = {component: control_plane.binaries[component.binary] for component in COMPONENTS}
    return programs | {row.addon.component: row.binary for row in addons}


def readiness(
    api: Api, pools: Iterable[NodePool], addons: Iterable[InstalledAddOn], ports: Mapping[str, int]
) -> list[Condition]:
    """Return the conditions that `up` waits for."""
    count = sum(pool.count for pool in pools)
    return [
        # Without a spec Volcano's mutating webhook fails (1.14.1: "doc is missing path /spec/reclaimable").
        Condition(
            "Volcano's webhooks answer",
            "volcano-webhook-manager",
            lambda: webhooks_admit(api, QUEUES, "Queue", {"weight": 1}),
        ),
        Condition("pods can be made", "kube-controller-manager", lambda: bool(api.get(ACCOUNT))),
        Condition("the nodes are ready", "kwok", lambda: nodes.count_nodes(api) == (count, count)),
        # The scheduler creates the queue and the controller opens it, so that it accepts jobs.
        Condition("the default queue exists", "volcano-scheduler", lambda: bool(api.get(DEFAULT_QUEUE))),
        Condition(
            "the default queue is open",
            "volcano-controller-manager",
            lambda: bool(api.get(DEFAULT_QUEUE).get("status", {}).get("state") == "Open"),
        ),
        *(addon.readiness(api, ports) for addon in addons),
    ]
