"""What the picture has of a job, and what it marks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import ELASTIC, LORA, change
from tests.support.samples import CLUSTER, fitting
from trainform.backends.backend import BACKENDS
from trainform.review.model import Picture
from trainform.review.picture import pictures
from trainform.spec.environment import Environment

WORKER = LORA["roles"]["worker"]
NEW = "registry.example.com/ai/pytorch-training:2.9"
CLAIM = "claim/sdxl-lora-checkpoints"


def of_change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Picture:
    """The picture of a preview of one job."""
    [picture] = pictures(change(before, after, environment=Environment.model_validate(CLUSTER)))
    return picture


def facts(picture: Picture, key: str) -> dict[str, tuple[str | None, str | None]]:
    [found] = [node for node in picture.nodes if node.id == key]
    return {fact.label: (fact.before, fact.after) for fact in found.facts}


def marks(picture: Picture) -> dict[str, str]:
    return {node.id: node.change for node in picture.nodes}


def test_nothing_changes_and_nothing_is_drawn() -> None:
    assert pictures(change(LORA, LORA)) == []


def test_a_new_image_starts_the_roles_again_and_leaves_the_claim() -> None:
    picture = of_change(LORA, {**LORA, "image": NEW})
    assert marks(picture) == {
        "job/": "restarted",
        "queue/default": "same",
        "role/worker": "restarted",
        CLAIM: "same",
    }
    assert facts(picture, "role/worker") == {
        "pods": ("4", "4"),
        "each": ("8 a800", "8 a800"),
        "image": (LORA["image"], NEW),
    }
    before, after = facts(picture, "job/")["object"]
    assert before != after
    assert facts(picture, CLAIM) == {"size": ("2Ti", "2Ti"), "kept": ("yes", "yes")}
    uses = {(edge.start, edge.end, edge.label) for edge in picture.edges}
    assert {("queue/default", "job/", ""), ("role/worker", CLAIM, "/mnt/output")} <= uses


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pods_of_every_operator(backend: str) -> None:
    roles = {
        "master": {"replicas": 1, "accelerators": {"a800": 8}},
        "worker": {"replicas": 3, "accelerators": {"a800": 8}},
    }
    data = {**LORA, "launcher": {"torchrun": {"script": "/app/train.py"}}, "backend": backend}
    data["roles"] = fitting(backend, roles)
    picture = of_change(data, {**data, "image": NEW})
    pods = [fact.after for node in picture.nodes if node.kind == "role" for fact in node.facts if fact.label == "pods"]
    assert pods == [str(role["replicas"]) for role in data["roles"].values()]
    assert CLAIM in marks(picture)


def test_more_pods_change_in_place() -> None:
    picture = of_change(ELASTIC, {**ELASTIC, "roles": {"worker": {"replicas": 5, "accelerators": {"a800": 8}}}})
    assert facts(picture, "role/worker")["pods"] == ("3", "5")
    assert (marks(picture)["role/worker"], marks(picture)["queue/default"]) == ("changed", "same")


def test_other_nodes_and_another_queue() -> None:
    roles = {"worker": {**WORKER, "accelerators": {"l40s": 4}}}
    picture = of_change(LORA, {**LORA, "queue": "night", "roles": roles})
    assert (marks(picture)["queue/default"], marks(picture)["queue/night"]) == ("same", "same"), "both exist already"
    assert {(edge.start, edge.change) for edge in picture.edges if edge.end == "job/"} == {
        ("queue/default", "removed"),
        ("queue/night", "added"),
    }
    assert facts(picture, "role/worker")["each"] == ("8 a800", "4 l40s")
    assert facts(picture, "role/worker")["nodes"][1] == "pool=l40s"


@pytest.mark.parametrize(("keep", "mark"), [(True, "same"), (False, "removed")])
def test_a_claim_that_is_removed_and_an_existing_one(keep: bool, mark: str) -> None:
    checkpoints = {"checkpoints": {**LORA["storage"]["checkpoints"], "keep": keep}}
    storage = {"data": {"claim": "datasets", "mount": "/data", "read_only": True}}
    picture = of_change({**LORA, "storage": checkpoints}, {**LORA, "storage": storage})
    assert (marks(picture)[CLAIM], marks(picture)["claim/datasets"]) == (mark, "same")
    assert {(edge.end, edge.label, edge.change) for edge in picture.edges if edge.end.startswith("claim/")} == {
        (CLAIM, "/mnt/output", "removed"),
        ("claim/datasets", "/data (read-only)", "added"),
    }


@pytest.mark.parametrize(("before", "after", "mark", "of_claim"), [
    (None, LORA, "added", "added"), (LORA, None, "removed", "same"),
])  # fmt: skip
def test_a_new_job_and_one_that_is_removed(before: Any, after: Any, mark: str, of_claim: str) -> None:
    expected = {"job/": mark, "queue/default": "same", "role/worker": mark, CLAIM: of_claim}
    assert marks(of_change(before, after)) == expected
