"""What an API server answers about a set of objects: discovery, single objects, and lists in pages with selectors."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.websites import Answer

# Kind: its name in paths, and whether its objects are in a namespace.
SERVED = {
    "v1": {
        "Pod": ("pods", True),
        "Node": ("nodes", False),
        "ConfigMap": ("configmaps", True),
        "Secret": ("secrets", True),
        "Service": ("services", True),
        "ResourceQuota": ("resourcequotas", True),
        "Namespace": ("namespaces", False),
        "PersistentVolumeClaim": ("persistentvolumeclaims", True),
        "Event": ("events", True),
    },
    "kueue.x-k8s.io/v1beta2": {
        "LocalQueue": ("localqueues", True),
        "ClusterQueue": ("clusterqueues", False),
        "Cohort": ("cohorts", False),
        "Workload": ("workloads", True),
    },
    "batch.volcano.sh/v1alpha1": {"Job": ("jobs", True)},
    "scheduling.volcano.sh/v1beta1": {"Queue": ("queues", False), "PodGroup": ("podgroups", True)},
}
_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?(?:/(?P<plural>[^/]+))?(?:/"
    r"(?P<name>[^/]+))?"
)
_IN = re.compile(r"([^,\s]+) in \(([^)]*)\)")


@dataclasses.dataclass
class ApiObjects:
    """The objects of a cluster. forbidden, slow: plurals that may not be read, or are answered late, in seconds; an
    object is PLURAL/NAME, the pods of all namespaces `*/pods`. asked: every path that was asked for. Dry runs are
    forbidden."""

    bodies: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    forbidden: frozenset[str] = frozenset()
    slow: dict[str, float] = dataclasses.field(default_factory=dict)
    asked: list[str] = dataclasses.field(default_factory=list)

    def __call__(self, path: str) -> Answer:
        self.asked.append(path)
        parts, query = urlsplit(path), {key: values[0] for key, values in parse_qs(urlsplit(path).query).items()}
        match = _PATH.fullmatch(unquote(parts.path))
        if match is None or match["version"] not in SERVED:
            return 404, "text/plain", b"404 page not found\n"
        if match["plural"] is None and match["namespace"] is None:
            return _json(200, _discovery(match["version"]))
        if "dryRun" in query:
            return _json(403, {"kind": "Status", "message": "no dry runs here"})
        plural, name, namespace = match["plural"], match["name"], match["namespace"]
        if plural is None:
            plural, name, namespace = "namespaces", namespace, None
        everywhere = f"*/{plural}" if namespace is None else plural
        names = {plural, everywhere, f"{plural}/{name}"}
        time.sleep(max([self.slow.get(each, 0.0) for each in names]))
        if names & self.forbidden:
            return _json(403, {"kind": "Status", "message": f"{plural} is forbidden"})
        found = [body for body in self.bodies if _is_of(body, match["version"], plural, namespace)]
        if name is None:
            return _json(200, _page([body for body in found if _selected(body, query)], query))
        one = next((body for body in found if body["metadata"]["name"] == name), None)
        return _json(404, {"kind": "Status", "message": f"{name} not found"}) if one is None else _json(200, one)


def _json(status: int, body: Any) -> Answer:
    return status, "application/json", json.dumps(body).encode()


def _discovery(version: str) -> dict[str, Any]:
    resources = [
        {"name": f"{plural}{part}", "namespaced": namespaced, "kind": kind}
        for kind, (plural, namespaced) in SERVED[version].items()
        for part in ("", "/status")
    ]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}


def _is_of(body: dict[str, Any], version: str, plural: str, namespace: str | None) -> bool:
    served = SERVED[version].get(body["kind"])
    in_place = namespace is None or body["metadata"].get("namespace") == namespace
    return body["apiVersion"] == version and served is not None and served[0] == plural and in_place


def _selected(body: dict[str, Any], query: dict[str, str]) -> bool:
    labels, selector = body["metadata"].get("labels", {}), query.get("labelSelector", "")
    for key, values in _IN.findall(selector):
        if labels.get(key) not in values.split(","):
            return False
    for requirement in filter(None, _IN.sub("", selector).split(",")):
        key, equals, value = requirement.partition("=")
        if key[1:] in labels if key[0] == "!" else (key not in labels or (equals and labels[key] != value)):
            return False
    fields = re.findall(r"([\w.]+?)(!?)=([\w.-]+)", query.get("fieldSelector", ""))
    return all((_field(body, path) == value) is (not_equal == "") for path, not_equal, value in fields)


def _field(body: Any, path: str) -> Any:
    """Return the value at the path of names."""
    for name in path.split("."):
        body = body.get(name, {}) if isinstance(body, dict) else {}
    return body


def _page(items: list[Any], query: dict[str, str]) -> dict[str, Any]:
    start, limit = int(query.get("continue", "0")), int(query.get("limit", str(len(items) or 1)))
    following = {"continue": str(start + limit)} if start + limit < len(items) else {}
    return {"items": items[start : start + limit], "metadata": following}
