"""Labels and annotations by which others give pods more than their specs show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_role, found, limited, raw
from trainform.rules.limits.pod_rules import KEYS
from trainform.rules.limits.table import BY_CODE

TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"


@pytest.mark.parametrize("beginning", KEYS)
def test_every_key_wherever_it_stands(beginning: str) -> None:
    name = f"{beginning}more" if beginning.endswith(("/", ".")) else beginning
    name = f"sigs.example.com{name}" if name.startswith("/") else name
    for field in ("labels", "annotations"):
        metadata = {field: {name: "x"}}
        (reason,) = by_role("TF-POD-6", limited(), {"metadata": metadata}).values()
        assert reason.startswith("the key has an effect that no limit of the environment counts: ")
        assert by_role("TF-POD-6", limited(metadata_keys=[name]), {"metadata": metadata}) == {}
        found_in = raw("TF-POD-6", limited(), {"kind": "JobSet", "metadata": metadata})
        assert found_in.keys() == {f"metadata.{field}.{name}"}
    assert by_role("TF-POD-6", limited(), {"metadata": {"labels": {name: "false"}}}) == {}


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


def test_the_rule_says_that_its_list_is_not_all() -> None:
    assert BY_CODE["TF-POD-6"].title.endswith("others are not judged.")
