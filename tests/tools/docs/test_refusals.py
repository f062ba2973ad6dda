"""The page of backends lacks no refusal: each place in the code of an operator that makes a problem is shown by an example."""

from __future__ import annotations

import ast
import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import trainform.backends
from tools.docs.patch_refusals import PATCHES
from tools.docs.refusals import EXAMPLES, Example
from trainform.backends.table import BACKENDS
from trainform.backends.trainer.runtime_rules import Finding
from trainform.errors import Problem
from trainform.manifests.served.mistake import Mistake

FOLDER = Path(str(trainform.backends.__file__)).parent
# Modules of backends with problems that are not an operator's own: (file, why).
OF_ALL = {
    "patched_pods.py": "what the plan says of pods is held on every operator",
    "patch_rules.py": "merge patches are held against what the plan decides, on every operator",
    "placeholders.py": "Kubernetes leaves the same names as they stand on every operator",
    "queues.py": "a job of every operator may have a queue of its own",
    "refusals.py": "fields as a whole, which the page has as a table",
    "sizes.py": "the API server's limit of an object",
    "ssh_users.py": "SSH uses no key that others may read, on every operator",
}
ALL = (*EXAMPLES, *PATCHES)
KINDS = (Problem, Finding, Mistake)
# Functions that no check of an experiment calls.
LATER = {"pods": "a rehearsal asks for pods that only the cluster knows"}

Place = tuple[str, int]
"""A file of the backends, and the line at which a problem is made there."""


def test_an_example_is_refused_by_an_operator() -> None:
    assert [example.what for example in ALL if not any(map(example.problems, BACKENDS))] == []


def test_every_refusal_in_the_code_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    made: set[Place] = set()

    def recorded(kind: type) -> Callable[..., Any]:
        def make(*args: Any, **fields: Any) -> Any:
            caller = sys._getframe(1)
            made.add((str(Path(caller.f_code.co_filename).relative_to(FOLDER)), caller.f_lineno))
            return kind(*args, **fields)

        return make

    for module in modules():
        for kind in KINDS:
            if getattr(module, kind.__name__, None) is kind:
                monkeypatch.setattr(module, kind.__name__, recorded(kind))
    for example in ALL:
        for backend in BACKENDS:
            example.problems(backend)
    assert sorted(set(places()) - made) == []


def test_the_exceptions_are_there() -> None:
    """A module that makes no problem any more is no exception."""
    for name in OF_ALL:
        assert [*calls(ast.parse((FOLDER / name).read_text()))], name


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(trainform.backends.__path__, f"{trainform.backends.__name__}."):
        yield import_module(found.name)


def places() -> Iterator[Place]:
    for path in FOLDER.rglob("*.py"):
        name = str(path.relative_to(FOLDER))
        if name not in OF_ALL:
            yield from ((name, line) for line in calls(ast.parse(path.read_text())))


def calls(tree: ast.AST) -> Iterator[int]:
    """The lines at which the module makes a problem."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name in LATER:
            continue
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {kind.__name__ for kind in KINDS}
        ):
            yield node.lineno
        yield from calls(node)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("example", ALL, ids=lambda example: str(example.what))
def test_what_an_operator_refuses_is_no_field_of_its_table(backend: str, example: Example) -> None:
    reasons = {problem.reason for problem in example.problems(backend)}
    assert not reasons & {support.how for support in BACKENDS[backend].FIELDS.values()}
