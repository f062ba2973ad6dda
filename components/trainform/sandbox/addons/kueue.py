"""Kueue: admits Jobs, JobSets and TrainJobs that name a queue. It does not manage single pods."""

from __future__ import annotations

import base64
from typing import Any

from trainform.sandbox.addons.model import (
    AddOn,
    Manifest,
    Webhooks,
    config_file_arguments,
    configuration,
    health_port,
    webhooks_admit,
)
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.toolchain.addons import KUEUE as PART

NAME = "kueue-controller-manager"
HEALTH = health_port(NAME)
NAMESPACE = "kueue-system"
CERTIFICATES = "kueue-webhook-server-cert"
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
_PROBE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}


def _configuration(context: Context) -> dict[str, Any]:
    certificates = WebhookCertificates(context.layout.pki).folder
    return {
        **configuration("config.kueue.x-k8s.io/v1beta2", context, NAME, certificates),
        "namespace": NAMESPACE,
        "leaderElection": {"leaderElect": False},
        # If it is disabled, Kueue (0.19) reads files below /etc; if it is enabled, it uses the certificates of its
        # Secret.
        "internalCertManagement": {"enable": True, "webhookSecretName": CERTIFICATES},
        # Its API of pending workloads would listen on all interfaces, and would write certificates below the root
        # folder.
        "featureGates": {"VisibilityOnDemand": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }


def _objects(certificates: WebhookCertificates) -> dict[str, Manifest]:
    files = {
        "ca.crt": certificates.authority,
        "ca.key": certificates.authority_key,
        "tls.crt": certificates.server,
        "tls.key": certificates.server_key,
    }
    data = {name: base64.b64encode(path.read_bytes()).decode() for name, path in files.items()}
    namespace = f"/api/v1/namespaces/{NAMESPACE}"
    return {
        namespace: {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        f"{namespace}/secrets/{CERTIFICATES}": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": CERTIFICATES},
            "data": data,
        },
    }


KUEUE = AddOn(
    name="kueue",
    part=PART,
    component=Component(NAME, "kueue", LAST_WAVE, config_file_arguments("kueue"), NAME),
    ports=(NAME, HEALTH),
    needs=("kube-scheduler",),
    ready=webhooks_admit("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", _PROBE),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "kueue-mutating-webhook-configuration",
            "ValidatingWebhookConfiguration": "kueue-validating-webhook-configuration",
        },
        resources=frozenset(
            {"clusterqueues", "cohorts", "resourceflavors", "workloads", "jobs", "jobsets", "trainjobs"}
        ),
    ),
    configuration=_configuration,
    objects=_objects,
    # Kueue waits until it has set its certificate authority in the conversion of each of these CRDs.
    conversions=tuple(
        f"{plural}.kueue.x-k8s.io"
        for plural in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
    ),
)
