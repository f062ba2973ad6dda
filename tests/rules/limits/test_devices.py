"""Devices of the node that a container gets by a variable."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from trainform.backends.backend import BACKENDS
from trainform.rules.limits.pod_rules import NARROWING, NO_DEVICES, OTHERS

TOLD = "the variable gives the container accelerators of the node that it does not ask for, and that no limit counts"
ALL = "NVIDIA_VISIBLE_DEVICES"


def setting(value: Any, name: str = ALL, kind: str = "containers") -> dict[str, Any]:
    """A merge patch of pods with one more container."""
    container = {"name": "aside", "image": "python", "env": [{"name": name, "value": value}]}
    return {"spec": {kind: {"aside": container} if kind == "containers" else [container]}}


@pytest.mark.parametrize(
    "name",
    ["NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", *OTHERS, "ENFLAME_VISIBLE_DEVICES", "ASCEND_RT2_VISIBLE_DEVICES"],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_variables_in_patches(name: str, kind: str) -> None:
    for judge in (by_role, by_job):
        for value in ("all", "0,1", "GPU-8c5f"):
            assert set(judge("TF-RES-7", limited(), setting(value, name, kind)).values()) == {TOLD}
        for value in NO_DEVICES:
            assert judge("TF-RES-7", limited(), setting(value, name, kind)) == {}
    assert by_role("TF-RES-7", limited(), setting("all", "NVIDIA_DRIVER_CAPABILITIES")) == {}


@pytest.mark.parametrize("name", NARROWING)
def test_a_variable_that_only_narrows_is_allowed(name: str) -> None:
    for judge in (by_role, by_job):
        assert judge("TF-RES-7", limited(), setting("0,1", name)) == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_variables_by_fields(backend: str) -> None:
    roles: dict[str, Any] = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    parts = {"backend": backend, "roles": roles}
    assert found("TF-RES-7", limited(), env={ALL: "all"}, **parts) == {f"env.{ALL}": TOLD}
    of_role = {**roles, "worker": {"replicas": 2, "env": {ALL: "all"}}}
    assert found("TF-RES-7", limited(), backend=backend, roles=of_role) == {f"roles.worker.env.{ALL}": TOLD}
    for value in NO_DEVICES:
        assert found("TF-RES-7", limited(), env={ALL: value}, **parts) == {}


def test_variables_of_steps_are_refused_at_the_step() -> None:
    step = {"name": "fetch", "command": ["fetch"], "env": {ALL: "all"}}
    alone: dict[str, Any] = {
        "master": {"replicas": 1},
        "worker": {"replicas": 2, "init": [{**step, "name": "own", "env": {ALL: "0"}}]},
    }
    assert found("TF-RES-7", limited(), prepare=[step], roles=alone) == {
        f"prepare[0].env.{ALL}": TOLD,
        f"roles.worker.init[0].env.{ALL}": TOLD,
    }
    all_roles = found("TF-RES-7", limited(), prepare=[step], env={ALL: "none"}, roles={"worker": {"replicas": 2}})
    assert all_roles == {f"prepare[0].env.{ALL}": TOLD}


def test_a_value_from_elsewhere_may_be_any() -> None:
    source = {"config_map": {"name": "devices", "key": "all"}}
    assert found("TF-RES-7", limited(), env={ALL: source}) == {f"env.{ALL}": TOLD}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL, "valueFrom": {}}]}]})) != {}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL}]}]})) == {}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL, "value": 0}]}]})) != {}


def test_where_containers_may_be_privileged_they_have_all_devices_anyway() -> None:
    assert found("TF-RES-7", limited(pod_security="privileged"), env={ALL: "all"}) == {}


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (base64.b64encode(b"all").decode(), True),
        (base64.b64encode(b"0,1").decode(), True),
        ("all", True),
        (base64.b64encode(b"\xff").decode(), True),
        *((base64.b64encode(harmless.encode()).decode(), False) for harmless in NO_DEVICES),
    ],
)
def test_what_a_secret_holds_in_base64_is_judged(value: str, refused: bool) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "data": {ALL: value}}
    assert (raw("TF-RES-7", limited(), body) != {}) is refused


def test_a_patch_of_a_config_map_is_judged() -> None:
    patch = {"launch-script": {"data": {ALL: "all"}}}
    place = f"manifest_overrides.launch-script.data.{ALL}"
    assert found("TF-RES-7", limited(), manifest_overrides=patch).keys() == {place}
