"""The files that a real node reads in /etc/trainform, and the objects of the cluster that belong to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from trainform.defaults import NODES_LABEL, REAL, REAL_MEMORY
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.kubeconfig import kubeconfig
from trainform.local.sandbox.settings import NodePool
from trainform.spec.quantities import amount

FOLDER = "/etc/trainform"
DNS = "169.254.53.53"  # of CoreDNS in each node; node.sh adds it to the loopback interface
DOMAIN = "cluster.local"
POD_RANGE = "10.126.{index}.0/24"
DNS_USER = "system:coredns"
KIB = 1024
# Every threshold off: a full disk of this machine must not make the node evict pods.
NO_EVICTION = dict.fromkeys(("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available"), "0%")


class RealNode(Struct, frozen=True):
    """A node of a pool. memory: bytes, the limit of its container. port: its kubelet's, which is published on this
    machine; None: the usual one of the container."""

    name: str
    index: int
    pool: NodePool
    memory: int
    port: int | None = None

    @property
    def pods(self) -> str:
        """Return the range of addresses of its pods."""
        return POD_RANGE.format(index=self.index)


def chosen_nodes(pools: Sequence[NodePool], count: int, memory: int) -> list[RealNode]:
    """Return nodes of the pools in turn, while these have more. memory: bytes for all together, of which a node gets no
    more than its pool says."""
    places = sorted((index, number) for number, pool in enumerate(pools) for index in range(pool.count))[:count]
    return [
        RealNode(f"{pool.name}-real-{index}", place, pool, min(memory // len(places), _amount(pool, "memory")))
        for place, (index, pool) in enumerate((index, pools[number]) for index, number in places)
    ]


def node_files(node: RealNode, server: str, certificates: Certificates, signed: Mapping[str, Path]) -> dict[str, bytes]:
    """Return the content of each file. server: the API server's URL for nodes. signed: user -> certificate; its key is
    next to it."""
    files = {
        "ca.crt": certificates.authority.read_bytes(),
        "kubelet.crt": signed[node.name].read_bytes(),
        "kubelet.key": signed[node.name].with_suffix(".key").read_bytes(),
        "size": f"{_amount(node.pool, 'cpu')} {_amount(node.pool, 'memory') // KIB}\n".encode(),
        "resolv.conf": f"nameserver {DNS}\n".encode(),
        "Corefile": COREFILE.encode(),
        "cni.json": _json(_network(node.pods)),
        "kubelet.yaml": _json(KUBELET if node.port is None else KUBELET | {"port": node.port}),
        "kube-proxy.yaml": _json(PROXY),
    }
    for program, user in (("kubelet", node.name), ("kube-proxy", PROXY_USER), ("coredns", DNS_USER)):
        content = kubeconfig(server, certificates.authority, signed[user], signed[user].with_suffix(".key"))
        content["clusters"][0]["cluster"]["tls-server-name"] = "localhost"  # the certificate has no address of nodes
        files[f"{program}.kubeconfig"] = _json(content)
    return files


def _amount(pool: NodePool, resource: str) -> int:
    return int(amount(pool.resources[resource]))


def peers(nodes: Iterable[tuple[RealNode, str]], here: RealNode) -> bytes:
    """Return a line for each node: its address, `here` for this one, and the range of its pods."""
    return "".join(f"{'here' if node is here else address} {node.pods}\n" for node, address in nodes).encode()


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=2).encode()


PROXY_USER = "system:kube-proxy"
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": f"{FOLDER}/ca.crt"}},
    "authorization": {"mode": "Webhook"},
    "tlsCertFile": f"{FOLDER}/kubelet.crt",
    "tlsPrivateKeyFile": f"{FOLDER}/kubelet.key",
    "cgroupDriver": "cgroupfs",
    "cgroupRoot": "/kubelet",
    "clusterDNS": [DNS],
    "clusterDomain": DOMAIN,
    "resolvConf": f"{FOLDER}/resolv.conf",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "registerNode": False,  # a kubelet would create the Node without the resources of the pool
    "failSwapOn": False,
    "evictionHard": NO_EVICTION,
    "imageGCHighThresholdPercent": 100,  # images are shared by all nodes
    # Without CAP_SYS_RESOURCE, which some machines do not give, no process may lower its score.
    "featureGates": {"KubeletInUserNamespace": True},
}
PROXY = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "mode": "nftables",
    "clientConnection": {"kubeconfig": f"{FOLDER}/kube-proxy.kubeconfig"},
    # These would be set for the whole machine.
    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
}
COREFILE = f""".:53 {{
  bind {DNS}
  errors
  kubernetes {DOMAIN} in-addr.arpa ip6.arpa {{
    kubeconfig {FOLDER}/coredns.kubeconfig
    ttl 0
  }}
  forward . /etc/resolv.conf
}}
"""


def _network(pods: str) -> dict[str, Any]:
    ipam = {"type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "hairpinMode": True, "ipam": ipam}
    return {"cniVersion": "1.0.0", "name": "sandbox", "plugins": [bridge]}


# --- objects


def node_object(node: RealNode) -> dict[str, Any]:
    """Return the Node. Its kubelet adds CPUs and memory, and keeps other fields."""
    pool = node.pool
    labels = {"kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", NODES_LABEL: REAL, **pool.labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels, "annotations": {REAL_MEMORY: str(node.memory)}},
        "spec": {"taints": [structs.asdict(taint) for taint in pool.taints]},
        "status": {"capacity": dict(pool.resources), "allocatable": dict(pool.resources)},
    }


def addresses(node: RealNode, address: str) -> list[dict[str, str]]:
    """Return the Node's addresses: that of its container, and the name under which the API server finds its port."""
    found = {"InternalIP": address, "Hostname": node.name}
    found |= {} if node.port is None else {"ExternalDNS": "localhost"}
    return [{"type": kind, "address": value} for kind, value in found.items()]


def cluster_objects(gateway: str, port: int) -> dict[str, dict[str, Any]]:
    """Return the objects for all real nodes, by API path: the API server's address for pods, and CoreDNS's rights."""
    rbac = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": DNS_USER},
        "subjects": [{"kind": "User", "name": DNS_USER, "apiGroup": rbac}],
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [gateway]}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    return {
        f"/apis/{rbac}/v1/clusterrolebindings/{DNS_USER}": binding,
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes": endpoints,
    }
