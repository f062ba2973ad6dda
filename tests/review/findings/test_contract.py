"""Findings about what a training program relies on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import ELASTIC, LORA, change, locate
from trainform.review.findings.contract import find
from trainform.review.model import Finding

WORKER = LORA["roles"]["worker"]


def found(before: dict[str, Any], after: dict[str, Any]) -> list[Finding]:
    return [*find(change(before, after, locate=locate))]


def codes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [finding.code for finding in found(before, after)]


def roles(**parts: Any) -> dict[str, Any]:
    return {**LORA, "roles": parts}


def test_the_size_of_the_world() -> None:
    (finding,) = found(LORA, roles(worker={**WORKER, "replicas": 2}))
    assert finding.code == "TR-CONTRACT-1"
    assert (finding.before, finding.after) == ({"nodes": 4, "processes": 32}, {"nodes": 2, "processes": 16})
    assert finding.place is not None
    assert finding.place.path == "roles.worker.replicas"


def test_what_changes_no_world() -> None:
    """An elastic job within its bounds, and a role without ranks."""
    assert codes(ELASTIC, {**ELASTIC, "roles": {"worker": {**WORKER, "replicas": 5}}}) == []
    assert codes(LORA, roles(worker=WORKER, watcher={"ranked": False, "command": ["watch"]})) == []


def test_ranks_follow_the_order_of_roles() -> None:
    master = {"replicas": 1, "accelerators": {"a800": 8}}
    before, after = roles(master=master, worker=WORKER), roles(worker=WORKER, master=master)
    (finding,) = [finding for finding in found(before, after) if finding.code == "TR-CONTRACT-2"]
    assert (finding.before, finding.after) == (["master", "worker"], ["worker", "master"])
    assert (
        finding.title == "The ranked roles of sdxl-lora are worker, master in order of rank, and were master, worker."
    )


def test_the_launcher() -> None:
    script = {"torchrun": {"script": "/app/train.py", "processes_per_node": 1}}
    made = [finding for finding in found(LORA, {**LORA, "launcher": script}) if finding.code == "TR-CONTRACT-3"]
    assert [(finding.before, finding.after) for finding in made] == [("command", "torchrun")]
    assert "TR-CONTRACT-3" not in codes(LORA, {**LORA, "launcher": {"command": ["python", "other.py"]}})


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"sub_path": "first"}, "has the claim sdxl-lora-checkpoints (folder first) at /mnt/output, and had"),
        ({"read_only": True}, "has the claim sdxl-lora-checkpoints read-only at /mnt/output, and had"),
    ],
)
def test_a_mount_that_holds_something_else(part: dict[str, Any], said: str) -> None:
    (finding,) = found(LORA, {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], **part}}})
    assert (finding.code, finding.level) == ("TR-CONTRACT-5", "medium")
    assert said in finding.title


def test_a_mount_that_moves_is_gone_and_new() -> None:
    moved = {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], "mount": "/out"}}}
    gone, new = found(LORA, moved)
    assert "no longer has the claim sdxl-lora-checkpoints at /mnt/output" in gone.title
    assert (new.level, gone.level) == ("low", "medium")
    removed = found(LORA, {**LORA, "storage": {"other": {**LORA["storage"]["checkpoints"], "mount": "/out"}}})
    assert {finding.field: finding.place.path for finding in removed if finding.place is not None} == {
        "roles.worker: /mnt/output": "storage.checkpoints", "roles.worker: /out": "storage.other",
    }  # fmt: skip


def test_a_new_job_breaks_no_contract() -> None:
    assert [*find(change(None, LORA))] == []
    assert [*find(change(LORA, None))] == []
