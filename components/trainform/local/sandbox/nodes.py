"""Simulated nodes: Node objects without a machine, which kwok keeps ready."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import structs

from trainform.defaults import NODES_LABEL, REAL, SIMULATED
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.components import SIMULATED_NODE
from trainform.local.sandbox.settings import POOL_LABEL, NodePool

NODE_RANGE = ipaddress.ip_network("10.64.0.0/12")
SHAPE = "sandbox.trainform.dev/shape"
# Measured on 2 cores: more threads do not make the API server faster.
PARALLEL_REQUESTS = 16

NOT_READY_TAINTS = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
# The first conditions that a kubelet reports, from the start: kwok needs 25 s to make 1,000 nodes ready.
CONDITIONS = {
    "Ready": ("True", "KubeletReady"),
    "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID"),
    "NetworkUnavailable": ("False", "RouteCreated"),
}

_NODES = "/api/v1/nodes"
SIMULATED_NODES = f"{_NODES}?labelSelector={POOL_LABEL}"
REAL_NODES = f"{_NODES}?labelSelector={NODES_LABEL}={REAL}"


def reconcile_nodes(api: Api, pools: Iterable[NodePool]) -> None:
    """Create, replace and delete nodes until they match the pools. Nodes that do not change keep their pods."""
    expected = {f"{pool.name}-{index}": pool for pool in pools for index in range(pool.count)}
    live = {item["metadata"]["name"]: item for item in api.get(SIMULATED_NODES)["items"]}
    # Capacity, labels and taints of a node do not change under its pods: a node of another shape is replaced.
    shapes = {name: item["metadata"].get("annotations", {}).get(SHAPE) for name, item in live.items()}
    stale = [name for name, shape in shapes.items() if name not in expected or shape != _shape(expected[name])]
    missing = [name for name in expected if name not in live or name in stale]
    addresses = _free_addresses(item for name, item in live.items() if name not in stale)
    manifests = [_node(name, expected[name], address) for name, address in zip(missing, addresses, strict=False)]
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        list(pool.map(lambda name: api.delete(f"{_NODES}/{name}"), stale))
        list(pool.map(lambda manifest: api.create(_NODES, manifest), manifests))


def delete_real_nodes(api: Api) -> None:
    """Delete the Node objects of real nodes, which an earlier start has created."""
    for item in api.get(REAL_NODES)["items"]:
        api.delete(f"{_NODES}/{item['metadata']['name']}")


def ready_nodes(api: Api, path: str) -> dict[str, bool]:
    """Return the names of nodes, with True for those that are ready."""
    return {item["metadata"]["name"]: _is_ready(item) for item in api.get(path)["items"]}


def count_nodes(api: Api, path: str = SIMULATED_NODES) -> tuple[int, int]:
    """Return the number of ready nodes and of all nodes."""
    ready = ready_nodes(api, path)
    return sum(ready.values()), len(ready)


def _is_ready(node: Mapping[str, Any]) -> bool:
    # A new node may be tainted until the controller manager has seen that it is ready; no pod is placed there before.
    taints = node["spec"].get("taints", [])
    return not any(taint["key"] in NOT_READY_TAINTS for taint in taints) and any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node["status"].get("conditions", [])
    )


def _free_addresses(kept: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    taken = {address["address"] for item in kept for address in item["status"].get("addresses", [])}
    return (text for text in map(str, NODE_RANGE.hosts()) if text not in taken)


def _shape(pool: NodePool) -> str:
    content = [dict(pool.resources), dict(pool.labels), [structs.asdict(taint) for taint in pool.taints]]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _node(name: str, pool: NodePool, address: str) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        NODES_LABEL: SIMULATED,
        POOL_LABEL: pool.name,
        **pool.labels,
    }
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {SIMULATED_NODE: "fake", SHAPE: _shape(pool)},
        },
        "spec": {"taints": [structs.asdict(taint) for taint in pool.taints]},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now}
                for kind, (status, reason) in CONDITIONS.items()
            ],
            "nodeInfo": {"kubeletVersion": "simulated", "operatingSystem": "linux", "architecture": "amd64"},
            "capacity": dict(pool.resources),
            "allocatable": dict(pool.resources),
            # Pods with hostNetwork have the node's address: each node needs its own.
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        },
    }
