"""Volcano's admission webhooks as its Helm chart (1.14.1) registers them by default, but with an address on loopback.

The webhook manager does not create these configurations; it finds them by name and sets their CA.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.local.sandbox.api import Api
from trainform.local.sandbox.folder import encoded
from trainform.local.sandbox.ports import LOOPBACK

WEBHOOK_SECONDS = 30  # the maximum of Kubernetes: the machine may be busy
# As in the chart.
EXCLUDED_NAMESPACES = ["volcano-system", "kube-system"]


class Admission(Struct, frozen=True):
    """One path of the webhook manager and the requests that are sent to it."""

    path: str
    group: str
    version: str
    resource: str
    operations: tuple[str, ...]

    @property
    def name(self) -> str:
        return "volcano-admission-service" + self.path.replace("/", "-")

    @property
    def kind(self) -> str:
        return "MutatingWebhookConfiguration" if self.path.endswith("/mutate") else "ValidatingWebhookConfiguration"


_BATCH = ("batch.volcano.sh", "v1alpha1")
_SCHEDULING = ("scheduling.volcano.sh", "v1beta1")

ADMISSIONS = (
    Admission("/jobs/mutate", *_BATCH, "jobs", ("CREATE",)),
    Admission("/jobs/validate", *_BATCH, "jobs", ("CREATE", "UPDATE")),
    # CREATE only: for UPDATE it would deny the scheduler's own status updates, and jobs would stay Pending.
    Admission("/podgroups/validate", *_SCHEDULING, "podgroups", ("CREATE",)),
    Admission("/queues/mutate", *_SCHEDULING, "queues", ("CREATE",)),
    Admission("/queues/validate", *_SCHEDULING, "queues", ("CREATE", "UPDATE", "DELETE")),
    Admission("/hypernodes/validate", "topology.volcano.sh", "v1alpha1", "hypernodes", ("CREATE", "UPDATE")),
    Admission("/cronjobs/validate", *_BATCH, "cronjobs", ("CREATE", "UPDATE")),
)
ADMISSION_PATHS = tuple(admission.path for admission in ADMISSIONS)


def webhook_configuration(admission: Admission, port: int, authority: Path) -> dict[str, Any]:
    """Return the configuration that sends these requests to the webhook manager."""
    verb = admission.path.rsplit("/", 1)[1]
    excluded = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": EXCLUDED_NAMESPACES}
    webhook = {
        "name": f"{verb}{admission.resource.removesuffix('s')}.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(port, admission.path, authority),
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": WEBHOOK_SECONDS,
        "namespaceSelector": {"matchExpressions": [excluded]},
        "rules": [
            {
                "apiGroups": [admission.group],
                "apiVersions": [admission.version],
                "resources": [admission.resource],
                "operations": list(admission.operations),
                "scope": "*",
            }
        ],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": admission.kind,
        "metadata": {"name": admission.name},
        "webhooks": [webhook],
    }


def client_config(port: int, path: str, authority: Path) -> dict[str, str]:
    """Return the address of a webhook on loopback."""
    return {"url": f"https://{LOOPBACK}:{port}{path}", "caBundle": encoded(authority)}


def apply_configuration(api: Api, manifest: Mapping[str, Any]) -> None:
    """Register the webhooks of a configuration."""
    path = f"/apis/{manifest['apiVersion']}/{manifest['kind'].lower()}s"
    api.apply(f"{path}/{manifest['metadata']['name']}", manifest)
