"""Every test belongs to a part of the test run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

CONFTEST = """\
import pytest
from tests.support.selection import MARKERS, select

def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)

def pytest_addoption(parser):
    parser.addoption("--part", choices=["test", "proof"])

def pytest_collection_modifyitems(config, items):
    select(config, items)

@pytest.fixture
def sandbox():
    pass
"""
TESTS = """\
import pytest

pytestmark = pytest.mark.proof("kills")

def test_the_mark_of_a_file(sandbox): pass

@pytest.mark.shows("up")
def test_the_mark_of_a_test(sandbox): pass

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.shows("two"))])
def test_the_mark_of_parameters(sandbox, n): pass
"""


def run(folder: Path, tests: str, *words: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder of its own, with our choice of tests."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *words]
    environ = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run([*command, str(folder)], cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("part", "outcome"), [("test", "2 passed, 2 deselected"), ("proof", "2 passed, 2 deselected")])
def test_the_closest_mark_counts(tmp_path: Path, part: str, outcome: str) -> None:
    done = run(tmp_path, TESTS, "--part", part)
    assert done.returncode == 0, done.stdout
    assert outcome in done.stdout


def test_pure_tests_are_in_make_test(tmp_path: Path) -> None:
    assert "1 passed" in run(tmp_path, "def test_it(): pass", "--part", "test").stdout
    assert "1 deselected" in run(tmp_path, "def test_it(): pass", "--part", "proof").stdout


@pytest.mark.parametrize(
    ("tests", "sentence"),
    [
        ("def test_it(sandbox): pass", "test_it runs on real parts: mark it with `shows` (make test) or with `proof`"),
        ("import pytest\n@pytest.mark.proof\ndef test_it(): pass", "test_it has the mark `proof` without a reason"),
        (
            "import pytest\n@pytest.mark.proof('kills')\ndef test_it(addons): pass",
            "test_it uses the sandbox with add-ons: name its file",
        ),
    ],
)
def test_a_test_without_a_place_is_an_error(tmp_path: Path, tests: str, sentence: str) -> None:
    done = run(tmp_path, tests)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert sentence in done.stderr


def test_the_makefile_and_the_tests_agree_on_the_add_ons_of_make_test() -> None:
    from tests.support.sandboxes import OF_TEST

    assert f"ADDONS_OF_TEST  := {','.join(OF_TEST)}\n" in (ROOT / "Makefile").read_text()
