"""What happened to an experiment, from its releases and from Pulumi's history of its stacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.support.releases import ORIGIN, PROMOTED, project, release
from tests.support.samples import environment
from trainform.deployed.releases.history import StackNow, events, read_stacks
from trainform.deployed.releases.release import GateWaiver, Release, Rollback
from trainform.deployed.releases.rollback import Past, rollback
from trainform.deployed.stacks import ProjectStack, load_project_stacks
from trainform.deployed.updates import Update
from trainform.spec.stack import Stack

STACK, ADA = "sdxl-lora.prod", "Ada Byron <ada@example.com>"


def place(release: str | None) -> ProjectStack:
    """The stack, which names the release."""
    stack = Stack("sdxl-lora", "prod", 1, release)
    return ProjectStack(STACK, stack, "sdxl-lora", environment(name="prod"), "vision")


def update(at: str, kind: str = "update", result: str = "succeeded", named: str = "", **parts: Any) -> Update:
    return structs.replace(Update(kind, result, at, at, 0, "", None, named), **parts)


def test_what_happened_is_told_the_newest_first() -> None:
    waived = GateWaiver(gate="soak", reason="an outage", by=ADA)
    one = release(PROMOTED.model_copy(update={"waived": [waived], "gates": {"succeeded": "passed", "soak": "waived"}}))
    restored, bob = Past({one.name: one}, one.name).restored(one.name), "Bob <bob@example.com>"
    back = rollback(restored, "0a1b2c3d4e5f60718293", STACK, "the loss diverges", bob, "2026-11-25T10:00:00Z")
    now = StackNow(
        place(back.name),
        updates=(
            update("2026-11-25T11:00:00Z", named=back.name),
            update("2026-11-24T11:00:00Z", result="failed", named=one.name, commit="1999ff7a0d3cbb9d2f6a", dirty=True),
            update("2026-11-24T10:00:00Z", kind="refresh"),
            update("2026-11-20T08:00:00Z", commit="77ab011c2d3e", dirty=False, in_part=True),
        ),
    )  # fmt: skip
    found = events([one, back], [now])
    assert {(each.experiment, each.stack) for each in found} == {("sdxl-lora", STACK)}
    assert [(each.at, each.what, each.release, each.result, each.by) for each in found] == [
        ("2026-11-25T11:00:00Z", "up", back.name, "succeeded", ""),
        ("2026-11-25T10:00:00Z", "rollback", back.name, "", bob),
        ("2026-11-24T11:00:00Z", "up", one.name, "failed", ""),
        ("2026-11-23T14:35:24Z", "promotion", one.name, "", ADA),
        ("2026-11-20T08:00:00Z", "up", "", "succeeded", ""),
    ]
    assert [each.details for each in found] == [
        (),
        (f"from release 0a1b2c3d4e5f60718293 back to release {one.name}", "reason: the loss diverges"),
        ("commit 1999ff7a0d3c, with changes that are in no commit",),
        (
            "from sdxl-lora.dev, revision 1f3a9c",
            "commit 1999ff7a0d3c",
            "gates: succeeded passed, soak waived",
            f"{ADA} waived soak: an outage",
        ),
        ("commit 77ab011c2d3e", "for a part of the stack"),
    ]


def test_a_rollback_without_releases_names_the_time_of_what_it_restores() -> None:
    back = Rollback(of=None, to=None, reason="the loss diverges")
    made = Release(experiment=release().experiment, origin=ORIGIN, promoted=PROMOTED, rollback=back)
    (event,) = events([made], [])
    assert event.details[0] == "from the experiment's file back to what was deployed at 2026-11-20T09:12:44Z"


@pytest.mark.parametrize(
    ("pending", "updates", "state"),
    [
        (False, [update("t")], "deployed"),
        (True, [update("t")], "pending"),
        (None, [update("t")], "unknown"),
        (False, [update("u", result="failed"), update("t")], "the last up failed"),
        (False, [update("u", kind="refresh"), update("t")], "deployed"),
        (False, [update("u", in_part=True), update("t")], "the last up was for a part of the stack"),
        (
            False,
            [update("u", kind="destroy", in_part=True), update("t")],
            "the last destroy was for a part of the stack",
        ),
        (False, [update("u", kind="destroy"), update("t")], "not deployed"),
        (False, [update("u", kind="destroy", result="failed"), update("t")], "the last destroy failed"),
        (False, [update("u", result="failed")], "not deployed"),
        (False, [], "not deployed"),
        (False, [update("u", result="in-progress"), update("t")], "an up runs or was killed"),
    ],
)
def test_whether_a_stack_has_what_it_names(pending: bool | None, updates: list[Update], state: str) -> None:
    assert StackNow(place(None), updates=tuple(updates), pending=pending).state == state


def test_what_a_killed_up_has_left_is_read_beside_the_history(pulumi: Path, tmp_path: Path) -> None:
    """Also where it was the first one, and the history is empty. Of a stack that Pulumi does not have nothing is
    left."""
    project(tmp_path)
    left = {"deployment": {"pending_operations": [{"type": "creating"}]}}
    pulumi.write_text(
        f"#!/bin/sh\ncase $* in *history*) exit 6 ;; *prod*) exit 6 ;; *) echo '{json.dumps(left)}' ;; esac\n"
    )
    stacks, _ = load_project_stacks(["sdxl-lora.dev", "sdxl-lora.prod"], tmp_path)
    found = {now.place.name: now.state for now in read_stacks(stacks, tmp_path)}
    assert found["sdxl-lora.dev"] == "an up runs or was killed"
    assert found["sdxl-lora.prod"] != "an up runs or was killed"
