"""A survey of a live cluster: nodes, storage classes, operators, queues. `trainform new --from-context` writes an environment from it."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.cluster.api import ClusterApi
from trainform.cluster.operators import KUEUE
from trainform.cluster.survey import Survey
from trainform.doctor.cluster import (
    connection,
    look_at_cluster,
    look_at_identity,
    look_at_kubeconfig,
    look_at_operators,
)
from trainform.doctor.model import Check, Finding, Findings, Request, State
from trainform.doctor.runner import run_checks
from trainform.errors import ClusterError, shorten
from trainform.spec.environment import Cluster, Environment, Namespace
from trainform.spec.names import LABEL, MEANING, is_label

SECONDS = 30.0  # a list of thousands of nodes takes several
Fields = Mapping[str, tuple[str, ...]]
"""Part of an object -> the names of its fields that are kept."""
CONNECTED = ("kubeconfig", "cluster")
NODE = {"metadata": ("name", "labels"), "spec": ("taints", "unschedulable"), "status": ("allocatable", "conditions")}
CLASS = {"metadata": ("name",)}
QUEUE = {"metadata": ("name",), "spec": ("parent",), "status": ("state",)}


def _items(api: ClusterApi, path: str, fields: Fields) -> Finding:
    items = api.list_all(path, functools.partial(_only, fields))
    if items is None:
        return Finding(State.UNKNOWN, "this account has no permission to list them")
    return Finding(State.OK, str(len(items)), details={"items": items})


def _only(fields: Fields, item: Any) -> dict[str, dict[str, Any]]:
    """Return only these fields of an object, to use less memory for thousands of nodes."""
    parts = {part: item.get(part) if isinstance(item, dict) else None for part in fields}
    return {
        part: {name: value[name] for name in fields[part] if name in value}
        for part, value in parts.items()
        if isinstance(value, dict)
    }


def _look_at_nodes(request: Request, findings: Findings) -> Finding:
    return _items(connection(findings), "/api/v1/nodes", NODE)


def _look_at_storage_classes(request: Request, findings: Findings) -> Finding:
    return _items(connection(findings), "/apis/storage.k8s.io/v1/storageclasses", CLASS)


def _look_at_queues(request: Request, findings: Findings) -> Finding:
    return _items(connection(findings), f"/apis/{QUEUE_API}/queues", QUEUE)


def _look_at_local_queues(request: Request, findings: Findings) -> Finding:
    api = connection(findings)
    return _items(api, f"/apis/{KUEUE.api_version}/namespaces/{api.config.namespace}/localqueues", CLASS)


def _look_at_kubeconfig(request: Request, findings: Findings) -> Finding:
    """Check the kubeconfig as the doctor does, and the context's namespace, which becomes the environment's and a part of API paths."""
    finding = look_at_kubeconfig(request, findings)
    config = connection({"kubeconfig": finding}).config
    if is_label(config.namespace):
        return finding
    connection({"kubeconfig": finding}).close()
    raise ClusterError(
        f"the context {request.context} of {config.fname} names the namespace {shorten(config.namespace)}, which {MEANING[LABEL][0]}",
        f"kubectl config set-context {shlex.quote(str(request.context))} --namespace=NAME",
    )


CHECKS = (
    Check("kubeconfig", _look_at_kubeconfig),
    Check("cluster", look_at_cluster, "check the network or VPN with `kubectl get --raw /readyz`", needs=CONNECTED[:1]),
    Check("identity", look_at_identity, needs=CONNECTED),
    Check("operators", look_at_operators, needs=CONNECTED),
    Check("nodes", _look_at_nodes, needs=CONNECTED),
    Check("storage_classes", _look_at_storage_classes, needs=CONNECTED),
    Check("queues", _look_at_queues, needs=CONNECTED),
    Check("local_queues", _look_at_local_queues, needs=CONNECTED),
)


def survey(context: str, root: Path, seconds: float = SECONDS) -> Survey:
    """Return the data of the context's cluster. Raises `ClusterError` if there is no connection; single lists that fail are in `unread`."""
    request = Request(root, _only_context(context), seconds)
    found = run_checks(CHECKS, request)
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
        uid=found["identity"].details.get("uid"),
        unread=tuple(f"{name.replace('_', ' ')} could not be read: {finding.text}" for name, finding in unread),
    )


def _only_context(context: str) -> Environment:
    """Return an environment with this context for the checks, which use nothing else of it."""
    return Environment(name="new", cluster=Cluster(context=context), namespace=Namespace(name="new"))


def _objects(findings: Findings, name: str) -> list[Any] | None:
    return findings[name].details.get("items")
