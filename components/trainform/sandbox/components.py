"""The components of the control plane as a table: what is started, in which order, with which arguments.

Everything listens on loopback or not at all: metrics, health and profiling servers are off where they cannot be bound there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from trainform.sandbox.certificates import Certificates
from trainform.sandbox.folder import Layout
from trainform.sandbox.kubeconfig import server_url
from trainform.sandbox.ports import LOOPBACK
from trainform.sandbox.processes import Command
from trainform.sandbox.webhooks import ADMISSION_PATHS

SERVICE_RANGE = "10.0.0.0/16"
POD_RANGE = "10.128.0.0/9"
# kwok renews after a quarter of it, for each node: most of what an idle API server is asked. Kubernetes waits 50 s for a node's word.
LEASE_SECONDS = 100


@dataclasses.dataclass(frozen=True)
class Context:
    """What the arguments are made of."""

    layout: Layout
    certificates: Certificates
    ports: Mapping[str, int]
    stages: tuple[Path, ...]
    scheduler_configuration: Path


def _nothing(context: Context) -> dict[str, str]:
    return {}


@dataclasses.dataclass(frozen=True)
class Component:
    """One process. `wave`: those of a later wave start when the earlier ones answer. `port`: name of the port it is reached on."""

    name: str
    binary: str
    wave: int
    arguments: Callable[[Context], list[str]]
    port: str | None = None
    environment: Callable[[Context], dict[str, str]] = _nothing


@dataclasses.dataclass(frozen=True)
class Program:
    """A component and the file that is run for it."""

    component: Component
    binary: Path


def _etcd(context: Context) -> list[str]:
    files = context.certificates
    client = f"https://{LOOPBACK}:{context.ports['etcd']}"
    peer = f"https://{LOOPBACK}:{context.ports['etcd-peer']}"
    arguments = [f"--data-dir={context.layout.etcd}", "--log-level=warn"]
    # A crash of the machine may lose the last second; the sandbox's data is not worth an fsync for each write.
    arguments += ["--unsafe-no-fsync"]
    arguments += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}"]
    arguments += [f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"]
    # Other users of the machine reach loopback too, and the data holds secrets: no certificate, no access.
    arguments += [f"--cert-file={files.server}", f"--key-file={files.server_key}"]
    arguments += [f"--trusted-ca-file={files.authority}", "--client-cert-auth"]
    arguments += [f"--peer-cert-file={files.server}", f"--peer-key-file={files.server_key}"]
    arguments += [f"--peer-trusted-ca-file={files.authority}", "--peer-client-cert-auth"]
    return arguments


def _kube_apiserver(context: Context) -> list[str]:
    files = context.certificates
    arguments = [f"--etcd-servers=https://{LOOPBACK}:{context.ports['etcd']}", f"--etcd-cafile={files.authority}"]
    arguments += [f"--etcd-certfile={files.client}", f"--etcd-keyfile={files.client_key}"]
    arguments += [f"--bind-address={LOOPBACK}", f"--advertise-address={LOOPBACK}"]
    arguments += [f"--secure-port={context.ports['kube-apiserver']}"]
    arguments += [f"--tls-cert-file={files.server}", f"--tls-private-key-file={files.server_key}"]
    arguments += [f"--client-ca-file={files.authority}", "--authorization-mode=RBAC", "--allow-privileged=true"]
    arguments += ["--service-account-issuer=https://kubernetes.default.svc"]
    arguments += [f"--service-account-key-file={files.service_accounts}"]
    arguments += [f"--service-account-signing-key-file={files.service_accounts_key}"]
    arguments += [f"--service-cluster-ip-range={SERVICE_RANGE}", "--profiling=false"]
    # The Service `kubernetes` gets no endpoint: Kubernetes refuses loopback addresses there, and nothing runs in the pods.
    arguments += ["--endpoint-reconciler-type=none"]
    # It taints new nodes until a kubelet reports; ours are ready when they are made, and a thousand taints take 15 s to remove.
    arguments += ["--disable-admission-plugins=TaintNodesByCondition"]
    return arguments


def _kube_controller_manager(context: Context) -> list[str]:
    files = context.certificates
    arguments = [
        f"--kubeconfig={context.layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
    ]
    arguments += [
        f"--service-account-private-key-file={files.service_accounts_key}",
        f"--root-ca-file={files.authority}",
    ]
    # A thousand nodes and pods at once are normal here; the defaults (20/30) are for a server with other clients.
    arguments += ["--kube-api-qps=300", "--kube-api-burst=600"]
    return arguments


def _webhook_manager(context: Context) -> list[str]:
    files = context.certificates
    port = context.ports["webhook-manager"]
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", f"--listen-address={LOOPBACK}", f"--port={port}"]
    arguments += [f"--tls-cert-file={files.server}", f"--tls-private-key-file={files.server_key}"]
    arguments += [f"--ca-cert-file={files.authority}"]
    # Only checked for being there (Volcano <= 1.15); the address that is called stands in the webhook configurations.
    arguments += [f"--webhook-url=https://{LOOPBACK}:{port}"]
    arguments += [f"--enabled-admission={','.join(ADMISSION_PATHS)}"]
    return arguments


def _volcano_controller(context: Context) -> list[str]:
    return [f"--kubeconfig={context.layout.kubeconfig}", "--leader-elect=false"]


def _volcano_scheduler(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", "--leader-elect=false", "--cache-dumper=false"]
    arguments += [f"--scheduler-conf={context.scheduler_configuration}"]
    return arguments


def _kwok(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", "--manage-all-nodes=true", f"--cidr={POD_RANGE}"]
    arguments += [f"--node-lease-duration-seconds={LEASE_SECONDS}", "--v=WARN"]
    arguments += [f"--config={stage}" for stage in context.stages]
    return arguments


# The names are those of the projects' own documentation, except for etcd, whose binary is called `server`.
COMPONENTS = (
    Component("etcd", "server", 0, _etcd, "etcd"),
    Component("kube-apiserver", "kube-apiserver", 1, _kube_apiserver, "kube-apiserver"),
    Component("kwok", "kwok", 2, _kwok),
    # After the CRDs: its garbage collector learns new kinds every 30 s only, and until then no pod goes with its job.
    Component("kube-controller-manager", "kube-controller-manager", 3, _kube_controller_manager),
    Component("volcano-webhook-manager", "webhook-manager", 3, _webhook_manager, "webhook-manager"),
    Component("volcano-controller-manager", "controller-manager", 3, _volcano_controller),
    Component("volcano-scheduler", "scheduler", 3, _volcano_scheduler),
)
# Of those that need all of the above's CRDs and none of its processes: the controllers of the add-ons.
LAST_WAVE = 3
PORTS = ("etcd", "etcd-peer", "kube-apiserver", "webhook-manager")


def programs(binaries: Mapping[str, Path]) -> list[Program]:
    """Those that every sandbox runs."""
    return [Program(row, binaries[row.binary]) for row in COMPONENTS]


def commands(wave: int, context: Context, rows: Iterable[Program]) -> list[Command]:
    """What to run in one wave."""
    return [
        Command(
            name=row.component.name,
            binary=row.binary,
            arguments=row.component.arguments(context),
            log=context.layout.log(row.component.name),
            environment=row.component.environment(context),
        )
        for row in rows
        if row.component.wave == wave
    ]


def api_url(ports: Mapping[str, int]) -> str:
    """Address of the API server."""
    return server_url(ports["kube-apiserver"])
