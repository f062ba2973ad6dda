"""Labels and annotations by which others give pods more than their specs show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from trainform.rules.limits.keys import KEYS
from trainform.rules.limits.table import BY_CODE

TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def a_key(name: str) -> str:
    """A key that the row of this name has."""
    return f"{name}more" if name.endswith(("/", ".")) else f"sigs.example.com{name}" if name.startswith("/") else name


NAMES = [a_key(row.name) for row in KEYS]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_every_key_wherever_it_stands(name: str, field: str) -> None:
    patch = {"metadata": {field: {name: "x"}}}
    for judge in (by_role, by_job):
        (reason,) = judge("TF-POD-6", limited(), patch).values()
        assert reason.startswith("the key has an effect that no limit of the environment counts: ")
        assert judge("TF-POD-6", limited(metadata_keys=[name]), patch) == {}
    metadata = {field: {name: "x"}}
    assert raw("TF-POD-6", limited(), {"kind": "JobSet", "metadata": metadata}).keys() == {f"metadata.{field}.{name}"}
    assert raw("TF-POD-6", limited(), {}, pod({}, metadata)).keys() == {f"metadata.{field}.{name}"}
    assert raw("TF-POD-6", limited(metadata_keys=[name]), {"metadata": metadata}, pod({}, metadata)) == {}


@pytest.mark.parametrize("row", [row for row in KEYS if row.harmless], ids=lambda row: row.name)
def test_what_switches_it_off_is_allowed(row: Any) -> None:
    name = a_key(row.name)
    for value in row.harmless:
        assert by_role("TF-POD-6", limited(), {"metadata": {"labels": {name: value}}}) == {}
    assert by_role("TF-POD-6", limited(), {"metadata": {"labels": {name: "true"}}}) != {}


def test_keys_by_fields() -> None:
    topology = {TOPOLOGY: "rack"}
    parts: dict[str, Any] = {"backend": "jobset"}
    assert found("TF-POD-6", limited(), annotations=topology, **parts).keys() == {f"annotations.{TOPOLOGY}"}
    assert found("TF-POD-6", limited(), labels={"sidecar.istio.io/inject": "true"}).keys() == {
        "labels.sidecar.istio.io/inject"
    }
    roles = {"worker": {"labels": {"sidecar.istio.io/inject": "true"}}}
    assert found("TF-POD-6", limited(), roles=roles).keys() == {"roles.worker.labels.sidecar.istio.io/inject"}
    assert found("TF-POD-6", limited(), annotations={"example.com/team": "vision"}) == {}


def test_metadata_between_an_object_and_its_pods() -> None:
    """JobSet reads the annotation of a replicated job too."""
    job = {"name": "worker", "template": {"metadata": {"annotations": {TOPOLOGY: "rack"}}}}
    body = {"kind": "JobSet", "metadata": {}, "spec": {"replicatedJobs": [job]}}
    where = f"spec.replicatedJobs.worker.template.metadata.annotations.{TOPOLOGY}"
    assert raw("TF-POD-6", limited(), body).keys() == {where}


@pytest.mark.parametrize(
    "key", ["devices.nri.io", "devices.nri.io/pod", "cdi-devices.nri.io/container.main", "mounts.nri.io/container.main"]
)
def test_devices_that_a_plugin_of_the_runtime_gives_are_refused(key: str) -> None:
    assert found("TF-POD-6", limited(), annotations={key: "- path: /dev/sda"}).keys() == {f"annotations.{key}"}


@pytest.mark.parametrize("key", [
    "kuma.io/sidecar-injection", "kuma.io/container-patches", "consul.hashicorp.com/connect-inject", "consul.hashicorp.com/envoy-extra-args",
    "iam.amazonaws.com/role", "gke-gcsfuse/volumes", "gke-gcsfuse/memory-limit", "ulimits.nri.containerd.io/container.main",
    "cpu-quota.crio.io", "cpu-quota.crio.io/main", "irq-load-balancing.crio.io", "irq-load-balancing.crio.io/main",
])  # fmt: skip
def test_what_webhooks_agents_and_runtimes_do_at_a_key_is_refused(key: str) -> None:
    assert found("TF-POD-6", limited(), annotations={key: "true"}).keys() == {f"annotations.{key}"}


def test_the_rule_says_that_its_list_is_not_all() -> None:
    assert BY_CODE["TF-POD-6"].title.endswith("others are not judged.")
