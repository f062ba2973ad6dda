"""The training operator (kubeflow.org/v1): PyTorchJob, TFJob and MPIJob with gang scheduling by Volcano."""

from __future__ import annotations

from trainform.sandbox.addons.model import AddOn, Webhooks, health_port, webhooks_admit
from trainform.sandbox.certificates import WebhookCertificates
from trainform.sandbox.components import LAST_WAVE, Component, Context
from trainform.sandbox.ports import LOOPBACK
from trainform.toolchain.addons import TRAINING_OPERATOR

NAME = "training-operator"
HEALTH = health_port(NAME)
# TFJob last: MPIJob has no webhook (1.9), and when the webhook of the last kind answers, all answer.
KINDS = ("mpijob", "pytorchjob", "tfjob")
_CONTAINER = {"name": "tensorflow", "image": "probe"}
_PROBE = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [_CONTAINER]}}}}},
}


def _arguments(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", f"--host={LOOPBACK}"]
    arguments += [f"--webhook-server-port={context.ports[NAME]}"]
    arguments += [f"--cert-dir={WebhookCertificates(context.layout.pki).folder}"]
    arguments += [f"--health-probe-bind-address={LOOPBACK}:{context.ports[HEALTH]}"]
    return [*arguments, *(f"--enable-scheme={kind}" for kind in KINDS)]


KUBEFLOW = AddOn(
    name="kubeflow",
    part=TRAINING_OPERATOR,
    component=Component(NAME, "training-operator", LAST_WAVE, _arguments, NAME),
    ports=(NAME, HEALTH),
    ready=webhooks_admit("/apis/kubeflow.org/v1/namespaces/default/tfjobs", _PROBE),
    webhooks=Webhooks(
        names={"ValidatingWebhookConfiguration": "validator.training-operator.kubeflow.org"},
        resources=frozenset({"pytorchjobs", "tfjobs"}),
    ),
)
