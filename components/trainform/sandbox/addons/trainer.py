"""Kubeflow Trainer (trainer.kubeflow.org/v1alpha1): TrainJobs, which run as JobSets made from runtimes."""

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
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.toolchain.addons import TRAINER as PART

NAME = "trainer-controller-manager"
HEALTH = health_port(NAME)
# As in the project's installation: a runtime with this label is not validated.
_VALIDATED = {
    "matchExpressions": [
        {"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn", "values": ["disabled"]}
    ]
}
_NODE = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "probe"}]}}},
    },
}
_PROBE = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainingRuntime",
    "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [_NODE]}}},
}


def _environment(context: Context) -> dict[str, str]:
    # Trainer (2.3) has no option for the folder of its webhooks' certificates: it is looked for below the folder for
    # temporary files.
    return {"TMPDIR": str(context.layout.pki)}


def _configuration(context: Context) -> dict[str, Any]:
    own = {"certManagement": {"enable": False}}
    return configuration("config.trainer.kubeflow.org/v1alpha1", context, NAME) | own


TRAINER = AddOn(
    name="trainer",
    part=PART,
    component=Component(
        NAME, "trainer-controller-manager", LAST_WAVE, config_file_arguments("trainer"), NAME, _environment
    ),
    ports=(NAME, HEALTH),
    ready=webhooks_admit("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes", _PROBE),
    # Trainer watches JobSets, and ends if their CRD is not served.
    needs=("jobset",),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "defaulter.trainer.kubeflow.org",
            "ValidatingWebhookConfiguration": "validator.trainer.kubeflow.org",
        },
        resources=frozenset({"trainjobs", "trainingruntimes", "clustertrainingruntimes"}),
        selectors={
            "validator.clustertrainingruntime.trainer.kubeflow.org": _VALIDATED,
            "validator.trainingruntime.trainer.kubeflow.org": _VALIDATED,
        },
    ),
    configuration=_configuration,
)
