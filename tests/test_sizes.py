"""What ruff has no rule for: short files, no fallback to a number, a short reading order."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

LIBRARY = ROOT / "components" / "trainform"
FILES = sorted([*LIBRARY.rglob("*.py"), *(ROOT / "stacks").rglob("*.py")])
MOST_LINES = 400


def test_files_are_short() -> None:
    assert [str(path) for path in FILES if len(path.read_text().splitlines()) > MOST_LINES] == []


def test_no_value_falls_back_to_a_number() -> None:
    """`x or 2` turns a 0 that was meant into a 2; `is None` says what is meant."""
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
        if isinstance(node.values[-1], ast.Constant)
        and isinstance(node.values[-1].value, int | float)
        and node.values[-1].value
    ]
    assert found == []


def test_the_reading_order_of_contributing_is_short() -> None:
    """The story of a job in at most 8 files and 1,320 lines."""
    before, _, _ = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a backend")
    listed = re.findall(r"^\d\. `([^`]+)`: ", before, re.MULTILINE)
    assert 0 < len(listed) <= 8
    assert sum(len((LIBRARY / name).read_text().splitlines()) for name in listed) <= 1320
