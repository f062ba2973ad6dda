"""A plain value is a struct, so that a command starts fast; a dataclass is one for a reason."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.conftest import ROOT

LIBRARY = ROOT / "components" / "trainform"
# What only dataclasses have: fields that are left out of comparisons or of `repr`, and abstract methods.
REASONS = {"repr", "compare", "hash"}
IN_CONTAINERS = LIBRARY / "rehearsal" / "probes"  # the images of users have no msgspec


def _dataclasses(path: Path) -> list[ast.ClassDef]:
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    return [each for each in classes if any("dataclass" in ast.unparse(word) for word in each.decorator_list)]


def _has_a_reason(found: ast.ClassDef, abstract: set[str]) -> bool:
    calls = [node for node in ast.walk(found) if isinstance(node, ast.Call)]
    fields = {word.arg for call in calls if ast.unparse(call.func) == "dataclasses.field" for word in call.keywords}
    bases = {ast.unparse(base) for base in found.bases}
    return bool(fields & REASONS or bases & (abstract | {"abc.ABC"}))


def test_every_dataclass_has_what_a_struct_has_not() -> None:
    found = [each for path in LIBRARY.rglob("*.py") if IN_CONTAINERS not in path.parents for each in _dataclasses(path)]
    abstract = {each.name for each in found if "abc.ABC" in map(ast.unparse, each.bases)}
    assert len(found) > 5
    assert [each.name for each in found if not _has_a_reason(each, abstract)] == []
