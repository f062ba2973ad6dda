"""An image by its digest is the same thing for ever; a tag is pinned to what the nodes have run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import experiment
from trainform.plan.images import digest_of, image_ids, pinned, without_digest
from trainform.plan.inputs import resolved

IMAGE, OTHER = "registry.example.com/ai/pytorch-training:2.8", "registry.example.com/ai/loader:1"
REPOSITORY = "registry.example.com/ai/pytorch-training"
DIGEST, SECOND = f"sha256:{'4f' * 32}", f"sha256:{'5a' * 32}"


def test_where_images_are_named_without_a_digest() -> None:
    made = experiment(
        prepare=[{"name": "load", "image": OTHER, "command": ["load"]}],
        roles={
            "worker": {
                "image": f"{IMAGE}@{DIGEST}",
                "pod_overrides": {"spec": {"containers": [{"name": "log", "image": OTHER}]}},
            }
        },
        env={"image": "no image"},
        labels={"image": "none"},
        environments={"prod": {"image": "other:1"}},
    )
    assert without_digest(resolved(made) | {"environments": made.environments}) == {
        "image": IMAGE,
        "prepare[0].image": OTHER,
        "roles.worker.pod_overrides.spec.containers[0].image": OTHER,
    }


@pytest.mark.parametrize("name", ["metadata", "env", "labels", "annotations", "environments", "image", "volumes"])
def test_a_container_or_a_role_may_have_the_name_of_a_field(name: str) -> None:
    containers = {name: {"image": OTHER, "env": {"image": {"value": "no image"}}}}
    made = experiment(
        roles={
            name: {"image": OTHER, "env": {"image": "no image"}},
            "worker": {"pod_overrides": {"spec": {"containers": containers}}},
        },
        manifest_overrides={"job": {"spec": {"tasks": {"worker": {"template": {"spec": {"containers": containers}}}}}}},
    )
    job = "manifest_overrides.job.spec.tasks.worker.template"
    assert without_digest(resolved(made)) == {
        "image": IMAGE,
        f"roles.{name}.image": OTHER,
        f"roles.worker.pod_overrides.spec.containers.{name}.image": OTHER,
        f"{job}.spec.containers.{name}.image": OTHER,
    }
    found = pinned(made, {OTHER: {f"registry.example.com/ai/loader@{SECOND}"}}, {})
    assert without_digest(resolved(found)) == {"image": IMAGE}


def test_a_tag_gets_the_digest_that_was_run_and_keeps_its_name() -> None:
    made = experiment(roles={"worker": {"init": [{"name": "load", "image": OTHER, "command": ["load"]}]}})
    ran = {
        IMAGE: {f"registry.example.com/ai/pytorch-training@{DIGEST}"},
        OTHER: {f"docker-pullable://registry.example.com/ai/loader@{SECOND}"},
    }
    found = pinned(made, ran, {})
    assert found.image == f"{IMAGE}@{DIGEST}"
    assert found.roles["worker"].init[0].image == f"{OTHER}@{SECOND}"
    assert without_digest(resolved(found)) == {}
    assert pinned(found, {f"{IMAGE}@{DIGEST}": {f"x@{SECOND}"}}, {}) == found, (
        "a digest that is written is what is meant"
    )


def test_what_was_run_under_the_name_that_the_environment_gives() -> None:
    mirrored = {"registry.example.com": "mirror.dev.example.com"}
    ran = {IMAGE.replace("registry", "mirror.dev", 1): {f"mirror.dev.example.com/ai/pytorch-training@{DIGEST}"}}
    assert pinned(experiment(), ran, mirrored).image == f"{IMAGE}@{DIGEST}"
    assert pinned(experiment(), ran, {}).image == IMAGE


@pytest.mark.parametrize(
    "ids",
    [
        set(),
        {f"sha256:{'4f' * 32}"},  # of an image that was loaded into the node, which no registry knows
        {f"{REPOSITORY}@{DIGEST}", f"{REPOSITORY}@{SECOND}"},
        {f"{REPOSITORY}@{DIGEST}", f"sha256:{'4f' * 32}"},
        {f"mirror.example.com/ai/pytorch-training@{DIGEST}"},  # where it may have another digest than here
        {f"{REPOSITORY}-nightly@{DIGEST}"},
        {f"{REPOSITORY}@{DIGEST}", f"mirror.example.com/ai/pytorch-training@{SECOND}"},
    ],
)
def test_what_says_no_digest_pins_nothing(ids: set[str]) -> None:
    assert pinned(experiment(), {IMAGE: ids}, {}).image == IMAGE


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:3.12", "docker.io/library/python"),
        ("docker.io/python:3.12", "docker.io/library/python"),
        ("pytorch/pytorch", "docker-pullable://pytorch/pytorch"),
        ("localhost:5000/ai/pytorch:2.8", "localhost:5000/ai/pytorch"),
    ],
)
def test_a_repository_has_several_spellings(name: str, said: str) -> None:
    assert pinned(experiment(image=name), {name: {f"{said}@{DIGEST}"}}, {}).image == f"{name}@{DIGEST}"


def test_what_the_nodes_say() -> None:
    def pod(**status: Any) -> dict[str, Any]:
        spec = {"containers": [{"name": "main", "image": IMAGE}], "initContainers": [{"name": "load", "image": OTHER}]}
        return {"spec": spec, "status": status}

    one = pod(
        containerStatuses=[{"name": "main", "image": "renamed:2.8", "imageID": f"x@{DIGEST}"}],
        initContainerStatuses=[{"name": "load", "imageID": f"y@{SECOND}"}],
    )
    waits = pod(containerStatuses=[{"name": "main", "imageID": ""}, {"name": "injected", "imageID": f"z@{SECOND}"}])
    assert image_ids([one, waits, pod(), {}]) == {IMAGE: {f"x@{DIGEST}"}, OTHER: {f"y@{SECOND}"}}


@pytest.mark.parametrize("name", [IMAGE, f"{IMAGE}@sha256:4f", f"{IMAGE}@{DIGEST}x", f"sha256:{'4f' * 32}"])
def test_what_is_no_digest(name: str) -> None:
    assert digest_of(name) is None
