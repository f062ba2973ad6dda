"""Imports go one way: a room imports only rooms below it. Pulumi, files and clocks are used only in some rooms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import trainform
from tests.conftest import ROOT
from trainform import defaults

LIBRARY = ROOT / "components" / "trainform"
# Lowest first. What stands beside the library's own line (the tool chain, the sandbox) needs errors and words, never a plan.
ORDER = [
    "escaping",
    "secrets",
    "errors",
    "defaults",
    "project",
    "ssh",
    "spec",
    "plan",
    "manifests",
    "rules",
    "backends",
    "objects",
    "revision",
    "render",
    "render_platform",
    "check_files",
    "check",
    "check_platform",
    "cluster",
    "deployed",
    "report_part",
    "releases",
    "review",
    "comparison",
    "drift",
    "promotion",
    "saved",
    "resources",
]
BESIDE = {
    "progress": {"errors"},
    "atomic": {"errors", "signals"},
    "terminal": {"escaping", "errors", "atomic"},
    "locking": {"errors", "progress"},
    "signals": set(),
    "toolchain": {"errors", "defaults", "progress", "locking", "signals"},
    # what a backend's controller would do, without it: it needs plans and live reads, and nothing needs it but the command line
    "rehearsal": {
        "escaping",
        "terminal",
        "errors",
        "defaults",
        "spec",
        "plan",
        "ssh",
        "manifests",
        "rules",
        "backends",
        "objects",
        "render",
        "check",
        "cluster",
        "progress",
        "locking",
        "signals",
    },
    # what `init` and `new` write: text from plain data
    "scaffold": {"errors", "atomic", "defaults", "spec", "backends", "cluster", "review", "drift", "saved"},
    # the rules for the engine, over the objects of any program; nothing needs it but `policy/__main__.py` of a project
    "policy_pack": {
        "escaping",
        "secrets",
        "errors",
        "defaults",
        "project",
        "spec",
        "manifests",
        "rules",
        "backends",
        "check_files",
    },
    # a review as comments on a pull request; nothing needs it but the command line
    "github": {"errors", "defaults", "spec", "review"},
    "sandbox": {"errors", "defaults", "project", "spec", "progress", "locking", "toolchain"},
    # what the other rooms need of this machine and of the cluster; nothing needs it but the command line
    "doctor": {"errors", "defaults", "project", "spec", "backends", "cluster", "rehearsal", "toolchain", "sandbox"},
}
ALLOWED = {room: set(ORDER[:index]) for index, room in enumerate(ORDER)} | BESIDE
for name in ("review", "saved"):
    ALLOWED[name] |= {"signals"}  # it runs the engine, which a signal must not leave behind
ALLOWED["releases"] |= {"atomic", "locking"}  # it writes the files of releases, one promotion at a time
PULUMI = {"resources", "policy_pack"}
PURE = ("ssh", "spec", "plan", "manifests", "rules", "backends", "revision", "render", "render_platform")
# What a user has written; and the shell programs and schemas, which are data of the package: the same in every run, as a constant would be.
READS_FILES = {
    "spec/files.py",
    "spec/release.py",
    "spec/read.py",
    "spec/load.py",
    "spec/stack.py",
    "plan/launch/scripts/__init__.py",
    "manifests/served/validation.py",
}
IMPURE_MODULES = {"os", "random", "time", "secrets", "uuid", "socket", "subprocess", "tempfile", "io", "pathlib"}
IMPURE_NAMES = {"open", "now", "today", "utcnow", "getenv", "environ", "input", "print", "read_text", "read_bytes"}


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


def test_every_room_is_in_the_table_of_the_package() -> None:
    described = set(re.findall(r"`(\w+)`|^ {4}(\w+)  ", str(trainform.__doc__), re.MULTILINE))
    named = {word for pair in described for word in pair if word}
    assert {*ROOMS, "cli"} <= named


def test_the_table_of_the_package_is_in_the_order_of_imports() -> None:
    steps = re.findall(r"^ {4}(\w+)  ", str(trainform.__doc__), re.MULTILINE)
    assert steps[:-1] == [room for room in ORDER if room in steps]


@pytest.mark.parametrize("name", ROOMS)
def test_rooms_import_only_rooms_below_them(name: str) -> None:
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
        if module.split(".")[0] in {"pulumi", "pulumi_kubernetes", "pulumi_policy"} and room(path) not in PULUMI
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
def test_pure_rooms_use_no_files_clocks_or_environment(path: Path) -> None:
    if str(path.relative_to(LIBRARY)) in READS_FILES:
        return
    assert {module.split(".")[0] for module in imports(path)} & IMPURE_MODULES == set()
    tree = ast.parse(path.read_text())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    called |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert called & IMPURE_NAMES == set()


# Names of operators, of the kinds of their objects and of their projects, in any spelling.
OPERATORS = re.compile(
    rf"(?<![a-z])({'|'.join(defaults.BACKENDS)})(?![a-z])|(pytorch|tf|mpi|train)jobs?\b|jobsets|training-operator",
    re.IGNORECASE,
)
ADMITS = "Volcano is here what admits the jobs of any backend, with its queues and gangs"
RUNS = "Volcano is a part of every sandbox"
# Where a text, or a key of a table, names an operator all the same, and why.
NAMING_OPERATORS = {
    "defaults.py": "the table of the backends",
    "spec/environment.py": ADMITS,
    "spec/queues.py": ADMITS,
    "rules/queues.py": ADMITS,
    "rules/limits/queues.py": ADMITS,
    "cluster/queues.py": ADMITS,
    "cli/demo.py": RUNS,
    "cli/demo_intro.py": RUNS,
    "cli/sandbox.py": RUNS,
}
# Rooms that know what a sandbox runs: each operator has its add-on there.
ADDONS = {"sandbox", "toolchain"}
# Rooms whose docstrings users read, as descriptions in JSON Schemas and as help.
SHOWN_DOCSTRINGS = {"spec", "cli"}


def operators_named(path: Path) -> set[str]:
    """Every text of the module that names an operator, keys and conditions among them. Docstrings and comments may say why something is so."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (id(node) not in docstrings or room(path) in SHOWN_DOCSTRINGS)
        and OPERATORS.search(node.value)
    }


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if room(path) not in ADDONS | {"backends"}],
    ids=lambda path: str(path.relative_to(LIBRARY)),
)
def test_no_operator_is_named_outside_the_backends(path: Path) -> None:
    """A choice or a text by name would have to be found again for every new backend: they follow from the table."""
    name = str(path.relative_to(LIBRARY))
    found = operators_named(path)
    if name not in NAMING_OPERATORS:
        assert found == set()
    elif name == "defaults.py":
        assert found - {*defaults.BACKENDS, *defaults.BACKENDS.values(), "volcano"} == set()
    else:
        assert found
        assert {match[0].lower() for text in found for match in OPERATORS.finditer(text)} == {"volcano"}


def test_no_operators_folder_is_imported_outside_the_backends() -> None:
    folders = tuple(f"trainform.backends.{name}." for name in [*defaults.BACKENDS, "replica_specs"])
    found = {
        f"{path.relative_to(LIBRARY)} imports {module}"
        for path in FILES
        if room(path) != "backends"
        for module in imports(path)
        if f"{module}.".startswith(folders)
    }
    assert found == set()


# Who writes on a stream beside the room `terminal`, and why that is no text of a user's on a terminal.
OTHER_STREAMS = {
    "rehearsal/docker/forward.py": "a program in a container: what it writes comes back as a line of a pod",
    "rehearsal/kubexec/client.py": "a program in a container",
    "rehearsal/kubexec/relay.py": "a program in a container",
    "rehearsal/probes/probe_world.py": "a program in a container",
    "policy_pack/policies.py": "a program of the engine's, which reads the number of a port from it",
}
# What the engine prints for us.
BY_THE_ENGINE = {
    "pulumi.RunError('\\n'.join(['', *error.lines()]))",
    "pulumi.log.error(escaped(reason + fix))",
    "pulumi.log.warn(escaped(text), component)",
    "pulumi.log.info(escaped(text))",
}
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
