"""Messages on objects of somebody else are in the words of these objects, not in those of an experiment."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from tests.policy_pack.judging import GOOD, found
from tests.support.samples import environment
from trainform.rules.limits.table import BY_CODE, RULES
from trainform.spec.experiment import Experiment
from trainform.spec.roles import Role

FIELDS = {*Experiment.model_fields, *Role.model_fields} - {
    "image",
    "queue",
    "labels",
    "annotations",
    "name",
    "resources",
}
PRICE = {"amount": 2.10, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}
A800 = {"resource": "nvidia.com/gpu", "per_node": 8, "nodes": 2, "price_per_hour": PRICE}
LIMITS: dict[str, Any] = {
    "registries": ["nowhere.example.com"],
    "severity": {rule.code: "error" for rule in RULES if not rule.fixed},
    "max_accelerators": 8,
    "shared_memory_share": 0.1,
    "max_cost_per_hour": {"amount": 1, "currency": "USD"},
    "max_run_time": "1h",
    "service_accounts": ["train"],
    "tolerations": [],
    "pod_security": "restricted",
}


def broken() -> dict[str, Any]:
    """A Job that breaks most rules."""
    asked = {"nvidia.com/gpu": 64, "example.com/fpga": 1}
    container = {"name": "main", "image": GOOD, "resources": {"limits": asked}, "securityContext": {"runAsUser": 0}}
    spec = {
        "containers": [container, {"name": "other", "image": GOOD}],
        "nodeName": "node-1",
        "priority": 7,
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "tolerations": [{"operator": "Exists"}],
        "resourceClaims": [{"name": "gpu"}],
        "restartPolicy": "Never",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"parallelism": 4, "template": {"spec": spec}},
    }


@pytest.mark.parametrize("admission", ["volcano", "kueue"])
def test_no_message_has_a_field_of_an_experiment(admission: str) -> None:
    queues = {"default": {"weight": 1}} if admission == "volcano" else {}
    cluster = environment(limits=LIMITS, accelerators={"a800": A800}, admission=admission, queues=queues)
    said = {code: found(code, broken(), cluster).found for code in BY_CODE}
    assert {code for code in said if said[code]} >= {
        "TF-RES-1", "TF-RES-2", "TF-RES-3", "TF-RES-4", "TF-RES-5", "TF-COST-1", "TF-PLC-1", "TF-PLC-2", "TF-PRI-1",
        "TF-ACC-1", "TF-RUN-1", "TF-RUN-2", "TF-POD-1",
    }  # fmt: skip
    for messages in said.values():
        for message in messages:
            quoted = {word for text in re.findall("`([^`]*)`", message) for word in re.findall(r"[A-Za-z_]+", text)}
            assert not quoted & FIELDS, message
            assert re.match(r"(spec|metadata)\b", message), message
            assert not re.search(r"\broles?\b|min_available|overrides", message), message


def test_the_label_of_kueue_is_asked_for_on_the_job() -> None:
    cluster = environment(admission="kueue", queues={})
    [message] = found("TF-PLC-2", broken(), cluster).found
    assert message.startswith("metadata.labels.kueue.x-k8s.io/queue-name: ")
    assert "of `jobTemplate` in a CronJob" in message
