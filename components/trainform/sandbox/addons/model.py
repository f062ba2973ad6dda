"""What an add-on is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trainform.sandbox.api import Api
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import Component, Context
from trainform.sandbox.folder import Layout
from trainform.sandbox.ports import LOOPBACK
from trainform.toolchain.parts import Part

Manifest = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Webhooks:
    """Which of the webhooks that the module's manifests name are registered, and how.

    `names`: kind -> name of the configuration, as the project's own installation calls it. `resources`: those whose webhooks the
    component serves. `selectors`: name of a webhook -> objects that it is called for, where the installation adds that.
    """

    names: Mapping[str, str]
    resources: frozenset[str]
    selectors: Mapping[str, Manifest] = dataclasses.field(default_factory=dict)


def _no_objects(certificates: WebhookCertificates) -> dict[str, Manifest]:
    return {}


@dataclasses.dataclass(frozen=True)
class AddOn:
    """One operator: what it is built from, what the cluster must hold for it, the process, and when it is ready.

    `needs`: add-ons that come with it. `configuration`: content of `config_file`. `objects`: path in the API -> object that
    must be there before it starts. `conversions`: CRDs of which it serves several versions. `ready` is asked until it is true.
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


def health(name: str) -> str:
    """The name of the port where a component says that it lives."""
    return f"{name}-health"


def configuration(api_version: str, context: Context, name: str, certificates: Path | None = None) -> dict[str, Any]:
    """What the controllers that read a file call alike: health and webhooks on loopback, no metrics. `certificates`: folder of those that
    its webhooks show."""
    folder = {} if certificates is None else {"certDir": str(certificates)}
    return {
        "apiVersion": api_version,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{context.ports[health(name)]}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": LOOPBACK, "port": context.ports[name], **folder},
    }


def reads_file(addon: str) -> Callable[[Context], list[str]]:
    """The options of a controller whose settings are the add-on's `configuration`."""
    return lambda context: [
        f"--config={config_file(context.layout, addon)}",
        f"--kubeconfig={context.layout.kubeconfig}",
    ]


def config_file(layout: Layout, addon: str) -> Path:
    """Where the `configuration` of an add-on lies."""
    return layout.config / f"{addon}.yaml"


def admits(path: str, manifest: Manifest) -> Callable[[Api, Mapping[str, int]], bool]:
    """Whether an object gets through the webhooks (nothing is stored); `path` is that of its collection."""
    probe = {**manifest, "metadata": {"name": "trainform-probe"}}
    return lambda api, ports: bool(api.create(f"{path}?dryRun=All", probe)["metadata"]["name"])
