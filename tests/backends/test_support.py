"""Tables of what operators do with fields."""

from __future__ import annotations

from tests.support.samples import experiment
from tools.docs.backends import comparison_page, field_paths
from trainform.backends.backend import BACKENDS
from trainform.backends.refusals import support_notes, support_problems
from trainform.backends.support import non_default, refused
from trainform.spec.experiment import Experiment

WORDS = {"restart": refused("is not known", "remove it"), "roles.*.restart": refused("is not known", "remove it")}


def test_a_field_that_is_not_set_is_no_problem() -> None:
    assert list(support_problems(experiment(), WORDS)) == []
    assert list(non_default(experiment(), "network.host")) == []


def test_every_occurrence_is_reported() -> None:
    made = experiment(restart="never", roles={"master": {"restart": "on-failure"}, "worker": {}})
    found = [(problem.path, problem.value) for problem in support_problems(made, WORDS)]
    assert found == [("restart", "never"), ("roles.master.restart", "on-failure")]
    assert list(support_notes(made, WORDS)) == []


def test_items_of_a_list() -> None:
    steps = [{"name": "code", "command": ["a"]}, {"name": "data", "command": ["b"], "roles": ["worker"]}]
    assert list(non_default(experiment(prepare=steps), "prepare.*.roles")) == [("prepare[1].roles", ["worker"])]
    assert [path for path, _ in non_default(experiment(prepare=steps), "prepare.*.command")] == [
        "prepare[0].command", "prepare[1].command"
    ]  # fmt: skip


def test_values_that_are_parts() -> None:
    torchrun = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 2}}}
    assert [path for path, _ in non_default(experiment(launcher=torchrun), "launcher.torchrun.elastic")] == [
        "launcher.torchrun.elastic"
    ]
    assert list(non_default(experiment(), "launcher.torchrun.elastic")) == []


def test_tables_name_fields_that_are_there(backend: str) -> None:
    assert BACKENDS[backend].FIELDS.keys() <= set(field_paths(Experiment))


def test_every_field_that_an_operator_does_otherwise_has_a_row_in_the_comparison() -> None:
    page = comparison_page()
    fields = list(field_paths(Experiment))
    assert len(fields) == len(set(fields)) > 100
    named = {field for backend in BACKENDS.values() for field in backend.FIELDS}
    assert all((f"| `{field}` |" in page) == (field in named) for field in fields)
