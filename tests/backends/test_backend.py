"""The table of the backends, and paths in objects."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainform import defaults
from trainform.backends.backend import BACKENDS, JOB_TYPES, Backend, places

CHECK = """\
import sys
from trainform.job.check import check_experiment
check_experiment("hello", "dev").or_raise()
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


def test_every_kind_of_job_of_every_operator_has_its_type() -> None:
    """A job that moves to another operator is replaced by an alias of its former type."""
    versions = {backend.OPERATORS[0].group: backend.OPERATORS[0].api_version for backend in BACKENDS.values()}
    found = (kind.split("/") for backend in BACKENDS.values() for kind in backend.PODS)
    kinds = [(group, kind) for group, kind in found if "Job" in kind]
    other = {
        f"{each.api_version}:MPIJob" for backend in BACKENDS.values() for each in backend.OPERATORS if each.mpi_job
    }
    assert {*JOB_TYPES} == {f"{versions[group]}:{kind}" for group, kind in kinds} | other


BODY = {
    "tasks": [{"name": "worker", "replicas": 7}, {"replicas": 1}, "none"],
    "roles": {"Worker": {"replicas": 7}, "Master": {}},
    "volumes": None,
    "metadata": {"labels": {"example.com/team.name": "vision"}, "annotations": None},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tasks.*.replicas", ["tasks.worker.replicas", "tasks.1.replicas"]),
        ("roles.*.replicas", ["roles.Worker.replicas"]),
        ("roles.Worker", ["roles.Worker"]),
        ("volumes", ["volumes"]),
        ("volumes.*.image", []),
        ("tasks.worker", []),
    ],
)
def test_places(path: str, found: list[str]) -> None:
    assert [".".join(where) for _, _, where in places(BODY, path)] == found
