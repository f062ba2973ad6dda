"""The history of a stack's updates, from what `pulumi stack history --json` prints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from trainform.deployed.updates import ALL, MOST_UPDATES, Update, last_deployed, updates, updates_in

UP = {
    "version": 0,
    "kind": "update",
    "startTime": "2026-03-02T08:00:00.000Z",
    "message": "Longer warm-up",
    "environment": {
        "exec.kind": "cli",
        "git.author": "Ada Lovelace",
        "git.dirty": "false",
        "git.head": "9f2c4e1d0b7a",
        "stack.environments": "[]",
    },
    "config": {
        "trainform:experiment": {"value": "resnet", "secret": False},
        "trainform:release": {"value": "0a1b2c3d4e5f60718293", "secret": False},
        "trainform:ssh-seed": {"secret": True},
    },
    "result": "succeeded",
    "endTime": "2026-03-02T08:00:09.000Z",
    "resourceChanges": {"create": 9},
}
READ = Update("update", "succeeded", "2026-03-02T08:00:00Z", "2026-03-02T08:00:09Z", 0, "9f2c4e1d0b7a", False,
    "0a1b2c3d4e5f60718293")  # fmt: skip


def test_an_update_is_read_with_its_commit_and_release() -> None:
    assert updates_in([UP]) == [READ]


def test_what_a_history_does_not_say_is_not_known() -> None:
    bare = {"kind": "update", "startTime": "2026-03-02T08:00:00.000Z", "config": {}, "result": "in-progress"}
    assert updates_in([bare]) == [Update("update", "in-progress", "2026-03-02T08:00:00Z", "", 0, "", None, "")]


@pytest.mark.parametrize(
    "note",
    [
        "pulumi.flag.target",
        "pulumi.flag.exclude",
        "pulumi.flag.target-replace",
        "pulumi.env.PULUMI_OPTION_TARGET",
        "pulumi.env.PULUMI_OPTION_TARGET_REPLACE",
    ],
)
def test_an_update_of_a_part_has_not_deployed_the_stack(note: str) -> None:
    """The engine notes the options and the variables of an update, without their values."""
    (part,) = updates_in([{**UP, "environment": {**UP["environment"], note: "set"}}])  # type: ignore[dict-item]
    assert part == structs.replace(READ, in_part=True)
    assert not part.deployed
    assert last_deployed([part, READ]) is READ
    destroyed = structs.replace(READ, kind="destroy")
    assert last_deployed([destroyed, READ]) is None
    assert last_deployed([structs.replace(destroyed, in_part=True), READ]) is READ


def update(kind: str, result: str = "succeeded") -> dict[str, Any]:
    return {**UP, "kind": kind, "result": result}


@pytest.mark.parametrize(
    ("listed", "index"),
    [
        ([], None),
        ([update("update")], 0),
        ([update("update", "failed"), update("refresh"), update("update")], 2),
        ([update("destroy"), update("update")], None),
        ([update("destroy", "failed"), update("update")], 1),
    ],
)
def test_the_last_up_that_succeeded_and_was_not_destroyed(listed: list[Any], index: int | None) -> None:
    found = updates_in(listed)
    assert last_deployed(found) == (None if index is None else found[index])


def listing(program: Path, updates: list[dict[str, Any]]) -> None:
    """Let the program print so many of the updates as it is asked for, or all for 0."""
    folder = program.parent.parent
    (folder / "history.json").write_text(json.dumps(updates))
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\nsize = int(sys.argv[sys.argv.index('--page-size') + 1])\nfound = "
        f"json.load(open({str(folder / 'history.json')!r}))\nprint(json.dumps(found[:size] if size else found))\n"
    )


def test_the_last_up_is_found_behind_any_number_of_refreshes(pulumi: Path, tmp_path: Path) -> None:
    listing(pulumi, [update("refresh")] * 130 + [update("update")])
    assert [each.kind for each in updates("resnet.prod", tmp_path)][-1] == "update"
    listing(pulumi, [update("refresh")] * 50 + [update("update")] * 80)
    assert len(updates("resnet.prod", tmp_path)) == MOST_UPDATES
    assert len(updates("resnet.prod", tmp_path, ALL)) == 130
