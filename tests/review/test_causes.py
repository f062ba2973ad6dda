"""Why a job changes: exactly the fields that somebody has changed, in the paths of the files."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec import structs

from tests.plan.test_inputs import RICH
from tests.review.jobs import LORA, deployed, job_review, locate
from tests.support.generators import experiments
from tests.support.leaks import OTHER_HUB_TOKEN
from tests.support.rendering import job_problems
from tests.support.samples import CLUSTER, JOB
from trainform.console.lines import MASK
from trainform.review.causes import Causes, causes
from trainform.review.context import JobReview
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse

ENVIRONMENT = RICH.model_dump(mode="json", by_alias=True)


def found(before: dict[str, Any], after: dict[str, Any], cluster: dict[str, Any] | None = None, run: int = 1) -> Causes:
    other = CLUSTER if cluster is None else cluster
    return causes(job_review(deployed(before), deployed(after, other, run)))


def paths(made: Causes) -> list[str]:
    return [change.place.path for change in made.changes]


Step = tuple[Any, str]  # a key of the data, and what it is called in a path


def leaves(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Everything in a resolved experiment that has no parts, and each list of words."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, (key, f".{key}")))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, item in enumerate(value):
            named = f".{item['name']}" if "name" in item else f"[{index}]"
            yield from leaves(item, (*path, (index, named)))
    else:
        yield path


def spelled(path: tuple[Step, ...]) -> str:
    return "".join(word for _, word in path).removeprefix(".")


def at(data: Any, path: tuple[Step, ...]) -> Any:
    for key, _ in path:
        data = data[key]
    return data


# What names an item of a list: with another name it is another item.
NAMES = ("name",)
# Another value of each type, as a model takes it more often than not.
OTHER: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    str: lambda value: f"{value}x",
    list: lambda value: [*value, value[-1]] if value else [],
}


def test_a_changed_field_of_an_experiment_is_exactly_the_cause() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=10)
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        model = parse(Experiment, data).model
        if model is None or job_problems(model, RICH):
            return
        before = deployed(data, ENVIRONMENT)
        assert before.record is not None
        for path in leaves(before.record.experiment):
            was, changed = at(before.record.experiment, path), copy.deepcopy(before.record.experiment)
            at(changed, path[:-1])[path[-1][0]] = OTHER[type(was)](was) if type(was) in OTHER else was
            if changed == before.record.experiment or parse(Experiment, changed).model is None:
                continue
            record = structs.replace(before.record, experiment=changed)
            made = causes(JobReview("bert", None, None, before.record, record, ()))
            if path[-1][0] not in NAMES:
                assert paths(made) == [spelled(path)]
                seen[path[0][0]] += 1

    check()
    assert len(seen) > 12, seen


def test_the_order_of_roles_is_that_of_the_ranks() -> None:
    roles = {"chief": {"replicas": 1}, "worker": {"replicas": 2}}
    (made,) = found({**JOB, "roles": roles}, {**JOB, "roles": dict(reversed(roles.items()))}).changes
    assert (made.place.path, made.before, made.after) == ("roles", ["chief", "worker"], ["worker", "chief"])


VALUES: dict[str, dict[str, Any]] = {
    "env": {"A": "1", "B": "2"},
    "storage": {"data": {"claim": "data", "mount": "/data"}, "runs": {"claim": "runs", "mount": "/runs"}},
}


@pytest.mark.parametrize("field", VALUES)
def test_the_order_of_variables_and_volumes_reaches_the_pods(field: str) -> None:
    values = VALUES[field]
    one, other = {**JOB, field: values}, {**JOB, field: dict(reversed(values.items()))}
    assert deployed(one).rendered.plan.revision != deployed(other).rendered.plan.revision
    assert paths(found(one, other)) == [field]


def test_steps_are_matched_by_name_and_located_by_index() -> None:
    one = {"name": "fetch", "image": "registry.example.com/tools:1", "command": ["fetch"]}
    two = {"name": "unpack", "image": "registry.example.com/tools:1", "command": ["unpack"]}
    before, after = {**JOB, "prepare": [two]}, {**JOB, "prepare": [one, {**two, "command": ["unpack", "-v"]}]}
    made = causes(job_review(deployed(before), deployed(after)), locate)
    added, changed = made.changes
    assert (added.place.path, added.before) == ("prepare.fetch", None)
    assert (changed.place.path, changed.place.line) == ("prepare.unpack.command", len("prepare[1].command"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"network": {"wait": "60m"}}, {"network": {"wait": "1h"}}),
        ({"shared_memory": "16G"}, {"shared_memory": "16000M"}),
        ({"max_retry": 3}, {}),
    ],
)
def test_another_spelling_is_no_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert found({**JOB, **before}, {**JOB, **after}).changes == ()


def test_a_field_that_only_this_version_has_is_none_with_its_default() -> None:
    """The record of an older version lacks it."""
    job = job_review(deployed(JOB), deployed(JOB))
    assert job.before is not None
    older = {key: value for key, value in job.before.experiment.items() if key != "max_retry"}
    before = structs.replace(job.before, experiment=older)
    assert causes(dataclasses.replace(job, before=before)).changes == ()
    stranger = structs.replace(before, experiment={**job.before.experiment, "gone": 1})
    assert paths(causes(dataclasses.replace(job, before=stranger))) == ["gone"]


def test_the_environment_is_a_cause_under_its_own_paths() -> None:
    kinds = {**CLUSTER["accelerators"], "a800": {**CLUSTER["accelerators"]["a800"], "resource": "nvidia.com/a800"}}
    made = found(LORA, LORA, {**CLUSTER, "accelerators": kinds})
    assert paths(made) == ["environment.accelerators.a800.resource"]
    made = found(LORA, LORA, {**CLUSTER, "node_selector": {"pool": "a800"}})
    assert paths(made) == ["environment.node_selector"]


def test_the_number_of_the_run_and_the_version_are_named() -> None:
    assert paths(found(JOB, JOB, run=2)) == ["run"]
    made = causes(job_review(deployed(JOB), deployed(JOB, version="1.0.0")))
    assert paths(made) == ["version"]
    assert made.visible == ()


def test_the_record_counts_and_not_what_was_wanted() -> None:
    """After an `up` that failed, the components have what it wanted."""
    wanted = {**JOB, "image": f"{JOB['image']}.1"}
    deployed_before, failed, now = deployed(JOB), deployed(wanted), deployed({**JOB, "env": {"A": "1"}})
    job = dataclasses.replace(job_review(failed, now), before=deployed_before.record)
    assert paths(causes(job)) == ["env.A"]


def test_without_a_record_no_cause_is_visible() -> None:
    job = job_review(deployed(LORA), deployed({**LORA, "env": {"NCCL_DEBUG": "INFO"}}))
    assert causes(dataclasses.replace(job, before=None)) == causes(dataclasses.replace(job, after=None)) == Causes()


def test_what_looks_like_a_secret_is_masked_on_both_sides() -> None:
    """The limits refuse it, but a record of before may have it."""
    job = job_review(deployed(JOB), deployed(JOB))
    assert job.before is not None
    before = structs.replace(job.before, experiment={**job.before.experiment, "env": {"HUB": OTHER_HUB_TOKEN}})
    made = causes(dataclasses.replace(job, before=before))
    assert [(change.place.path, change.before, change.after) for change in made.changes] == [("env.HUB", MASK, None)]
    assert OTHER_HUB_TOKEN not in str(made)


def test_only_what_can_make_a_new_revision_is_a_cause_of_one() -> None:
    changed = {
        **LORA,
        "image": f"{JOB['image']}.1",
        "labels": {"team": "vision"},
        "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], "size": "4Ti"}},
    }
    made = found(LORA, changed)
    assert [change.place.path for change in made.replacing] == ["image"]
    assert len(made.changes) == 3
