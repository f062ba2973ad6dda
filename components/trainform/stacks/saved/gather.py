"""The present state, config, versions and cluster, which decide a `pulumi up`. The preview's steps cover the files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.cluster.api import ClusterApi
from trainform.cluster.identity import place
from trainform.console.secrets import masked, masked_line
from trainform.deployed.engine import exported
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping
from trainform.project import stack_path
from trainform.review.files import stack_files
from trainform.spec.environment import Environment
from trainform.spec.read import read_content
from trainform.spec.stack import KEYS, NAMESPACE, load_any_stack
from trainform.stacks.saved.file import keyed
from trainform.stacks.saved.pulumi_up import backend, engine_version
from trainform.stacks.saved.saved_review import FactKind

SECONDS = 10.0
SHOWN = tuple(f"{NAMESPACE}:{key}" for key in KEYS)
"""Keys of the config whose values are not secrets."""
SERVICES = "environment"
"""The part of a stack's file that takes values from Pulumi's service."""
PROVIDER_VARIABLES = ("PULUMI_K8S_", "PULUMI_KUBERNETES_")
HARMLESS_VARIABLES = ("PULUMI_K8S_CLIENT_", "PULUMI_K8S_SUPPRESS_", "PULUMI_K8S_HELM_")
"""Rates, warnings, and the folders of Helm."""
Facts = Mapping[FactKind, Any]


class Source(Struct, frozen=True):
    """The stack whose facts are gathered, and the key of their hashes."""

    stack: str
    root: Path
    key: bytes

    def hashes(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return a keyed hash for each value."""
        return {name: keyed(self.key, value) for name, value in values.items()}

    def hash_secrets(self, data: Any) -> Any:
        """Return the data with a keyed hash for each secret."""
        return self._hash_masked(data, masked(data))

    def _hash_masked(self, data: Any, shown: Any) -> Any:
        if isinstance(data, dict) and data.keys() == shown.keys():
            return {key: self._hash_masked(value, shown[key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self._hash_masked(*pair) for pair in zip(data, shown, strict=True)]
        return data if data == shown else keyed(self.key, data)


def gather(source: Source) -> dict[FactKind, Any]:
    """Return the facts. TrainformError if one of them cannot be read."""
    stack, root = source.stack, source.root
    environment = stack_files(load_any_stack(stack, root), root).environment
    with ThreadPoolExecutor(4) as pool:
        state = pool.submit(exported, stack, root)
        kept = pool.submit(backend, root)
        engine = pool.submit(engine_version, root)
        uid = None if environment is None else pool.submit(cluster_uid, environment)
        return {
            "backend": kept.result(),
            **({} if uid is None else {"cluster": uid.result()}),
            "versions": {"pulumi": engine.result(), "trainform": version("trainform")},
            "config": config_of(source),
            "variable": source.hashes(provider_variables(os.environ)),
            "state": state_of(state.result(), source),
        }


def cluster_uid(environment: Environment) -> str:
    """Return the UID of the environment's cluster. ClusterError if it cannot be read."""
    with contextlib.closing(ClusterApi(environment.cluster.context, SECONDS)) as api:
        uid = api.uid()
        if uid is None:
            reason = (
                f"this account may not read which cluster {place(api)} leads to, and a saved review is for one "
                "cluster alone"
            )
            raise ClusterError(reason, f"ask the platform team for `get` of the namespace {defaults.KUBE_SYSTEM}")
        return uid


def config_of(source: Source) -> dict[str, str]:
    """Return the config in the stack's file, without what says how its secrets are encrypted."""
    name = stack_path(source.stack.rpartition("/")[2])
    data = read_content(source.root / name, name).data if (source.root / name).is_file() else {}
    values = {**mapping(data.get("config")), **({SERVICES: data[SERVICES]} if SERVICES in data else {})}
    shown = {key: masked_line(str(values[key])) for key in SHOWN if isinstance(values.get(key), str | int)}
    return {**source.hashes(values), **shown}


def provider_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that change how Pulumi's Kubernetes provider writes and deletes objects, which no preview
    shows: with PULUMI_K8S_ENABLE_PATCH_FORCE it takes fields from other managers."""
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(PROVIDER_VARIABLES) and not name.startswith(HARMLESS_VARIABLES)
    }


def state_of(exported: Mapping[str, Any], source: Source) -> dict[str, str]:
    """Return the state of the stack, as `pulumi stack export` prints it."""
    deployment = mapping(exported.get("deployment"))
    hashes = source.hashes({
        "resources": deployment.get("resources"),
        "pending": deployment.get("pending_operations"),
    })  # fmt: skip
    return {"written": str(mapping(deployment.get("manifest")).get("time", "")), **hashes}
