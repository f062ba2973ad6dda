"""Single objects of a live cluster as plain dicts, by way of the kubeconfig.

Everybody who may run jobs may not read everything: an object that must not be read counts as unknown, not as missing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from http.client import FORBIDDEN, NOT_FOUND
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lightkube import ApiError, Client, KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from trainform.catalog import defaults
from trainform.errors import ClusterError, InputError
from trainform.spec.files import read_text
from trainform.spec.read import syntax_problem

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


def _kubeconfig(context: str | None) -> KubeConfig:
    """The configuration that kubectl and Pulumi would take: the first file of KUBECONFIG that has the context, or
    ~/.kube/config; inside a cluster without either, the pod's service account (lightkube by itself would ask that one first)."""
    listed = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    files = [path for path in (listed if listed else [Path.home() / ".kube" / "config"]) if path.exists()]
    if not files:
        if not listed and "KUBERNETES_SERVICE_HOST" in os.environ:
            return KubeConfig.from_service_account()
        places = ", ".join(map(str, listed)) if listed else "~/.kube/config"
        raise ConfigError(f"there is no kubeconfig at {places}")
    configs = [_read(path) for path in files]
    fitting = (
        config for config in configs if (config.current_context if context is None else context in config.contexts)
    )
    return next(fitting, configs[0])


def _read(path: Path) -> KubeConfig:
    """The configuration in the file; ConfigError where it holds none."""
    try:
        return KubeConfig.from_dict(yaml.safe_load(read_text(path, str(path), defaults.LARGEST_KUBECONFIG)), path)
    except InputError as error:
        raise ConfigError(f"{path} {error.problems[0].reason}") from None
    except yaml.YAMLError as error:
        problem = syntax_problem(error, str(path))
        raise ConfigError(f"{path}:{problem.line} {problem.reason}") from None
    except Exception as error:  # whatever PyYAML and lightkube run into in a file of somebody else's
        raise ConfigError(f"{path} is not a kubeconfig that can be read ({type(error).__name__}: {error})") from None


class Cluster:
    """A connection by kubeconfig context; None takes the current one. Errors of the connection are `ClusterError`."""

    def __init__(self, context: str | None) -> None:
        self.context = context
        self.called = (
            f"the cluster of context {context}" if context is not None else "the cluster of the current context"
        )
        timeout = httpx2.Timeout(2.0 * defaults.CONNECT_SECONDS, connect=float(defaults.CONNECT_SECONDS))
        try:
            config = _kubeconfig(context).get(context)
            if config is None:
                raise ConfigError("the kubeconfig has no current context")
            self._client = Client(config=config, timeout=timeout)
        except (
            Exception
        ) as error:  # certificates, addresses and types that lightkube and its transport refuse, each in its own way
            raise ClusterError(
                f"no way to {self.called}: {' '.join(str(error).split())}",
                "set KUBECONFIG or `cluster.context` of the environment; known contexts: `kubectl config get-contexts`",
            ) from None
        self.server = config.cluster.server

    def get(self, kind: str, name: str, namespace: str | None = None) -> Found:
        """One object; the namespace is that of kinds that live in one."""
        try:
            with self._telling():
                if kind in _GLOBAL_RESOURCES:
                    return Found(dict(self._client.get(_GLOBAL_RESOURCES[kind], name)))
                return Found(dict(self._client.get(_NAMESPACED_RESOURCES[kind], name, namespace=namespace)))
        except ApiError as error:
            return Found(None, readable=error.status.code != FORBIDDEN)

    def find_all(self, kind: str, namespace: str, labels: dict[str, str]) -> list[dict[str, Any]]:
        """All objects of a kind in the namespace that have these labels."""
        with self._telling():
            return [
                dict(item)
                for item in self._client.list(_NAMESPACED_RESOURCES[kind], namespace=namespace, labels={**labels})
            ]

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Trouble with the connection or the credentials as `ClusterError`; "not found" and "forbidden" are answers and pass."""
        try:
            yield
        except ApiError as error:
            if error.status.code in (NOT_FOUND, FORBIDDEN):
                raise
            raise ClusterError(
                f"{self.called} ({self.server}) refuses: {error.status.message}",
                "check your credentials with `kubectl auth whoami`",
            ) from None
        except httpx2.HTTPError as error:
            raise ClusterError(
                f"cannot reach {self.called} ({self.server}): {error}",
                "check the network or VPN with `kubectl get --raw /readyz`; for a cluster on this machine: `trainform sandbox up`",
            ) from None
