"""Names that one file uses and the other does not define: the nearest name is offered, in files of any size."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainform.errors import MOST_NAMES
from trainform.rules.references import NEIGHBOURS, Known, unknown

MANY = [f"team-{number:04}-{kind}" for number in range(2_000) for kind in ("a800", "l40s")]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("team-1234-a80", "team-1234-a800"),
        ("team-1234-l40x", "team-1234-l40s"),
        ("eam-1234-a800", "team-1234-a800"),
        ("taem-0007-l40s", "team-0007-l40s"),
        ("Xteam-1999-a800", "team-1999-a800"),
        ("something-else-altogether", None),
    ],
)
def test_the_nearest_of_many(name: str, meant: str | None) -> None:
    assert Known(MANY).nearest(name) == meant


@given(st.lists(st.from_regex(r"[a-d-]{1,8}", fullmatch=True), max_size=NEIGHBOURS), st.from_regex(r"[a-d-]{1,8}"))
def test_of_few_all_are_compared(names: list[str], name: str) -> None:
    assert Known(names).nearest(name) == next(iter(difflib.get_close_matches(name, names, 1)), None)


def test_fixes_list_known_names_up_to_a_limit() -> None:
    (few,) = unknown("queue", "xyz", Known({"day": None, "night": None}), "queue")
    assert few.fix == "known: day, night"
    (many,) = unknown("queue", "xyz", Known(dict.fromkeys(MANY)), "queue")
    assert many.fix.startswith(f"known: {', '.join(MANY[:MOST_NAMES])} and ")
    assert many.fix.endswith(f" and {len(MANY) - MOST_NAMES} more")
    (none,) = unknown("queue", "xyz", Known({}), "queue")
    assert none.fix == "add it to the environment"
    assert unknown("queue", None, Known({}), "queue") == []
