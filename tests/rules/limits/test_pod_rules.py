"""Runtime classes of pods."""

from __future__ import annotations

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from trainform.rules.limits.pod_rules import NO_REFERENCE, is_reference


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


HEX = "0123456789abcdef" * 4
LIMITED = limited(registries=["registry.example.com"])


@pytest.mark.parametrize(
    "reference",
    [
        "python",
        "python:3.12",
        "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime",
        "registry.example.com/app",
        "registry.example.com:5000/ai/app:1",
        "localhost/app",
        "localhost:5000/app:1",
        "[2001:db8::1]:5000/app",
        "a--b/c__d/e.f:1",
        f"registry.example.com/app@sha256:{HEX}",
        f"registry.example.com/app:2.8@sha256:{HEX}",
        f"app@sha512:{HEX}{HEX}",
        "Registry.Example.com/app:V1_2.3-4",
        "app:" + "a" * 128,
        "registry.example.com/" + "a" * 255,
    ],
)
def test_what_a_container_runtime_takes(reference: str) -> None:
    assert is_reference(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        " ",
        "None",
        "registry.example.com/../x",
        "registry.example.com/./x",
        "registry.example.com//x",
        "registry.example.com/x/",
        "/x",
        "registry.example.com/",
        "registry.example.com/X",
        "registry.example.com/x:",
        "registry.example.com/x:a b",
        "registry.example.com/x:.a",
        "registry.example.com/x:1:2",
        "registry.example.com:x/y",
        "registry.example.com/x_-y",
        "registry.example.com/-x",
        "registry.example.com/a___b",
        "registry.example.com/x@",
        "registry.example.com/x@sha256:short",
        "registry.example.com/x@latest",
        "https://registry.example.com/x",
        "user:word@registry.example.com/x",
        "registry.example.com/x?y",
        "registry.example.com/x\n",
        "$(IMAGE)",
        "-registry.example.com/x",
        "registry..example.com/x",
        "registry_a.example.com/x",
        "app:" + "a" * 129,
        "registry.example.com/%2e%2e/x",
        "registry.example.com\\x",
        "reg\u0456stry.example.com/x",
    ],
)
def test_what_a_container_runtime_refuses(reference: str) -> None:
    assert not is_reference(reference)
    found = raw("TF-IMG-1", LIMITED, {}, pod({"containers": [{"name": "main", "image": reference}]}))
    assert found == {"spec.containers.main.image": NO_REFERENCE[0]}


def test_a_way_out_of_a_registry_is_refused() -> None:
    patch = {"spec": {"containers": {"log": {"image": "registry.example.com/ai/../../x"}}}}
    limits = limited(registries=["registry.example.com/ai"])
    for judge in (by_role, by_job):
        assert NO_REFERENCE[0] in judge("TF-IMG-1", limits, patch).values()


def test_the_image_of_a_step() -> None:
    step = {"name": "data", "image": "docker.io/library/python:3.12", "command": ["true"]}
    roles = {"worker": {"replicas": 2, "init": [step]}}
    told = found("TF-IMG-1", LIMITED, image="registry.example.com/ai/train:1.0", roles=roles)
    assert told.keys() == {"roles.worker.init[0].image"}


def test_a_digest_is_a_whole_one() -> None:
    def told(image: str) -> bool:
        return bool(raw("TF-IMG-2", limited(), {}, pod({"containers": [{"name": "main", "image": image}]})))

    assert not told(f"registry.example.com/x@sha256:{HEX}")
    assert told("registry.example.com/x@sha256:short")
    assert told(f"registry.example.com/x@sha256:{HEX}/y")
