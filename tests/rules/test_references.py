"""Names that one file uses and the other does not define: the nearest name is offered."""

from __future__ import annotations

from trainform.errors import MOST_NAMES
from trainform.rules.references import Known, unknown

MANY = [f"team-{number:04}-{kind}" for number in range(2_000) for kind in ("a800", "l40s")]


def test_the_nearest() -> None:
    assert Known(MANY).nearest("team-0012-a80") == "team-0012-a800"
    assert Known(MANY).nearest("something-else-altogether") is None


def test_fixes_list_known_names_up_to_a_limit() -> None:
    (few,) = unknown("queue", "xyz", Known({"day": None, "night": None}), "queue")
    assert few.fix == "known: day, night"
    (many,) = unknown("queue", "xyz", Known(dict.fromkeys(MANY)), "queue")
    assert many.fix.startswith(f"known: {', '.join(MANY[:MOST_NAMES])} and ")
    assert many.fix.endswith(f" and {len(MANY) - MOST_NAMES} more")
    (none,) = unknown("queue", "xyz", Known({}), "queue")
    assert none.fix == "add it to the environment"
    assert unknown("queue", None, Known({}), "queue") == []
