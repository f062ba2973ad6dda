"""Single objects of a live cluster as plain dicts, by way of the kubeconfig.

Everybody who may run jobs may not read everything: an object that must not be read counts as unknown, not as missing.
"""

from __future__ import annotations

import dataclasses
from http.client import FORBIDDEN
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from trainform.catalog import defaults
from trainform.cluster.connection import called, choose_config, connection_edge, no_way, shown_server
from trainform.errors import ClusterError

# Group, version and plural of the kinds that trainform reads. One class for each, made once: lightkube keeps a registry of them.
_GLOBAL = {
    "Namespace": ("", "v1", "namespaces"),
    "PriorityClass": ("scheduling.k8s.io", "v1", "priorityclasses"),
    "CustomResourceDefinition": ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "ClusterTrainingRuntime": ("trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes"),
    "Queue": ("scheduling.volcano.sh", "v1beta1", "queues"),
}
_NAMESPACED = {
    "PersistentVolumeClaim": ("", "v1", "persistentvolumeclaims"),
    "Service": ("", "v1", "services"),
    "ConfigMap": ("", "v1", "configmaps"),
    "Secret": ("", "v1", "secrets"),
    "ServiceAccount": ("", "v1", "serviceaccounts"),
    "Pod": ("", "v1", "pods"),
    "TrainingRuntime": ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes"),
    "LocalQueue": ("kueue.x-k8s.io", "v1beta2", "localqueues"),
}
_GLOBAL_RESOURCES = {
    kind: create_global_resource(group, version, kind, plural) for kind, (group, version, plural) in _GLOBAL.items()
}
_NAMESPACED_RESOURCES = {
    kind: create_namespaced_resource(group, version, kind, plural)
    for kind, (group, version, plural) in _NAMESPACED.items()
}


@dataclasses.dataclass(frozen=True)
class Found:
    """The answer to one read: the object, or None where there is none. `readable` is false where we may not know."""

    body: dict[str, Any] | None
    readable: bool = True

    @property
    def missing(self) -> bool:
        """Whether the object is certain not to be there."""
        return self.readable and self.body is None


class Cluster:
    """A connection by kubeconfig context; None takes the current one. Errors of the connection are `ClusterError`."""

    def __init__(self, context: str | None) -> None:
        self.context = context
        self.called = called(context)
        timeout = httpx2.Timeout(2.0 * defaults.CONNECT_SECONDS, connect=float(defaults.CONNECT_SECONDS))
        config = choose_config(context)
        try:
            self._client = Client(config=config, timeout=timeout)
        except Exception as error:  # certificates, addresses and types that lightkube and its transport refuse
            raise no_way(context, error) from None
        self.server = shown_server(config.cluster.server)

    def close(self) -> None:
        """End its connection."""
        self._client.close()

    def get(self, kind: str, name: str, namespace: str | None = None) -> Found:
        """One object; the namespace is that of kinds that live in one."""
        try:
            with connection_edge(self.context, self.server):
                if kind in _GLOBAL_RESOURCES:
                    return Found(dict(self._client.get(_GLOBAL_RESOURCES[kind], name)))
                return Found(dict(self._client.get(_NAMESPACED_RESOURCES[kind], name, namespace=namespace)))
        except ApiError as error:
            return Found(None, readable=error.response.status_code != FORBIDDEN)

    def find_all(self, kind: str, namespace: str, labels: dict[str, str]) -> list[dict[str, Any]]:
        """All objects of a kind in the namespace that have these labels."""
        resource = _NAMESPACED_RESOURCES[kind]
        try:
            with connection_edge(self.context, self.server):
                return [dict(item) for item in self._client.list(resource, namespace=namespace, labels={**labels})]
        except ApiError as error:
            if error.response.status_code != FORBIDDEN:
                return []
            raise ClusterError(
                f"{self.called} does not let you list the {_NAMESPACED[kind][2]} of the namespace {namespace}",
                "ask the platform team for the right",
            ) from None
