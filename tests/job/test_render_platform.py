"""The environment's own objects."""

from __future__ import annotations

import pytest

from tests.support.samples import environment, reasons
from trainform.errors import InputError
from trainform.job.render_platform import platform_manifests


def test_an_environment_without_objects() -> None:
    assert platform_manifests(environment(queues={})) == []


def test_everything_in_the_order_in_which_it_is_made() -> None:
    made = platform_manifests(
        environment(
            namespace={"name": "ai-namespace", "create": True},
            queues={
                "vision-night": {"parent": "vision"},
                "vision": {"parent": "research"},
                "research": {},
                "default": {"weight": 1, "capability": {"l40s": 8}},
            },
            priority_classes={
                "urgent": {"value": 1000, "description": "for demos"},
                "idle": {"value": -1, "preempt": False},
            },
            claims={"models": {"size": "1024Gi", "class": "fast", "keep": True}},
        )
    )
    assert [manifest.key for manifest in made] == [
        "namespace", "queue-research", "queue-default", "queue-vision", "queue-vision-night",
        "priority-class-urgent", "priority-class-idle", "claim-models",
    ]  # fmt: skip
    by_key = {manifest.key: manifest for manifest in made}
    assert by_key["queue-default"].patch, "Volcano makes it itself"
    assert by_key["queue-default"].body["spec"]["capability"] == {"nvidia.com/gpu": "8"}
    assert by_key["claim-models"].keep
    assert by_key["claim-models"].body["spec"]["resources"] == {"requests": {"storage": "1Ti"}}
    assert by_key["priority-class-idle"].body["preemptionPolicy"] == "Never"
    labels = {
        "app.kubernetes.io/managed-by": "trainform",
        "app.kubernetes.io/name": "dev",
        "trainform.dev/environment": "dev",
    }
    assert all(manifest.body["metadata"]["labels"] == labels for manifest in made)


def test_a_queue_that_is_there_already_is_not_made() -> None:
    queues = {"research": {"create": False, "capability": {"a800": 8}}, "research-nlp": {"parent": "research"}}
    assert [manifest.key for manifest in platform_manifests(environment(queues=queues))] == ["queue-research-nlp"]


def test_what_a_queue_that_is_there_can_hold_is_checked() -> None:
    held = environment(queues={"research": {"create": False, "capability": {"a800": 8}}})
    found = reasons(held, queue="research", roles={"node": {"replicas": 2, "accelerators": {"a800": 8}}})
    assert found == {"queue": "the queue has a capability of 8 a800, and the gang needs 16 at once"}


def test_problems_come_before_objects() -> None:
    with pytest.raises(InputError, match="the parent makes the queue its own ancestor"):
        platform_manifests(environment(queues={"vision": {"parent": "vision"}}))
