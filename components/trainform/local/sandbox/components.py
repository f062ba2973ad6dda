"""The components of the control plane as a table: which processes are started, in which order, with which arguments.

Every server listens on loopback only; metrics, health and profiling servers that cannot are turned off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.ports import LOOPBACK
from trainform.local.sandbox.processes import Command
from trainform.local.sandbox.webhooks import ADMISSION_PATHS

SERVICE_RANGE = "198.18.0.0/16"  # for benchmarks (RFC 2544): nothing that pods may want to reach has such an address
POD_RANGE = "10.128.0.0/9"
SIMULATED_NODE = "kwok.x-k8s.io/node"  # the annotation of nodes that kwok manages
# kwok renews leases after a quarter of this time, most of an idle API server's load. Kubernetes allows 50 s.
LEASE_SECONDS = 100


class Context(Struct, frozen=True):
    """The paths and ports from which the arguments of a component are built."""

    layout: Layout
    certificates: Certificates
    ports: Mapping[str, int]
    stages: tuple[Path, ...]
    scheduler_configuration: Path
    admission_configuration: Path
    gangs: bool = True  # see `SandboxSettings`
    mpi_operator: bool = True  # it runs MPIJobs, and not training-operator


class Component(Struct, frozen=True):
    """One process. `wave`: a wave starts when the components of the earlier waves are ready. `port`: the name of the
    port that it listens on, None if it does not listen."""

    name: str
    binary: str
    wave: int
    arguments: Callable[[Context], list[str]]
    port: str | None = None
    environment: Callable[[Context], dict[str, str]] = lambda context: {}


def _etcd(context: Context) -> list[str]:
    files = context.certificates
    client = f"https://{LOOPBACK}:{context.ports['etcd']}"
    peer = f"https://{LOOPBACK}:{context.ports['etcd-peer']}"
    arguments = [f"--data-dir={context.layout.etcd}", "--log-level=warn"]
    # No fsync: after a crash of the machine the last second may be lost.
    arguments += ["--unsafe-no-fsync"]
    arguments += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}"]
    arguments += [f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}"]
    # Other users of the machine can connect to loopback, and the data holds secrets.
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
    arguments += [f"--client-ca-file={files.authority}", "--authorization-mode=Node,RBAC", "--allow-privileged=true"]
    arguments += [f"--kubelet-client-certificate={files.client}", f"--kubelet-client-key={files.client_key}"]
    arguments += ["--kubelet-preferred-address-types=ExternalDNS,InternalIP"]
    arguments += ["--service-account-issuer=https://kubernetes.default.svc"]
    arguments += [f"--service-account-key-file={files.service_accounts}"]
    arguments += [f"--service-account-signing-key-file={files.service_accounts_key}"]
    arguments += [f"--service-cluster-ip-range={SERVICE_RANGE}", "--profiling=false"]
    # The Service `kubernetes` gets no endpoint: Kubernetes refuses loopback addresses there.
    arguments += ["--endpoint-reconciler-type=none"]
    # This plugin taints new nodes until a kubelet reports; to remove 1,000 taints takes 15 s.
    arguments += ["--disable-admission-plugins=TaintNodesByCondition"]
    arguments += ["--enable-admission-plugins=NodeRestriction,PodNodeSelector"]
    arguments += [f"--admission-control-config-file={context.admission_configuration}"]
    return arguments


def _kube_controller_manager(context: Context) -> list[str]:
    files = context.certificates
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
    arguments += [f"--service-account-private-key-file={files.service_accounts_key}"]
    arguments += [f"--root-ca-file={files.authority}", "--profiling=false"]
    # A thousand nodes and pods at once are normal here; the defaults (20, 30) protect other clients.
    arguments += ["--kube-api-qps=300", "--kube-api-burst=600"]
    return arguments


def _webhook_manager(context: Context) -> list[str]:
    files = context.certificates
    port = context.ports["webhook-manager"]
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", f"--listen-address={LOOPBACK}", f"--port={port}"]
    arguments += [f"--tls-cert-file={files.server}", f"--tls-private-key-file={files.server_key}"]
    arguments += [f"--ca-cert-file={files.authority}"]
    # Required, but not used (Volcano <= 1.15): the URL that is called is in the webhook configurations.
    arguments += [f"--webhook-url=https://{LOOPBACK}:{port}"]
    arguments += [f"--enabled-admission={','.join(ADMISSION_PATHS)}"]
    return arguments


def _volcano_controller(context: Context) -> list[str]:
    return [f"--kubeconfig={context.layout.kubeconfig}", "--leader-elect=false"]


def _volcano_scheduler(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", "--leader-elect=false", "--cache-dumper=false"]
    return [*arguments, f"--scheduler-conf={context.scheduler_configuration}"]


def _kwok(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", f"--cidr={POD_RANGE}"]
    arguments += [f"--manage-nodes-with-annotation-selector={SIMULATED_NODE}=fake"]
    arguments += [f"--node-lease-duration-seconds={LEASE_SECONDS}", "--v=WARN"]
    arguments += [f"--config={stage}" for stage in context.stages]
    return arguments


# The names are those of the projects' documentation. The executable of etcd is called `server`.
COMPONENTS = (
    Component("etcd", "server", 0, _etcd, "etcd"),
    Component("kube-apiserver", "kube-apiserver", 1, _kube_apiserver, "kube-apiserver"),
    Component("kwok", "kwok", 2, _kwok),
    # After the CRDs: its garbage collector looks for new kinds every 30 s only.
    Component("kube-controller-manager", "kube-controller-manager", 3, _kube_controller_manager),
    Component("volcano-webhook-manager", "webhook-manager", 3, _webhook_manager, "webhook-manager"),
    Component("volcano-controller-manager", "controller-manager", 3, _volcano_controller),
    Component("volcano-scheduler", "scheduler", 3, _volcano_scheduler),
)
# The wave of the add-ons' controllers: they need the CRDs, and no process of this wave.
LAST_WAVE = 3
PORTS = ("etcd", "etcd-peer", "kube-apiserver", "webhook-manager")
FORWARDER = "real-nodes-forwarder"  # connects real nodes to the API server


def commands(wave: int, context: Context, rows: Mapping[Component, Path]) -> list[Command]:
    """Return the commands of one wave."""
    return [
        Command(
            name=component.name,
            binary=binary,
            arguments=component.arguments(context),
            log=context.layout.log(component.name),
            environment=component.environment(context),
        )
        for component, binary in rows.items()
        if component.wave == wave
    ]
