"""Options of the test run, and golden files: complete outputs that are reviewed like code."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.chance import draw_the_same_in_every_process
from tests.support.docker import docker_daemon, image, real_nodes
from tests.support.repository import ROOT
from tests.support.sandboxes import addons, addons_exports, pytest_runtest_teardown, real_sandbox
from tests.support.scheduling import order, pytest_xdist_make_scheduler
from tests.support.selection import MARKERS, select
from trainform.local.toolchain.golang import COLLECT_AT

__all__ = [
    "ROOT",
    "addons",
    "addons_exports",
    "docker_daemon",
    "image",
    "pytest_runtest_teardown",
    "pytest_xdist_make_scheduler",
    "real_nodes",
    "real_sandbox",
]

# No deadline per example, which would fail on a busy machine.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run, so that a failure is caused by the change. `--hypothesis-profile explore` draws new
# ones.
settings.register_profile("trainform", settings.get_profile("explore"), derandomize=True)
settings.load_profile("trainform")
draw_the_same_in_every_process()


# Settings of Python's that change what a program prints, and when. A user's shell has none of them, and a test is right
# only as a user would see it.
NOT_A_USERS = (
    "PYTHONUNBUFFERED",
    "PYTHONWARNINGS",
    "PYTHONDEVMODE",
    "PYTHONVERBOSE",
    "PYTHONINSPECT",
    "PYTHONOPTIMIZE",
)


def pytest_configure(config: pytest.Config) -> None:
    """Set up the environment of this process and its children."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    # Keyboard signals as in a terminal: shells ignore them in background jobs, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    os.environ.setdefault("GOGC", COLLECT_AT)  # control planes need a fifth less processor time
    for name in NOT_A_USERS:
        os.environ.pop(name, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the chosen part, the long ones first."""
    select(config, items)
    order(items)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing")
    parser.addoption("--part", choices=["test", "proof", "rehearsal"], help="the tests of one of the make targets")
    parser.addoption("--examples", type=int, default=120, help="generated experiments for the engine tests")


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts in the repository, without settings of the user's."""
    monkeypatch.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("TRAINFORM_ENVIRONMENT")]:
        monkeypatch.delenv(name)


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called pulumi, whose text a test writes. PATH has only this one and the programs of the system."""
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.touch(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


@pytest.fixture
def hangups_end() -> Iterator[None]:
    """SIGHUP ends a program and its children, also if the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


Golden = Callable[[Path, str], None]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare text with a file, or write the file where `--update-golden` is given."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), (
            f"{path.relative_to(ROOT)}: review and run with --update-golden"
        )

    return compare
