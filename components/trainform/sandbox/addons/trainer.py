"""Kubeflow Trainer (trainer.kubeflow.org/v1alpha1): TrainJobs from runtimes, run as JobSets."""

from __future__ import annotations

from typing import Any

from trainform.sandbox.addons.model import AddOn, Webhooks, admits, configuration, health, reads_file
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.toolchain.addons import TRAINER as PART

NAME = "trainer-controller-manager"
HEALTH = health(NAME)
# As its installation has it: who labels a runtime so wants no validation.
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
    # No option names the folder of its webhooks' certificates (2.3): it is looked for below the one for temporary files.
    return {"TMPDIR": str(context.layout.pki)}


def _configuration(context: Context) -> dict[str, Any]:
    own = {"certManagement": {"enable": False}}
    return configuration("config.trainer.kubeflow.org/v1alpha1", context, NAME) | own


TRAINER = AddOn(
    name="trainer",
    part=PART,
    component=Component(NAME, "trainer-controller-manager", LAST_WAVE, reads_file("trainer"), NAME, _environment),
    ports=(NAME, HEALTH),
    ready=admits("/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes", _PROBE),
    # It watches JobSets and ends where their CRD is not served.
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
