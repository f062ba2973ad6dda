"""What an environment forbids or cannot hold; a merge patch cannot get around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, reasons
from trainform.spec import Environment
from trainform.spec.names import qualified


def limited(**limits: Any) -> Environment:
    return environment(limits=limits)


def overridden(spec: dict[str, Any], cluster: Environment, **role: Any) -> dict[str, str]:
    return reasons(cluster, roles={"worker": {"replicas": 2, **role, "pod_overrides": {"spec": spec}}})


REGISTRIES = ["registry.example.com/ai", "localhost:5000"]


@pytest.mark.parametrize(
    ("reference", "allowed"),
    [
        ("registry.example.com/ai/pytorch-training:2.8", True),
        ("registry.example.com/ai/deep/er@sha256:" + "0" * 64, True),
        ("localhost:5000/pytorch", True),
        ("registry.example.com/other/pytorch", False),
        ("registry.example.com/ai-evil/pytorch", False),
        ("registry.example.com.evil.org/ai/pytorch", False),
        ("evil.org/registry.example.com/ai/pytorch", False),
        ("python:3.12", False),
        ("localhost/pytorch", False),
    ],
)
def test_registries(reference: str, allowed: bool) -> None:
    cluster = limited(registries=REGISTRIES)
    assert (reasons(cluster, image=reference) == {}) is allowed
    assert reasons(limited(), image=reference) == {}
    right = {"image": "localhost:5000/pytorch"}
    assert (reasons(cluster, **right, roles={"worker": {"image": reference}}) == {}) is allowed
    init = [{"name": "fetch", "image": reference, "command": ["fetch"]}]
    found = reasons(cluster, **right, roles={"worker": {"init": init}})
    assert found.keys() == (set() if allowed else {"roles.worker.init[0].image"})
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(cluster, **right, roles=patch)
    assert found.keys() == (set() if allowed else {"roles.worker.pod_overrides.spec.containers.main.image"})


@pytest.mark.parametrize("reference", ["change-me", "a.b/c/change-me:1", "localhost:5000/change-me@sha256:" + "0" * 64])
def test_the_placeholder_in_a_patch(reference: str) -> None:
    """As in the fields of the experiment, which the models refuse; also where the environment limits nothing."""
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", roles=patch)
    place = "roles.worker.pod_overrides.spec"
    assert found == {f"{place}.containers.main.image": "the image is the placeholder that `trainform new` writes"}
    init = {"worker": {"pod_overrides": {"spec": {"initContainers": [{"name": "data", "image": reference}]}}}}
    assert reasons(limited(), image="a.b/c:1", roles=init).keys() == {f"{place}.initContainers.data.image"}
    tasks = {"worker": {"template": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", manifest_overrides={"job": {"spec": {"tasks": tasks}}})
    assert set(found.values()) == {"the image is the placeholder that `trainform new` writes"}
    other = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": "change-me/app:1"}}}}}}
    assert reasons(limited(), image="a.b/c:1", roles=other) == {}


def test_an_image_is_reported_at_the_step_that_sets_it() -> None:
    """Steps of `prepare` and a role's own init containers stand in one list of the pod."""
    steps = [{"name": "code", "image": "localhost:5000/git", "command": ["true"], "roles": ["chief"]}]
    steps += [{"name": "warm-up", "image": "python:3.12", "command": ["true"]}]
    init = [{"name": "data", "image": "localhost:5000/data", "command": ["true"]}]
    init += [{"name": "fetch", "image": "busybox:1.37", "command": ["true"]}]
    roles = {"chief": {"replicas": 1}, "worker": {"replicas": 1, "init": init}}
    found = reasons(limited(registries=REGISTRIES), image="localhost:5000/pytorch", prepare=steps, roles=roles)
    assert found.keys() == {"prepare[1].image", "roles.worker.init[1].image"}


def test_each_wrong_image_is_reported_once() -> None:
    roles = {name: {"replicas": 1} for name in ("master", "worker", "chief")}
    assert reasons(limited(registries=REGISTRIES), image="python:3.12", roles=roles).keys() == {"image"}


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("ai/pytorch:2", "docker.io/ai/pytorch:2"),
        ("localhost/x", "localhost/x"),
        ("a:5000/x", "a:5000/x"),
        ("python:3.12", "docker.io/library/python:3.12"),
        ("docker.io/python:3.12", "docker.io/library/python:3.12"),
        ("docker.io/ai/pytorch", "docker.io/ai/pytorch"),
    ],
)
def test_qualified(reference: str, full: str) -> None:
    assert qualified(reference) == full


def test_digests() -> None:
    cluster = limited(severity={"TF-IMG-2": "error"})
    assert reasons(cluster) == {"image": "the image is not pinned by digest, which the environment requires"}
    assert reasons(cluster, image="python@sha256:" + "0" * 64) == {}


@pytest.mark.parametrize("value", [["hf_wJalrXUtnFEMI"], {"a": "hf_wJalrXUtnFEMI"}, 5, True])
def test_the_value_of_a_variable_in_a_patch_is_text(value: object) -> None:
    found = overridden({"containers": {"main": {"env": {"HF_TOKEN": {"value": value}}}}}, limited())
    assert list(found.values()) == ["it must be text"]
    assert "hf_" not in str(found)
