"""What import-linter and ruff cannot hold (`make lint` has the rest): texts, calls, and the tables of packages."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from tests.conftest import ROOT
from tools.contracts import contract, layers
from trainform import defaults

LIBRARY = ROOT / "components" / "trainform"
# Names of operators, of the kinds of their objects and of their projects, in any spelling. Kubernetes itself is
# everywhere; only the bare name of its backend is a choice.
NAMES = "|".join(name for name in defaults.BACKENDS if name != "kubernetes")
OPERATORS = re.compile(
    rf"(?<![a-z])({NAMES})(?![a-z])|(pytorch|tf|mpi|train)jobs?\b|jobsets|training-operator",
    re.IGNORECASE,
)
# Where a text, or a key of a table, names Volcano all the same: it is a part of every sandbox, and admits the jobs of
# any backend.
NAMING_VOLCANO = {
    "spec/environment.py",
    "spec/queue_fields.py",
    "rules/references.py",
    "rules/limits/object_rules.py",
    "cli/demo.py",
    "cli/sandbox.py",
    "resources/apply.py",
}
ADDONS = {"local"}  # they know what a sandbox runs: each operator has its add-on there
SHOWN_DOCSTRINGS = {"spec", "cli"}  # users read them, as descriptions in JSON Schemas and as help
IMPURE_CALLS = {"open", "now", "today", "utcnow", "input"}
# What the engine prints for us.
BY_THE_ENGINE = {
    "pulumi.RunError('\\n'.join(['', *error.lines()]))",
    "pulumi.log.error(escaped(reason + fix))",
    "pulumi.log.warn(escaped(text), component)",
    "pulumi.log.warn(escaped(f'not waited for pods of another revision: {error}'))",
    "pulumi.log.info(escaped(text))",
    "pulumi.log.info(escaped(f'{defaults.NOT_CHECKED}{what}: {reason}'), component)",
}


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Return every module of the library, parsed."""
    return {path.relative_to(LIBRARY): ast.parse(path.read_text()) for path in sorted(LIBRARY.rglob("*.py"))}


def test_every_package_is_in_the_table_of_the_code_map() -> None:
    rows = re.findall(r"^\| `.+", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert set(layers()) <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def operators_named(path: Path, tree: ast.Module) -> set[str]:
    """Return every text that names an operator, keys and conditions among them. Docstrings and comments may say why
    something is so."""
    expressions = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = set() if path.parts[0] in SHOWN_DOCSTRINGS else {id(node.value) for node in expressions}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    }
    return {text for text in texts if OPERATORS.search(text)}


def test_no_operator_is_named_outside_the_backends() -> None:
    """A choice or a text by name would have to be found again for every new backend: they follow from the table."""
    found = {
        str(path): operators_named(path, tree)
        for path, tree in trees().items()
        if path.parts[0] not in ADDONS | {"backends"}
    }
    assert (
        found.pop("defaults.py") - {*defaults.BACKENDS, *defaults.BACKENDS.values(), *defaults.ADMITS.values()} == set()
    )
    named = {
        name: {match[0].lower() for text in texts for match in OPERATORS.finditer(text)}
        for name, texts in found.items()
    }
    assert {name: words for name, words in named.items() if words} == {name: {"volcano"} for name in NAMING_VOLCANO}


def test_pure_packages_open_no_files_and_read_no_clocks() -> None:
    """import-linter holds what they import; these need no import of a module that is impure as a whole."""
    pure = {name.removeprefix("trainform.") for name in contract("pure")["source_modules"]}
    readers = {name.partition(" ")[0].removeprefix("trainform.") for name in contract("pure")["ignore_imports"]}
    found = [
        f"{path}: {ast.unparse(node.func)}"
        for path, tree in trees().items()
        if (name := str(path.with_suffix("")).replace("/", ".").removesuffix(".__init__")) not in readers
        and any(name == room or name.startswith(f"{room}.") for room in pure)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in IMPURE_CALLS
    ]
    assert found == []


def test_the_engine_is_given_what_is_escaped() -> None:
    calls = [
        ast.unparse(node)
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and re.match(r"pulumi\.(RunError|log|info|warn|error|debug)\b", ast.unparse(node.func))
    ]
    assert sorted(calls) == sorted(BY_THE_ENGINE)
