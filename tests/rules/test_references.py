"""Names that one file uses and the other does not define, and amounts of resources."""

from __future__ import annotations

import pytest

from tests.support.samples import reasons
from trainform.errors import MOST_NAMES
from trainform.rules.references import unknown

MANY = [f"team-{number:04}-{kind}" for number in range(2_000) for kind in ("a800", "l40s")]


@pytest.mark.parametrize(
    ("known", "fix"),
    [
        (["day", "night"], "known: day, night"),
        (["xyy", "night"], "did you mean xyy?"),
        ([], "add it to the environment"),
        ([*MANY[:MOST_NAMES], "xyy"], f"known: {', '.join(MANY[:MOST_NAMES])} and 1 more"),
        (MANY, f"known: {', '.join(MANY[:MOST_NAMES])} and {len(MANY) - MOST_NAMES} more"),
    ],
)
def test_fixes(known: list[str], fix: str) -> None:
    (problem,) = unknown("queue", "xyz", known, "queue")
    assert problem.fix == fix


def test_a_name_that_is_known_and_none() -> None:
    assert [*unknown("queue", "day", ["day"], "queue"), *unknown("queue", None, [], "queue")] == []


@pytest.mark.parametrize(("amount", "size"), [(100, "100"), ("100k", "100,000")])
def test_bytes_whose_unit_is_missing(amount: object, size: str) -> None:
    reason = f"the value is {size} bytes, less than 1 MiB"
    roles = {"worker": {"replicas": 2, "resources": {"ephemeral-storage": amount}}}
    assert reasons(roles=roles)["roles.worker.resources.ephemeral-storage"] == reason
    assert reasons(queue={"capability": {"memory": amount}})["queue.capability.memory"] == reason


def test_pieces_have_no_unit() -> None:
    assert reasons(queue={"capability": {"cpu": 4, "a800": 8}}) == {}
