"""Single objects of a live cluster as plain dicts, by way of the kubeconfig.

Everybody who may run jobs may not read everything: an object that must not be read counts as unknown, not as missing.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import httpx2
from lightkube import ApiError, Client, KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.core.resource import NamespacedResource
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from trainform.catalog import defaults
from trainform.errors import ClusterError

# Kind -> plural and whether it lives in a namespace, for the kinds that trainform reads.
PLURALS = {
    "Namespace": ("namespaces", False),
    "PersistentVolumeClaim": ("persistentvolumeclaims", True),
    "Service": ("services", True),
    "ServiceAccount": ("serviceaccounts", True),
    "ConfigMap": ("configmaps", True),
    "PriorityClass": ("priorityclasses", False),
    "CustomResourceDefinition": ("customresourcedefinitions", False),
    "Queue": ("queues", False),
    "Job": ("jobs", True),
    "Node": ("nodes", False),
    "Pod": ("pods", True),
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
        self.called = (
            f"the cluster of context {context}" if context is not None else "the cluster of the current context"
        )
        timeout = httpx2.Timeout(2.0 * defaults.CONNECT_SECONDS, connect=float(defaults.CONNECT_SECONDS))
        try:
            config = KubeConfig.from_env().get(context)
            if config is None:
                raise ConfigError("there is no kubeconfig")
            self._client = Client(config=config, timeout=timeout)
        except (ConfigError, OSError, ValueError, KeyError) as error:
            raise ClusterError(
                f"no way to {self.called}: {' '.join(str(error).split())}",
                "set KUBECONFIG or `cluster.context` of the environment; known contexts: `kubectl config get-contexts`",
            ) from None
        self.server = config.cluster.server

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Found:
        """One object."""
        group, _, version = api_version.rpartition("/")
        plural, namespaced = PLURALS[kind]
        create = create_namespaced_resource if namespaced else create_global_resource
        resource = create(group, version, kind, plural)
        try:
            if issubclass(resource, NamespacedResource):
                return Found(dict(self._client.get(resource, name, namespace=namespace)))
            return Found(dict(self._client.get(resource, name)))
        except ApiError as error:
            if error.status.code == 404:
                return Found(None)
            if error.status.code == 403:
                return Found(None, readable=False)
            raise ClusterError(
                f"{self.called} ({self.server}) refuses: {error.status.message}",
                "check your credentials with `kubectl auth whoami`",
            ) from None
        except httpx2.HTTPError as error:
            raise ClusterError(
                f"cannot reach {self.called} ({self.server}): {error}",
                "check the network or VPN with `kubectl get --raw /readyz`; for a cluster on this machine: `trainform sandbox up`",
            ) from None
