"""Single objects of a live cluster as dicts, read with the kubeconfig's credentials.

A user who may run jobs may not be allowed to read everything: an object without permission is unknown, not missing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from http.client import FORBIDDEN
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from msgspec import Struct

from trainform import defaults
from trainform.backends.queues import API_VERSION as QUEUE_API
from trainform.cluster.api import ClusterApi
from trainform.cluster.connection import (
    choose_config,
    cluster_name,
    shown_server,
    translate_connection_errors,
    unusable_kubeconfig,
)
from trainform.cluster.impersonation import impersonate
from trainform.errors import ClusterError

# Group, version and plural of the kinds that trainform reads. Their classes are made once, since lightkube registers
# each of them.
_GLOBAL = {
    "Namespace": ("", "v1", "namespaces"),
    "PriorityClass": ("scheduling.k8s.io", "v1", "priorityclasses"),
    "RuntimeClass": ("node.k8s.io", "v1", "runtimeclasses"),
    "CustomResourceDefinition": ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "Queue": (*QUEUE_API.split("/"), "queues"),
}
_NAMESPACED = {
    "PersistentVolumeClaim": ("", "v1", "persistentvolumeclaims"),
    "Service": ("", "v1", "services"),
    "ConfigMap": ("", "v1", "configmaps"),
    "Secret": ("", "v1", "secrets"),
    "ServiceAccount": ("", "v1", "serviceaccounts"),
    "Pod": ("", "v1", "pods"),
    "LocalQueue": ("kueue.x-k8s.io", "v1beta2", "localqueues"),
}
_GLOBAL_RESOURCES = {
    kind: create_global_resource(group, version, kind, plural) for kind, (group, version, plural) in _GLOBAL.items()
}
_NAMESPACED_RESOURCES = {
    kind: create_namespaced_resource(group, version, kind, plural)
    for kind, (group, version, plural) in _NAMESPACED.items()
}
_custom_global = functools.cache(create_global_resource)
_custom_namespaced = functools.cache(create_namespaced_resource)


class Found(Struct, frozen=True):
    """The result of one read: the object, or None. `readable` is False if this account has no permission to read it."""

    body: dict[str, Any] | None
    readable: bool = True

    @property
    def missing(self) -> bool:
        """True if the object certainly does not exist."""
        return self.readable and self.body is None


class Cluster:
    """A connection to the cluster of a kubeconfig context (None: the current one). Its methods raise `ClusterError`."""

    def __init__(self, context: str | None) -> None:
        self.context = context
        self.cluster_name = cluster_name(context)
        timeout = httpx2.Timeout(2.0 * defaults.CONNECT_SECONDS, connect=float(defaults.CONNECT_SECONDS))
        self.config = choose_config(context)
        try:
            self._client = Client(config=self.config, timeout=timeout)
            impersonate(self._client._client._client, self.config)  # lightkube has no option for headers
        except Exception as error:  # many kinds, for certificates, URLs and types
            raise unusable_kubeconfig(context, error) from None
        self.server = shown_server(self.config.cluster.server)
        self.api = ClusterApi(context, None, (self.config, self._client._client._client))
        """Plain requests over the same connections, which may be sent in threads."""

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def uid(self) -> str | None:
        """The UID of the namespace kube-system; None if this account has no permission to read it."""
        found = self.get("Namespace", defaults.KUBE_SYSTEM)
        return None if found.body is None else str(found.body["metadata"]["uid"])

    def get(self, kind: str, name: str, namespace: str | None = None) -> Found:
        """One object; the namespace is that of kinds that live in one."""
        if kind in _GLOBAL_RESOURCES:
            return self._found(lambda: self._client.get(_GLOBAL_RESOURCES[kind], name))
        return self._found(lambda: self._client.get(_NAMESPACED_RESOURCES[kind], name, namespace=namespace))

    def path(self, kind: str, name: str, namespace: str | None = None) -> str:
        """The path of an object in the API."""
        group, version, plural = _GLOBAL[kind] if kind in _GLOBAL else _NAMESPACED[kind]
        base = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return f"{base}/{plural}/{name}" if namespace is None else f"{base}/namespaces/{namespace}/{plural}/{name}"

    def get_custom(self, api_version: str, kind: str, plural: str, name: str, namespace: str | None) -> Found:
        """One object of a kind that only a backend knows; namespace: None for a kind of the whole cluster."""
        group, _, version = api_version.partition("/")
        if namespace is None:
            return self._found(lambda: self._client.get(_custom_global(group, version, kind, plural), name))
        resource = _custom_namespaced(group, version, kind, plural)
        return self._found(lambda: self._client.get(resource, name, namespace=namespace))

    def _found(self, read: Callable[[], Mapping[str, Any]]) -> Found:
        try:
            with translate_connection_errors(self.context, self.server):
                return Found(dict(read()))
        except ApiError as error:
            return Found(None, readable=error.response.status_code != FORBIDDEN)

    def find_all(self, kind: str, namespace: str, labels: dict[str, str]) -> list[dict[str, Any]]:
        """Return all objects of a kind in a namespace with these labels. Raises `ClusterError` without permission."""
        resource = _NAMESPACED_RESOURCES[kind]
        try:
            with translate_connection_errors(self.context, self.server):
                return [dict(item) for item in self._client.list(resource, namespace=namespace, labels={**labels})]
        except ApiError as error:
            if error.response.status_code != FORBIDDEN:
                return []
            raise ClusterError(
                f"{self.cluster_name} does not let you list the {_NAMESPACED[kind][2]} of the namespace {namespace}",
                "ask the platform team for the permission",
            ) from None
