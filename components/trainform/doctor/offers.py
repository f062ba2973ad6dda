"""Looks at what a live cluster offers: nodes, storage classes, operators, queues. `trainform new --from-context` makes an environment of it."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.catalog import defaults
from trainform.cluster.api import ClusterApi
from trainform.cluster.operators import OPERATORS
from trainform.cluster.survey import Survey
from trainform.doctor.cluster import connection, look_at_cluster, look_at_kubeconfig, look_at_operators
from trainform.doctor.looking import look
from trainform.doctor.model import Asked, Check, Finding, Findings, State
from trainform.errors import ClusterError, shorten
from trainform.spec.environment import Cluster, Environment, Namespace
from trainform.spec.names import LABEL, MEANING, is_label

SECONDS = 30.0  # a list of thousands of nodes takes some
Fields = Mapping[str, tuple[str, ...]]
"""Names in each part of an object."""
CONNECTED = ("kubeconfig", "cluster")
NODE = {"metadata": ("name", "labels"), "spec": ("taints", "unschedulable"), "status": ("allocatable", "conditions")}
CLASS = {"metadata": ("name",)}
QUEUE = {"metadata": ("name",), "spec": ("parent",), "status": ("state",)}
_KUEUE = next(operator for operator in OPERATORS if operator.name == defaults.KUEUE)


def _items(api: ClusterApi, path: str, fields: Fields) -> Finding:
    items = api.list_all(path, functools.partial(_only, fields))
    if items is None:
        return Finding(State.UNKNOWN, "this account may not list them")
    return Finding(State.OK, str(len(items)), details={"items": items})


def _only(fields: Fields, item: Any) -> dict[str, dict[str, Any]]:
    """The fields of the object, so that the rest of thousands of nodes need not be held."""
    parts = {part: item.get(part) if isinstance(item, dict) else None for part in fields}
    return {
        part: {name: value[name] for name in fields[part] if name in value}
        for part, value in parts.items()
        if isinstance(value, dict)
    }


def _look_at_nodes(asked: Asked, findings: Findings) -> Finding:
    return _items(connection(findings), "/api/v1/nodes", NODE)


def _look_at_storage_classes(asked: Asked, findings: Findings) -> Finding:
    return _items(connection(findings), "/apis/storage.k8s.io/v1/storageclasses", CLASS)


def _look_at_queues(asked: Asked, findings: Findings) -> Finding:
    return _items(connection(findings), f"/apis/{QUEUE_API}/queues", QUEUE)


def _look_at_local_queues(asked: Asked, findings: Findings) -> Finding:
    api = connection(findings)
    return _items(api, f"/apis/{_KUEUE.api_version}/namespaces/{api.config.namespace}/localqueues", CLASS)


def _look_at_kubeconfig(asked: Asked, findings: Findings) -> Finding:
    """The same as doctor's; the namespace of the context is the environment's, and part of a path."""
    finding = look_at_kubeconfig(asked, findings)
    config = connection({"kubeconfig": finding}).config
    if is_label(config.namespace):
        return finding
    connection({"kubeconfig": finding}).close()
    raise ClusterError(
        f"the context {asked.context} of {config.fname} names the namespace {shorten(config.namespace)}, which {MEANING[LABEL][0]}",
        f"kubectl config set-context {shlex.quote(str(asked.context))} --namespace=NAME",
    )


CHECKS = (
    Check("kubeconfig", _look_at_kubeconfig),
    Check("cluster", look_at_cluster, "check the network or VPN with `kubectl get --raw /readyz`", needs=CONNECTED[:1]),
    Check("operators", look_at_operators, needs=CONNECTED),
    Check("nodes", _look_at_nodes, needs=CONNECTED),
    Check("storage_classes", _look_at_storage_classes, needs=CONNECTED),
    Check("queues", _look_at_queues, needs=CONNECTED),
    Check("local_queues", _look_at_local_queues, needs=CONNECTED),
)


def survey(context: str, root: Path, seconds: float = SECONDS) -> Survey:
    """What the cluster of the context offers; ClusterError where there is no way to it. What alone cannot be read is left out, and told."""
    asked = Asked(root, _only_context(context), seconds)
    found = look(CHECKS, asked)
    for name in CONNECTED:
        if found[name].state is not State.OK:
            raise ClusterError(found[name].text, found[name].fix)
    served = found["operators"].details.get("found")
    unread = [(name, found[name]) for name in ("nodes", "storage_classes") if _objects(found, name) is None]
    unread += [("operators", found["operators"])] if served is None else []
    return Survey(
        context=context,
        namespace=connection(found).config.namespace,
        operators=None if served is None else tuple(served),
        nodes=_objects(found, "nodes"),
        storage_classes=_objects(found, "storage_classes"),
        queues=_objects(found, "queues"),
        local_queues=_objects(found, "local_queues"),
        unread=tuple(f"{name.replace('_', ' ')} could not be read: {finding.text}" for name, finding in unread),
    )


def _only_context(context: str) -> Environment:
    """Checks take their context from an environment; nothing else of this one is looked at."""
    return Environment(name="new", cluster=Cluster(context=context), namespace=Namespace(name="new"))


def _objects(findings: Findings, name: str) -> list[Any] | None:
    return findings[name].details.get("items")
