"""The installation of an add-on: its CRDs, the objects that it requires, and its webhooks.

CRDs and webhook rules come from the add-on's own module. Only the address of the webhooks differs: loopback instead of
a Service.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from trainform.sandbox.addons.model import AddOn, Webhooks, config_file
from trainform.sandbox.api import Api
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import Context, Program
from trainform.sandbox.folder import write_private
from trainform.sandbox.ports import LOOPBACK
from trainform.sandbox.waiting import Condition
from trainform.sandbox.webhooks import WEBHOOK_SECONDS
from trainform.toolchain.model import BuiltPart

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


class InstalledAddOn(Struct, frozen=True):
    """An add-on whose executable is built."""

    addon: AddOn
    part: BuiltPart

    @property
    def program(self) -> Program:
        """The add-on's component and its executable."""
        return Program(self.addon.component, self.part.binary(self.addon.component.binary))

    @property
    def crds(self) -> tuple[Path, ...]:
        """The files with its CRDs."""
        return self.part.files(f"{self.addon.name}-crds")

    @property
    def webhook_manifests(self) -> tuple[Path, ...]:
        """The files with its webhook configurations."""
        return self.part.files(f"{self.addon.name}-webhooks")

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
            api.merge(f"{_CRDS}/{name}", _conversion(port, certificates))
        if self.addon.webhooks is not None:
            for file in self.webhook_manifests:
                for manifest in webhook_configurations(self.addon.webhooks, file.read_text(), port, certificates):
                    kind, name = manifest["kind"].lower(), manifest["metadata"]["name"]
                    api.apply(f"{_ADMISSION}/{kind}s/{name}", manifest)

    def readiness(self, api: Api, ports: Mapping[str, int]) -> Condition:
        """Return the condition that is met when the add-on works."""
        addon = self.addon
        return Condition(f"the add-on {addon.name} answers", addon.component.name, lambda: addon.ready(api, ports))


def webhook_configurations(
    webhooks: Webhooks, manifests: str, port: int, certificates: WebhookCertificates
) -> Iterator[dict[str, Any]]:
    """Yield the configurations of a module's manifests with an address on loopback, without webhooks that the sandbox
    does not serve."""
    for document in yaml.safe_load_all(manifests):
        if document is None:
            continue
        served = [
            _on_loopback(webhook, webhooks, port, certificates)
            for webhook in document["webhooks"]
            if all(set(rule["resources"]) <= webhooks.resources for rule in webhook["rules"])
        ]
        yield {
            "apiVersion": document["apiVersion"],
            "kind": document["kind"],
            "metadata": {"name": webhooks.names[document["kind"]]},
            "webhooks": served,
        }


def _on_loopback(
    webhook: Mapping[str, Any], webhooks: Webhooks, port: int, certificates: WebhookCertificates
) -> dict[str, Any]:
    selector = webhooks.selectors.get(webhook["name"])
    return {
        **webhook,
        "clientConfig": _client(port, webhook["clientConfig"]["service"]["path"], certificates),
        "timeoutSeconds": WEBHOOK_SECONDS,
        **({} if selector is None else {"objectSelector": selector}),
    }


def _conversion(port: int, certificates: WebhookCertificates) -> dict[str, Any]:
    webhook = {"clientConfig": _client(port, "/convert", certificates), "conversionReviewVersions": ["v1"]}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def _client(port: int, path: str, certificates: WebhookCertificates) -> dict[str, str]:
    bundle = base64.b64encode(certificates.authority.read_bytes()).decode()
    return {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": bundle}
