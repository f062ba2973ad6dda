"""JobSet (jobset.x-k8s.io/v1alpha2), which Trainer uses: its controller and its webhooks."""

from __future__ import annotations

from typing import Any

from trainform.sandbox.addons.model import (
    AddOn,
    Webhooks,
    config_file_arguments,
    configuration,
    health_port,
    webhooks_admit,
)
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.toolchain.addons import TRAINER

NAME = "jobset-controller-manager"
HEALTH = health_port(NAME)
# The webhooks for pods are called for pods of JobSets only.
_PODS = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
_POD = {"spec": {"containers": [{"name": "probe", "image": "probe"}]}}
_PROBE = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "spec": {"replicatedJobs": [{"name": "probe", "template": {"spec": {"template": _POD}}}]},
}


def _configuration(context: Context) -> dict[str, Any]:
    certificates = WebhookCertificates(context.layout.pki).folder
    return {
        **configuration("config.jobset.x-k8s.io/v1alpha1", context, NAME, certificates),
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }


JOBSET = AddOn(
    name="jobset",
    part=TRAINER,
    component=Component(NAME, "jobset", LAST_WAVE, config_file_arguments("jobset"), NAME),
    ports=(NAME, HEALTH),
    needs=("kube-scheduler",),
    ready=webhooks_admit("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets", _PROBE),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "jobset-mutating-webhook-configuration",
            "ValidatingWebhookConfiguration": "jobset-validating-webhook-configuration",
        },
        resources=frozenset({"jobsets", "pods"}),
        selectors={"mpod.kb.io": _PODS, "vpod.kb.io": _PODS},
    ),
    configuration=_configuration,
)
