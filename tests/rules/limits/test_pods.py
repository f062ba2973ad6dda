"""Runtime classes of pods, and fields that Kubernetes sets itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw


def test_runtime_classes() -> None:
    patch = {"spec": {"runtimeClassName": "kata"}}
    told = "the environment dev does not allow this runtime class (allowed: {})"
    for judge in (by_role, by_job):
        assert set(judge("TF-POD-4", limited(), patch).values()) == {told.format("none")}
        assert set(judge("TF-POD-4", limited(runtime_classes=["nvidia"]), patch).values()) == {told.format("nvidia")}
        assert judge("TF-POD-4", limited(runtime_classes=["kata"]), patch) == {}
    assert raw("TF-POD-4", limited(), {}, pod({"runtimeClassName": "kata"})).keys() == {"spec.runtimeClassName"}
    assert raw("TF-POD-4", limited(), {}, pod({"runtimeClassName": ""})) == {}
    assert found("TF-POD-4", limited()) == {}


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("spec", "ephemeralContainers", [{"name": "debug", "image": "python"}]),
        ("spec", "overhead", {"cpu": "1"}),
        ("spec", "schedulingGates", [{"name": "example.com/wait"}]),
        ("metadata", "finalizers", ["example.com/keep"]),
        ("metadata", "ownerReferences", [{"kind": "Pod", "name": "other"}]),
    ],
)
def test_fields_that_kubernetes_sets(part: str, field: str, value: Any) -> None:
    """A template of ours has no field for some of them, so that a patch is refused before the rule sees it."""
    if field in ("overhead", "schedulingGates"):
        for judge in (by_role, by_job):
            assert len(judge("TF-POD-5", limited(), {part: {field: value}})) == 1
            assert judge("TF-POD-5", limited(), {part: {field: type(value)()}}) == {}
    assert raw("TF-POD-5", limited(), {}, pod(**{"spec": {}, part: {field: value}})).keys() == {f"{part}.{field}"}
