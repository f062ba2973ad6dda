"""Runtime classes of pods."""

from __future__ import annotations

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
