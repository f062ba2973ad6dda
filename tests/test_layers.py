"""One direction: a room imports only rooms below it. Pulumi stays at the edge, files and clocks outside of the middle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LIBRARY = ROOT / "components" / "trainform"
# Lowest first. What stands beside the library's own line (the tool chain, the sandbox) needs errors and words, never a plan.
ORDER = [
    "escaping",
    "errors",
    "catalog",
    "project",
    "identity",
    "spec",
    "plan",
    "manifests",
    "policy",
    "backends",
    "examine",
    "cluster",
    "resources",
]
BESIDE = {
    "progress": {"errors"},
    "atomic": {"errors", "signals"},
    "terminal": {"escaping", "errors", "atomic"},
    "locking": {"errors", "progress"},
    "signals": set(),
    "toolchain": {"errors", "catalog", "progress", "locking", "signals"},
    # what a backend's controller would do, without it: it needs plans and live reads, and nothing needs it but the command line
    "rehearsal": {
        "escaping",
        "terminal",
        "errors",
        "catalog",
        "spec",
        "plan",
        "identity",
        "manifests",
        "policy",
        "backends",
        "examine",
        "cluster",
        "progress",
        "locking",
        "signals",
    },
    # what `init` and `new` write: text from plain data
    "scaffold": {"errors", "atomic", "catalog", "spec", "backends", "cluster"},
    "sandbox": {"errors", "catalog", "project", "spec", "progress", "locking", "toolchain"},
    # what the other rooms need of this machine and of the cluster; nothing needs it but the command line
    "doctor": {"errors", "catalog", "project", "spec", "backends", "cluster", "rehearsal", "toolchain", "sandbox"},
}
ALLOWED = {room: set(ORDER[:index]) for index, room in enumerate(ORDER)} | BESIDE
PULUMI = {"resources"}
PURE = ("identity", "spec", "plan", "manifests", "policy", "backends")
READS_FILES = {"spec/files.py", "spec/read.py", "spec/load.py", "spec/stack.py"}
IMPURE_MODULES = {"os", "random", "time", "secrets", "uuid", "socket", "subprocess", "tempfile", "io", "pathlib"}
IMPURE_NAMES = {"open", "now", "today", "utcnow", "getenv", "environ", "input", "print"}


def room(path: Path) -> str:
    parts = path.relative_to(LIBRARY).parts
    return parts[0].removesuffix(".py")


FILES = sorted(LIBRARY.rglob("*.py"))
ROOMS = sorted({room(path) for path in FILES} - {"__init__", "__main__", "cli"})


def imports(path: Path) -> Iterator[str]:
    """Every imported module by its full name, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "trainform")


def test_every_room_has_its_place() -> None:
    assert set(ROOMS) <= set(ALLOWED), "give the new room a place in ORDER or BESIDE"


@pytest.mark.parametrize("name", ROOMS)
def test_only_downwards(name: str) -> None:
    upward = {
        f"{path.relative_to(LIBRARY)} imports {module}"
        for path in FILES
        if room(path) == name
        for module in imports(path)
        if module.startswith("trainform.") and module.split(".")[1] not in ALLOWED[name] | {name}
    }
    assert upward == set()


def test_pulumi_at_the_edge() -> None:
    found = {
        str(path.relative_to(LIBRARY))
        for path in FILES
        for module in imports(path)
        if module.split(".")[0] in {"pulumi", "pulumi_kubernetes"} and room(path) not in PULUMI
    }
    assert found == set()


def test_the_command_line_reaches_resources_through_pulumi_alone() -> None:
    found = {
        str(path)
        for path in FILES
        if room(path) == "cli" and any(name.startswith("trainform.resources") for name in imports(path))
    }
    assert found == set()


@pytest.mark.parametrize(
    "path", [path for path in FILES if room(path) in PURE], ids=lambda path: str(path.relative_to(LIBRARY))
)
def test_the_middle_is_pure(path: Path) -> None:
    if str(path.relative_to(LIBRARY)) in READS_FILES:
        return
    assert {module.split(".")[0] for module in imports(path)} & IMPURE_MODULES == set()
    tree = ast.parse(path.read_text())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    called |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert called & IMPURE_NAMES == set()


def test_no_backend_is_named_outside_its_module() -> None:
    """A choice by name would have to be found again for every new backend; they are chosen by a table."""
    found = []
    for path in FILES:
        if room(path) == "backends":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            tests = (
                [node.test]
                if isinstance(node, ast.If | ast.IfExp)
                else [case.pattern for case in node.cases]
                if isinstance(node, ast.Match)
                else []
            )
            constants = [inner.value for test in tests for inner in ast.walk(test) if isinstance(inner, ast.Constant)]
            found += [
                str(path) for value in constants if value in {"volcano", "kubeflow", "trainer", "kubedl", "jobset"}
            ]
    assert found == []


# Who writes on a stream beside the room `terminal`, and why that is no text of a user's on a terminal.
OTHER_STREAMS = {
    "spec/reference.py": "a page of the docs, from our own texts",
    "backends/launch_contract.py": "a page of the docs, from our own texts",
    "backends/comparison.py": "a page of the docs, from our own texts",
    "rehearsal/forward.py": "a program in a container: what it writes comes back as a line of a pod",
    "rehearsal/kubexec/client.py": "a program in a container",
    "rehearsal/kubexec/relay.py": "a program in a container",
    "rehearsal/probes/probe_world.py": "a program in a container",
}
# What the engine prints for us.
BY_THE_ENGINE = {"pulumi.RunError('\\n'.join(['', *error.lines()]))", "pulumi.log.error(escaped(reason + fix))"}
PRINTING = re.compile(
    r"print|input|(sys\.)?(__)?(stdout|stderr)(__)?(\..*)?|typer\.(echo|secho|style|confirm|prompt|progressbar|launch)|warnings\..*|logging\..*"
    r"|(rich\.)?(console\.)?Console|rich\.print.*|.*\.from_(ansi|markup)|(rich\.)?markup.*|traceback\..*"
)
PRINTING_MODULES = {
    "rich.console.Console", "rich.print", "rich.markup", "rich.prompt", "rich.traceback", "rich.logging", "logging", "warnings", "traceback",
    "sys.stdout", "sys.stderr", "typer.echo", "typer.secho",
}  # fmt: skip


def imported_names(path: Path) -> Iterator[str]:
    """`module.name` of every imported name, and each imported module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_nothing_is_printed_by_another_way(path: Path) -> None:
    """What `terminal` prints is escaped, and what nobody else prints needs no look."""
    if room(path) == "terminal" or str(path.relative_to(LIBRARY)) in OTHER_STREAMS:
        return
    assert set(imported_names(path)) & PRINTING_MODULES == set()
    used = {
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert not {name for name in used if PRINTING.fullmatch(name)}


def test_who_has_a_stream_of_its_own() -> None:
    for name in OTHER_STREAMS:
        assert "std" in (LIBRARY / name).read_text(), f"{name} writes nothing any more"


def test_the_engine_is_given_what_is_escaped() -> None:
    calls = [
        ast.unparse(node)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and re.match(r"pulumi\.(RunError|log|info|warn|error|debug)\b", ast.unparse(node.func))
    ]
    assert set(calls) == BY_THE_ENGINE
    assert len(calls) == len(BY_THE_ENGINE)
