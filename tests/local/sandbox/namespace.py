"""A namespace in the sandbox with all add-ons, and the manifests that the tests create in it."""

from __future__ import annotations

from typing import Any

from tests.local.sandbox.conftest import until
from trainform.local.sandbox.api import Api

Manifest = dict[str, Any]


class Namespace:
    """A namespace, with short methods for the requests of the tests."""

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.name = name

    def path(self, group: str, plural: str, name: str = "") -> str:
        base = f"/{'api/v1' if group == 'v1' else f'apis/{group}'}/namespaces/{self.name}/{plural}"
        return f"{base}/{name}" if name else base

    def create(self, group: str, plural: str, manifest: Manifest) -> Manifest:
        return self.api.create(self.path(group, plural), {"apiVersion": group, **manifest})

    def get(self, group: str, plural: str, name: str) -> Manifest:
        return self.api.get(self.path(group, plural, name))

    def pods(self, label: str, name: str) -> list[Manifest]:
        found: list[Manifest] = self.api.get(f"{self.path('v1', 'pods')}?labelSelector={label}={name}")["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def running(self, label: str, name: str, count: int) -> list[Manifest]:
        until(lambda: [pod["status"].get("phase") for pod in self.pods(label, name)] == ["Running"] * count, 60)
        return self.pods(label, name)


def template(container: str, **spec: object) -> Manifest:
    """A pod of one container."""
    resources = {"limits": {"cpu": "4", "memory": "8Gi"}}
    image = "registry.example.com/ai/pytorch:2.3"
    return {"spec": {"containers": [{"name": container, "image": image, "resources": resources}], **spec}}


def roles_of(container: str, **counts: int) -> Manifest:
    """Return replica specs by role name, each with its number of pods."""
    return {role: {"replicas": count, "template": template(container)} for role, count in counts.items()}
