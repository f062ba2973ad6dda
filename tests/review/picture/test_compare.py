"""What the picture has of a job, and what it marks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import ELASTIC, LORA, context, deployed, job_review
from tests.review.picture.samples import of_change
from tools.docs.picture import experiment_picture
from trainform.backends.table import BACKENDS
from trainform.review.model import Picture, PictureNode
from trainform.review.picture.compare import pictures

WORKER = LORA["roles"]["worker"]
TOKEN = "hf_" + "a1B2c3D4e5F6" * 3


def with_worker(**parts: Any) -> dict[str, Any]:
    return {**LORA, "roles": {"worker": {**WORKER, **parts}}}


def node(picture: Picture, key: str) -> PictureNode:
    [found] = [node for node in picture.nodes if node.id == key]
    return found


def facts(picture: Picture, key: str) -> dict[str, tuple[str | None, str | None]]:
    return {fact.label: (fact.before, fact.after) for fact in node(picture, key).facts}


def marks(picture: Picture) -> dict[str, str]:
    return {node.id: node.change for node in picture.nodes}


def test_the_parts_of_a_job() -> None:
    picture = experiment_picture("llama-sft")
    assert [node.id for node in picture.nodes] == [
        "job/", "queue/default", "role/master", "shape/8 a800 + 1 rdma/hca", "role/worker", "rendezvous/0",
        "claim/llama-sft-data", "claim/llama-sft-checkpoints", "secret/llama-sft-ssh",
    ]  # fmt: skip
    assert set(marks(picture).values()) == {"same"}
    assert facts(picture, "role/worker")["ranks"] == ("1-3", "1-3")
    assert facts(picture, "role/master")["ranks"] == ("0", "0")
    assert facts(picture, "role/worker")["ports"] == ("22 ssh", "22 ssh")
    assert facts(picture, "role/worker")["memory"] == ("800Gi", "800Gi")
    assert facts(picture, "rendezvous/0")["port"] == ("29500", "29500")
    assert facts(picture, "claim/llama-sft-checkpoints")["kept"] == ("yes", "yes")
    assert facts(picture, "claim/llama-sft-data")["size"] == ("500Gi", "500Gi")
    uses = {(edge.start, edge.end, edge.label) for edge in picture.edges}
    assert ("role/worker", "claim/llama-sft-data", "/mnt/data") in uses
    assert ("role/master", "secret/llama-sft-ssh", "/root/.ssh") in uses
    assert ("queue/default", "job/", "") in uses


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pods_of_every_operator(backend: str) -> None:
    roles = {
        "master": {"replicas": 1, "accelerators": {"a800": 8}},
        "worker": {"replicas": 3, "accelerators": {"a800": 8}},
    }
    data = {**LORA, "launcher": {"torchrun": {"script": "/app/train.py"}}, "roles": roles, "backend": backend}
    picture = of_change(data, data)
    pods = [fact.after for node in picture.nodes if node.kind == "role" for fact in node.facts if fact.label == "pods"]
    assert pods == ["1", "3"]
    assert "claim/sdxl-lora-checkpoints" in marks(picture)


def test_a_new_image() -> None:
    picture = of_change(LORA, {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"})
    assert facts(picture, "role/worker")["image"] == (LORA["image"], "registry.example.com/ai/pytorch-training:2.9")
    before, after = facts(picture, "job/")["object"]
    assert before != after
    assert marks(picture)["role/worker"] == "changed"
    assert marks(picture)["claim/sdxl-lora-checkpoints"] == "same"


def test_more_pods() -> None:
    picture = of_change(ELASTIC, {**ELASTIC, "roles": {"worker": {"replicas": 5, "accelerators": {"a800": 8}}}})
    assert facts(picture, "role/worker")["pods"] == ("3", "5")
    assert facts(picture, "role/worker")["ranks"] == ("given at run time, to 2-8 nodes",) * 2
    assert marks(picture)["queue/default"] == "same"


def test_other_nodes() -> None:
    picture = of_change(LORA, with_worker(accelerators={"l40s": 4}))
    found = marks(picture)
    assert (found["shape/8 a800"], found["shape/4 l40s pool=l40s"]) == ("removed", "added")
    [shape] = [node for node in picture.nodes if node.name == "4 l40s"]
    assert {fact.label: fact.after for fact in shape.facts} == {"pods": "4", "labels": "pool=l40s"}


def test_a_claim_that_goes_and_another_path() -> None:
    storage = {"data": {"claim": "datasets", "mount": "/data", "read_only": True}}
    picture = of_change(LORA, {**LORA, "storage": storage})
    found = marks(picture)
    assert (found["claim/sdxl-lora-checkpoints"], found["claim/datasets"]) == ("removed", "added")
    assert {(edge.end, edge.label, edge.change) for edge in picture.edges if edge.end.startswith("claim/")} == {
        ("claim/sdxl-lora-checkpoints", "/mnt/output", "removed"),
        ("claim/datasets", "/data (read-only)", "added"),
    }


def test_a_new_job_and_one_that_goes() -> None:
    assert set(marks(of_change(None, LORA)).values()) == {"added"}
    assert set(marks(of_change(LORA, None)).values()) == {"removed"}


def test_secrets_have_names_alone() -> None:
    made = deployed(LORA)
    [body] = [manifest.body for manifest in made.rendered.manifests if manifest.key == "job"]
    containers = body["spec"]["tasks"][0]["template"]["spec"]["containers"]
    containers[0]["env"] += [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "WANDB", "value": TOKEN},
    ]
    containers[0]["envFrom"] = [{"secretRef": {"name": "all"}}]
    [picture] = pictures(context(job_review(None, made)))
    uses = {(edge.end, edge.label) for edge in picture.edges}
    assert {("secret/hub", "variable HF_TOKEN"), ("secret/all", "variables")} <= uses
    assert TOKEN not in picture.model_dump_json()
