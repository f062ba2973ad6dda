"""What an add-on is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from trainform.sandbox.api import Api
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import Component, Context
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

    `needs`: add-ons that come with it. `configuration`: content of the file `config_file`. `objects`: path in the API -> object that
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


def admits(path: str, manifest: Manifest) -> Callable[[Api, Mapping[str, int]], bool]:
    """Whether an object gets through the webhooks (nothing is stored); `path` is that of its collection."""
    probe = {**manifest, "metadata": {"name": "trainform-probe"}}
    return lambda api, ports: bool(api.create(f"{path}?dryRun=All", probe)["metadata"]["name"])
