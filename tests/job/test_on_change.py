"""What a field says of its change is true: proved by rendering an experiment before and after, on every backend."""

from __future__ import annotations

import copy
import datetime
import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.conftest import ROOT
from tests.plan.test_inputs import ON_IT, VARIATIONS, at, put
from tests.support.generators import ENVIRONMENT, experiments
from tests.support.samples import JOB, experiment
from tests.support.variations import changed, variations
from trainform.backends.backend import BACKENDS
from trainform.job.render import render_job
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.spec.base_model import OnChange, on_change, set_fields
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.local_files import read_files
from trainform.spec.places import models_of

RICH = Environment.model_validate(ENVIRONMENT)
CHANGES = list(variations())
DATE = "a date, which JSON does not have"
BY_BACKEND = {OnChange.IN_PLACE_BY_BACKEND, OnChange.IN_PLACE_WITHOUT_RANKS}
KEEPS_REVISION = {OnChange.IN_PLACE, OnChange.NO_OBJECT, OnChange.GROWS, OnChange.CLAIM_REPLACED}


@functools.cache
def _made(backend: str, written: str) -> tuple[Plan, dict[str, Any]] | None:
    data = {"backend": backend, **json.loads(written, object_hook=_with_dates)}
    parsed = read_files(parse(Experiment, data), ROOT)
    if parsed.model is None or parsed.problems:
        return None
    job = render_job(parsed.model, RICH)
    return None if job.problems else (job.plan, {made.key: made.body for made in without_record(job.manifests)})


def without_record(manifests: Iterable[Manifest]) -> list[Manifest]:
    """The objects without the record of what is deployed, which follows every change."""
    return [manifest for manifest in manifests if not manifest.is_record]


def made(backend: str, data: dict[str, Any]) -> tuple[Plan, dict[str, Any]] | None:
    """The plan and the objects of the experiment on the backend; None where it is refused."""
    return _made(backend, json.dumps(data, default=lambda day: {DATE: day.isoformat()}))


def _with_dates(mapping: dict[str, Any]) -> Any:
    return datetime.date.fromisoformat(mapping[DATE]) if DATE in mapping else mapping


def change_at(model: BaseModel, path: str) -> OnChange:
    """What the field at the path says, such as `roles.worker.tolerations.0.key`."""
    found: Any = model
    kinds: list[type[BaseModel]] = [type(model)]
    for part in path.split("."):
        fields = [field for kind in kinds for name, field in kind.model_fields.items() if part in (name, field.alias)]
        if fields:
            (found,) = fields[:1]
            kinds = models_of(found.annotation)
    return on_change(found)


def does(change: OnChange, before: tuple[Plan, dict[str, Any]], after: tuple[Plan, dict[str, Any]]) -> bool:
    """Whether the objects change as the field says."""
    (plan, objects), (changed_plan, others) = before, after
    same_revision = plan.revision == changed_plan.revision
    if change is OnChange.NO_OBJECT:
        return same_revision and objects == others
    if change is OnChange.NEW_OBJECTS:
        return not same_revision and not {name_of(body) for body in objects.values()} & {
            name_of(body) for body in others.values()
        }
    if change in KEEPS_REVISION:
        return same_revision
    return change is OnChange.IN_PLACE_BY_PATCH or not same_revision or objects == others


def name_of(body: Mapping[str, Any]) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


@pytest.mark.parametrize("path", dict.fromkeys(path for path, _, _ in CHANGES if path != "backend"))
def test_a_field_says_what_its_change_does(path: str) -> None:
    for (_, data, other), backend in itertools.product((found for found in CHANGES if found[0] == path), BACKENDS):
        on_it, changed_on_it = {**data, "backend": backend}, {**other, "backend": backend}
        before, after = made(backend, on_it), made(backend, changed_on_it)
        if before is None or after is None:
            continue
        change = change_at(Experiment.model_validate(on_it), path)
        if change in BY_BACKEND:
            change = here(path, before[0], after[0])
        assert does(change, before, after), (backend, data, other)


def test_another_backend_makes_a_new_revision() -> None:
    found = [made(name, {**JOB, "backend": name}) for name in BACKENDS]
    revisions = [one[0].revision for one in found if one is not None]
    assert len(revisions) > 2
    assert len(set(revisions)) == len(revisions)


def here(path: str, *plans: Plan) -> OnChange:
    """What a plan says of the field for this job, in one of the plans where the field has another value than its
    default."""
    (found,) = {plan.changes[path] for plan in plans if path in plan.changes}
    return OnChange[found.upper()]


def test_every_change_is_rendered_on_a_backend() -> None:
    """No variation is refused everywhere, and none leaves everything as it is everywhere unless the field says so."""
    unseen = []
    for path, data, other in CHANGES:
        results = [(made(name, {**data, "backend": name}), made(name, {**other, "backend": name})) for name in BACKENDS]
        shown = [(one, another) for one, another in results if one is not None and another is not None]
        change = change_at(Experiment.model_validate(data), path)
        same = all(one[0].revision == another[0].revision for one, another in shown)
        if not shown or (same and change not in KEEPS_REVISION | {OnChange.IN_PLACE_BY_PATCH} and path != "backend"):
            unseen.append((path, change))
    assert unseen == []


def test_every_field_of_an_experiment_has_a_variation() -> None:
    varied = {general(Experiment, path) for path, _, _ in CHANGES}
    leaves = {path for path, change in all_fields(Experiment) if change is not OnChange.BY_PART}
    assert leaves - varied == set()


def all_fields(kind: type[BaseModel], path: str = "") -> Iterator[tuple[str, OnChange]]:
    """Every field with `*` for a name of the user's or a number."""
    for name, field in kind.model_fields.items():
        where = f"{path}{name if field.alias is None else field.alias}"
        yield where, on_change(field)
        many = "dict[" in str(field.annotation) or "list[" in str(field.annotation)
        for model in models_of(field.annotation):
            yield from all_fields(model, f"{where}.*." if many else f"{where}.")


@functools.cache
def known_paths(kind: type[BaseModel]) -> frozenset[str]:
    return frozenset(where for where, _ in all_fields(kind))


def general(kind: type[BaseModel], path: str) -> str:
    """`roles.*.cpu` of `roles.worker.cpu`."""
    known = known_paths(kind)
    parts = path.split(".")
    found = ""
    for part in parts:
        found = next(
            longer
            for word in (part, "*")
            if any(one == (longer := f"{found}.{word}".lstrip(".")) or one.startswith(f"{longer}.") for one in known)
        )
    return found


def test_the_answers_differ_by_backend_as_the_backends_say() -> None:
    """The three fields of which a backend decides: in place on one, a new revision on another."""
    seen: dict[str, set[str]] = {}
    for path, data, _ in CHANGES:
        if change_at(Experiment.model_validate(data), path) in BY_BACKEND:
            for backend in BACKENDS:
                found = made(backend, {**data, "backend": backend})
                if found is not None and path in found[0].changes:
                    seen.setdefault(path.rpartition(".")[2], set()).add(found[0].changes[path])
    assert seen == {field: {"in_place", "new_revision"} for field in ("ttl", "min_available", "replicas")}


def test_generated_experiments_change_as_their_plan_says() -> None:
    """One place of an experiment gets what another one has there. The plan says of it what the objects then show.

    hypothesis draws constants of the modules that a process has imported, so the examples differ by what ran before:
    there are enough of them for the count at the end.
    """
    seen: Counter[str] = Counter()

    @settings(max_examples=120)
    @given(experiments(), experiments(), st.sampled_from(list(BACKENDS)), st.data())
    def check(one: dict[str, Any], other: dict[str, Any], backend: str, data: st.DataObject) -> None:
        before = made(backend, {**one, "backend": backend})
        common = [] if before is None else [path for path in leaves(before[0]) if at(other, path) != {}]
        if before is None or not common:
            return
        path = data.draw(st.sampled_from(common))
        mixed = copy.deepcopy(one)
        put(mixed, path, at(other, path))
        after = made(backend, {**mixed, "backend": backend})
        if after is not None and before != after:
            change = before[0].changes[".".join(path)]
            seen[change] += 1
            assert does(OnChange[change.upper()], before, after), path

    check()
    assert seen["new_revision"] > 3


def leaves(plan: Plan) -> Iterator[tuple[str, ...]]:
    """The paths of the plan's fields that lead through mappings alone."""
    return (tuple(path.split(".")) for path in plan.changes if "[" not in path and path != "name")


# Fields of an environment that some jobs read, each with such a job and environment.
OF_SOME_JOBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mpi_job": (
        {
            "backend": "kubeflow",
            "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
            "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
        },
        {},
    ),
    "workload_priorities": (
        {"backend": "jobset", "priority_class": "urgent", "queue": "team"},
        {"admission": "kueue", "queues": {}, "priority_classes": {}},
    ),
}


@pytest.mark.parametrize("path", OF_SOME_JOBS)
def test_a_field_that_some_jobs_read_gives_them_a_new_revision(path: str) -> None:
    parts, given = OF_SOME_JOBS[path]
    job, base = experiment(**parts), {**copy.deepcopy(ENVIRONMENT), **given, "limits": {}}
    first, second = (
        render_job(job, Environment.model_validate(data)) for data in (base, changed(base, path, VARIATIONS[path]))
    )
    assert (first.problems, second.problems) == ((), ())
    assert first.plan.revision != second.plan.revision


OF_ENVIRONMENT = {
    OnChange.NEW_REVISIONS: (False, None),
    OnChange.MOVED_PORTS: (False, None),
    OnChange.NO_OBJECT: (True, True),
}


@pytest.mark.parametrize("path", [path for path in VARIATIONS if path not in OF_SOME_JOBS])
def test_a_field_of_an_environment_says_what_its_change_does(path: str) -> None:
    base = {**copy.deepcopy(ENVIRONMENT), "backend": "jobset", "queues": {}}
    price = {"amount": 1.0, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}
    base["accelerators"]["a800"]["price_per_hour"] = price
    model, change = Experiment.model_validate(ON_IT), change_at(Environment.model_validate(base), path)
    found = []
    for data in (base, changed(base, path, VARIATIONS[path])):
        environment = parse(Environment, data).model
        assert environment is not None
        job = render_job(model, environment)
        bodies = [manifest.body for manifest in without_record(job.manifests)] + [
            made.body for made in platform_manifests(environment)
        ]
        found.append((job.plan.revision, bodies, environment.cluster))
    (revision, objects, cluster), (new_revision, others, other_cluster) = found
    if change in OF_ENVIRONMENT:
        same_revision, same_objects = OF_ENVIRONMENT[change]
        assert (revision == new_revision) == same_revision
        assert same_objects is None or (objects == others) == same_objects
    elif change is OnChange.MADE_OR_REMOVED:
        assert (revision == new_revision, abs(len(objects) - len(others))) == (True, 1)
    elif change is OnChange.OTHER_CLUSTER:
        assert cluster != other_cluster
    elif change is OnChange.NAMESPACE_REPLACED:
        assert {body["kind"] for body in objects if where(body) in map(where, others)} == {"PriorityClass"}
    elif change is OnChange.CLAIMS_REPLACED:
        assert {body["kind"] for body, other in zip(objects, others, strict=True) if body != other} == {
            "PersistentVolumeClaim"
        }
    else:
        assert change in (OnChange.BY_PART, OnChange.NEW_OBJECTS)


def where(body: Mapping[str, Any]) -> tuple[str, str, str]:
    return *name_of(body), body["metadata"].get("namespace", "")


def test_every_field_says_it_and_every_answer_is_used() -> None:
    said = {change for kind in (Experiment, Environment) for _, change in all_fields(kind)}
    assert said == set(OnChange)


def test_only_a_section_leaves_it_to_its_parts() -> None:
    for kind in (Experiment, Environment):
        fields = dict(all_fields(kind))
        for path, change in fields.items():
            if change is OnChange.BY_PART:
                assert [below for below in fields if below.startswith(f"{path}.")], path


def test_what_an_experiment_sets_is_named_by_its_path() -> None:
    data = {
        **JOB,
        "roles": {
            "worker": {
                "replicas": 2,
                "tolerations": [{"key": "gpu"}],
                "env": {"A": "1", "B": {"field": "status.podIP"}},
            }
        },
        "storage": {"runs": {"size": "1Ti", "class": "fast", "mount": "/runs"}},
    }
    assert [path for path, _ in set_fields(Experiment.model_validate(data))] == [
        "name", "image", "launcher.command", "roles.worker.replicas", "roles.worker.env", "roles.worker.env.B.field",
        "roles.worker.tolerations[0].key", "storage.runs.size", "storage.runs.class", "storage.runs.mount",
    ]  # fmt: skip
