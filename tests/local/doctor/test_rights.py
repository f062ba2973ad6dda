"""The kinds that `pulumi up` creates, compared with the rendered objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.cluster.operators import operators
from trainform.local.doctor.cluster import environment_kinds, experiment_kinds
from trainform.spec.environment import Environment
from trainform.spec.load import load_environment

GOLDEN = ROOT / "tests" / "golden"
OWN_QUEUE = (
    "scheduling.volcano.sh",
    "queues",
)  # of an experiment that brings its own: the platform team's right, said in the docs


def kinds(path: Path) -> set[tuple[str, str]]:
    """Return group and plural of every object in a file of golden manifests."""
    return {_kind(body) for body in yaml.safe_load_all(path.read_text())}


def _kind(body: dict[str, Any]) -> tuple[str, str]:
    group, slash, _ = body["apiVersion"].partition("/")
    kind = body["kind"].lower()
    return group if slash else "", f"{kind}es" if kind.endswith("s") else f"{kind}s"


@pytest.mark.parametrize("backend", BACKENDS)
def test_experiments(backend: str) -> None:
    """All kinds of the teaching experiments, and no kind of another operator."""
    rendered = {kind for path in GOLDEN.glob(f"*/{backend}.yaml") for kind in kinds(path)} - {OWN_QUEUE}
    wanted = {_split(kind) for kind in experiment_kinds(backend, defaults.VOLCANO)}
    assert rendered - wanted == set()
    assert {group for group, _ in wanted} == {group for group, _ in rendered}


@pytest.mark.parametrize("admission", [defaults.NONE, defaults.KUEUE])
def test_other_admissions_need_no_gangs(admission: str) -> None:
    volcano, other = (set(experiment_kinds("jobset", name)) for name in (defaults.VOLCANO, admission))
    assert volcano - other == {"podgroups.scheduling.volcano.sh"}


def test_environments() -> None:
    """Only what is listed; the golden manifests of `dev` list no priority class."""
    dev = load_environment("dev").or_raise()
    listed = {kind for path in GOLDEN.glob("dev/*.yaml") for kind in kinds(path)}
    assert {_split(kind) for kind in environment_kinds(dev)} == listed
    small = Environment.model_validate({"name": "lab", "namespace": {"name": "team-vision"}})
    assert environment_kinds(small) == []


def _split(kind: str) -> tuple[str, str]:
    plural, _, group = kind.partition(".")
    return group, plural


def test_operators_are_those_of_the_backends() -> None:
    assert [*operators()] == [*BACKENDS, defaults.KUEUE, "mpi-operator"]
