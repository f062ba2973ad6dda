"""Every fix that the code can print, as a pattern: literals and f-strings where a problem is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# Where a fix stands among the arguments of what makes a problem.
PLACES = {"Problem": 3, "Mistake": 3, "refusal": 1, "_Finding": 3, "Finding": 3, "problem": 1}


def templates(folder: Path) -> dict[str, str]:
    """The pattern of each fix, and the file that has it."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for pattern in _of_function(node):
                    found.setdefault(pattern, str(path))
    return found


def _of_function(function: ast.FunctionDef) -> Iterator[str]:
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            for name, given in pairs:
                if isinstance(name, ast.Name):
                    assigned.setdefault(name.id, []).append(given)
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            for expression in _fix(node):
                yield from _patterns(expression, assigned)


def _fix(call: ast.Call) -> list[ast.expr]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    place = PLACES.get(name)
    if place is None:
        return []
    return [keyword.value for keyword in call.keywords if keyword.arg == "fix"] or call.args[place : place + 1]


def _patterns(expression: ast.expr, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    if isinstance(expression, ast.IfExp):
        yield from _patterns(expression.body, assigned)
        yield from _patterns(expression.orelse, assigned)
    elif isinstance(expression, ast.Name):
        for value in assigned.get(expression.id, ()):
            if not isinstance(value, ast.Name):
                yield from _patterns(value, assigned)
    elif isinstance(expression, ast.Constant) and isinstance(expression.value, str) and expression.value:
        yield re.escape(expression.value)
    elif isinstance(expression, ast.JoinedStr):
        parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in expression.values]
        if any(part != ".*" for part in parts):
            yield "".join(parts)
