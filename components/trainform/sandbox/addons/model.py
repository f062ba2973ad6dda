"""What an add-on is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.sandbox.api import Api
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import Component, Context
from trainform.sandbox.folder import Layout
from trainform.sandbox.ports import LOOPBACK
from trainform.toolchain.parts import Part

Manifest = Mapping[str, Any]


class Webhooks(Struct, frozen=True):
    """Which webhooks of the module's manifests are registered, and how.

    `names`: kind -> name of the configuration in the project's own installation. `resources`: the resources whose
    webhooks the component serves. `selectors`: name of a webhook -> its object selector, where the project's
    installation adds one.
    """

    names: Mapping[str, str]
    resources: frozenset[str]
    selectors: Mapping[str, Manifest] = {}


def _no_objects(certificates: WebhookCertificates) -> dict[str, Manifest]:
    return {}


class AddOn(Struct, frozen=True):
    """One operator: what it is built from, the objects that it requires, its process, and when it is ready.

    `needs`: add-ons that it depends on. `configuration`: the content of `config_file`. `objects`: API path -> object
    that must exist before it starts. `conversions`: CRDs with several versions, which it converts. `ready` is called
    until it returns true.
    """

    name: str
    part: Part
    component: Component
    ports: tuple[str, ...]
    ready: Callable[[Api, Mapping[str, int]], bool]
    needs: tuple[str, ...] = ()
    webhooks: Webhooks | None = None
    configuration: Callable[[Context], Manifest] | None = None
    objects: Callable[[WebhookCertificates], Mapping[str, Manifest]] = _no_objects
    conversions: tuple[str, ...] = ()


def health_port(name: str) -> str:
    """Return the name of a component's port for health checks."""
    return f"{name}-health"


def configuration(api_version: str, context: Context, name: str, certificates: Path | None = None) -> dict[str, Any]:
    """Return the settings that all controllers with a configuration file share: health and webhooks on loopback, no
    metrics.

    `certificates`: the folder of the webhooks' certificates.
    """
    folder = {} if certificates is None else {"certDir": str(certificates)}
    return {
        "apiVersion": api_version,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{context.ports[health_port(name)]}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": LOOPBACK, "port": context.ports[name], **folder},
    }


def config_file_arguments(addon: str) -> Callable[[Context], list[str]]:
    """Return the function for the arguments of a controller that reads the add-on's configuration file."""
    return lambda context: [
        f"--config={config_file(context.layout, addon)}",
        f"--kubeconfig={context.layout.kubeconfig}",
    ]


def config_file(layout: Layout, addon: str) -> Path:
    """Return the path of an add-on's configuration file."""
    return layout.config / f"{addon}.yaml"


def webhooks_admit(path: str, manifest: Manifest) -> Callable[[Api, Mapping[str, int]], bool]:
    """Return a check that is true if the webhooks admit an object (a dry run: nothing is stored); `path` is that of its
    collection."""
    probe = {**manifest, "metadata": {"name": "trainform-probe"}}
    return lambda api, ports: bool(api.create(f"{path}?dryRun=All", probe)["metadata"]["name"])
