"""The table of the backends: each is imported when it is asked for, and must be one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.table import BACKENDS

CHECK = """\
import sys
from trainform.check import check_experiment
check_experiment("hello", "dev").checked()
print(*sorted(name for name in sys.modules if name.startswith("trainform.backends.") and name.endswith(".backend")))
"""


def test_each_is_one_and_made_once() -> None:
    assert [*BACKENDS] == [*defaults.BACKENDS]
    assert len(BACKENDS) == len(defaults.BACKENDS)
    for name in BACKENDS:
        assert isinstance(BACKENDS[name], Backend)
        assert BACKENDS[name] is BACKENDS[name]


def test_an_unknown_name() -> None:
    with pytest.raises(KeyError):
        BACKENDS["nomad"]


def test_a_row_whose_class_is_no_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(defaults.BACKENDS, "other", "collections:Counter")
    with pytest.raises(TypeError, match="is not a subclass of Backend"):
        BACKENDS["other"]


def test_a_check_imports_the_backend_that_it_needs_and_no_other() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["trainform.backends.backend", "trainform.backends.volcano.backend"]
