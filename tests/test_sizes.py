"""Files and functions are small, modules have docstrings, and no value falls back to a literal."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILES = sorted((ROOT / "components" / "trainform").rglob("*.py")) + sorted((ROOT / "stacks").rglob("*.py"))
MOST_LINES, LONGEST_FUNCTION, MOST_PARAMETERS = 400, 60, 7
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "base", "core"}

files = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


@files
def test_sizes_of_files(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert not DRAWERS & set(path.relative_to(ROOT).with_suffix("").parts)


@files
def test_sizes_of_functions(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < LONGEST_FUNCTION, node.name
            if node.name == "command" and "cli" in path.parts:
                continue  # the parameters of a verb are its options
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            assert (
                len([argument for argument in arguments if argument.arg not in {"self", "cls"}]) <= MOST_PARAMETERS
            ), node.name


@files
def test_no_value_falls_back_to_a_literal(path: Path) -> None:
    """`x or 2` turns a 0 that was meant into a 2; `is None` says what is meant."""
    literals = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr)
    found = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and isinstance(node.values[-1], literals)
    ]
    assert found == []


@files
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "a docstring in the first line"


def test_the_reading_order_of_contributing_is_short() -> None:
    """The story of a job in at most 8 files and 1,300 lines."""
    listed = re.findall(
        r"^\d\. `([^`]+)`: ", (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a backend")[0], re.MULTILINE
    )
    assert 0 < len(listed) <= 8
    assert sum(len((ROOT / "components" / "trainform" / name).read_text().splitlines()) for name in listed) <= 1300
