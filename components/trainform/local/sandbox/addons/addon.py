"""An add-on and its installation: its CRDs, the objects that it requires, and its webhooks.

CRDs and webhook rules come from the add-on's own module; only the address of the webhooks is on loopback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import WebhookCertificates
from trainform.local.sandbox.components import Component, Context
from trainform.local.sandbox.folder import Layout, write_private
from trainform.local.sandbox.waiting import Condition
from trainform.local.sandbox.webhooks import WEBHOOK_SECONDS, apply_configuration, client_config
from trainform.local.toolchain.parts import Part
from trainform.local.toolchain.tools import BuiltPart

Manifest = Mapping[str, Any]

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Webhooks(Struct, frozen=True):
    """The webhooks of the module's manifests that are registered."""

    names: Mapping[str, str]  # kind -> name of the configuration in the project's own installation
    resources: frozenset[str]  # those whose webhooks the component serves
    selectors: Mapping[str, Manifest] = {}  # name of a webhook -> object selector that the project's installation adds


class AddOn(Struct, frozen=True):
    """One operator: its pins, the objects that it requires, its process, and its readiness."""

    name: str
    part: Part
    component: Component
    ports: tuple[str, ...]
    ready: Callable[[Api, Mapping[str, int]], bool]  # called until it returns true
    needs: tuple[str, ...] = ()  # add-ons that it depends on
    webhooks: Webhooks | None = None
    configuration: Callable[[Context], Manifest] | None = None  # the content of `config_file`
    # API path -> object that must exist before it starts
    objects: Callable[[WebhookCertificates], Mapping[str, Manifest]] = lambda certificates: {}
    conversions: tuple[str, ...] = ()  # CRDs with several versions, which it converts


class InstalledAddOn(Struct, frozen=True):
    """An add-on whose executable is built."""

    addon: AddOn
    part: BuiltPart

    @property
    def binary(self) -> Path:
        """Return the executable of its component."""
        return self.part.binary(self.addon.component.binary)

    @property
    def crds(self) -> tuple[Path, ...]:
        """Return the files with its CRDs."""
        return self.part.files(f"{self.addon.name}-crds")

    def configure(self, context: Context) -> None:
        """Write the configuration file that its arguments name, as JSON, which is also YAML."""
        if self.addon.configuration is not None:
            content = json.dumps(self.addon.configuration(context), indent=2)
            write_private(config_file(context.layout, self.addon.name), content.encode())

    def prepare(self, api: Api, ports: Mapping[str, int], certificates: WebhookCertificates) -> None:
        """Create the objects that the add-on requires, after its CRDs: its own objects, conversions, and webhooks."""
        for path, manifest in self.addon.objects(certificates).items():
            api.apply(path, manifest)
        port = ports[self.addon.ports[0]]
        for name in self.addon.conversions:
            webhook = {
                "clientConfig": client_config(port, "/convert", certificates.authority),
                "conversionReviewVersions": ["v1"],
            }
            api.merge(f"{_CRDS}/{name}", {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
        if self.addon.webhooks is not None:
            for file in self.part.files(f"{self.addon.name}-webhooks"):
                for manifest in webhook_configurations(self.addon.webhooks, file.read_text(), port, certificates):
                    apply_configuration(api, manifest)

    def readiness(self, api: Api, ports: Mapping[str, int]) -> Condition:
        """Return the condition that is met when the add-on works."""
        addon = self.addon
        return Condition(f"the add-on {addon.name} answers", addon.component.name, lambda: addon.ready(api, ports))


def config_file(layout: Layout, addon: str) -> Path:
    """Return the path of an add-on's configuration file."""
    return layout.config / f"{addon}.yaml"


def webhook_configurations(
    webhooks: Webhooks, manifests: str, port: int, certificates: WebhookCertificates
) -> Iterator[dict[str, Any]]:
    """Yield the module's configurations of webhooks that the sandbox serves, with addresses on loopback."""
    for document in filter(None, yaml.safe_load_all(manifests)):
        served = [
            _move_to_loopback(webhook, webhooks, port, certificates)
            for webhook in document["webhooks"]
            if all(set(rule["resources"]) <= webhooks.resources for rule in webhook["rules"])
        ]
        yield {
            "apiVersion": document["apiVersion"],
            "kind": document["kind"],
            "metadata": {"name": webhooks.names[document["kind"]]},
            "webhooks": served,
        }


def _move_to_loopback(
    webhook: Mapping[str, Any], webhooks: Webhooks, port: int, certificates: WebhookCertificates
) -> dict[str, Any]:
    selector = webhooks.selectors.get(webhook["name"])
    return {
        **webhook,
        "clientConfig": client_config(port, webhook["clientConfig"]["service"]["path"], certificates.authority),
        "timeoutSeconds": WEBHOOK_SECONDS,
        **({} if selector is None else {"objectSelector": selector}),
    }
