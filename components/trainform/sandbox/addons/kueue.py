"""Kueue: admits Jobs, JobSets and TrainJobs that name a queue. Pods and everything made of single pods are left alone."""

from __future__ import annotations

import base64
from typing import Any

from trainform.sandbox.addons.model import AddOn, Manifest, Webhooks, admits, configuration, health, reads_file
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.toolchain.addons import KUEUE as PART

NAME = "kueue-controller-manager"
HEALTH = health(NAME)
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
        # Without it Kueue (0.19) wants files below /etc; with it it takes the certificates that it finds in its Secret.
        "internalCertManagement": {"enable": True, "webhookSecretName": CERTIFICATES},
        # It serves its API of pending workloads on all interfaces, and wants to write certificates below the root folder.
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
    component=Component(NAME, "kueue", LAST_WAVE, reads_file("kueue"), NAME),
    ports=(NAME, HEALTH),
    needs=("kube-scheduler",),
    ready=admits("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", _PROBE),
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
    # It waits until it has put its authority into the conversion of each of these.
    conversions=tuple(
        f"{plural}.kueue.x-k8s.io"
        for plural in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
    ),
)
