"""Every teaching experiment on every operator that can run it, all in one stack: up as planned, a change in place and
nothing else to change, a change beside the jobs, no drift, destroy. test_failed_ups has new revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.engine.drifting import drift, take_over
from tests.engine.live import Live, until
from tests.engine.pods import as_planned, pods_of
from tests.engine.programs import stack_of
from tests.engine.project import RECORD, Project
from tests.support.rendering import job_problems
from tests.support.repository import ROOT, names, read
from tests.support.sandboxes import OF_TEST
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.manifest import job_body
from trainform.plan.record import read_record
from trainform.spec.experiment import Experiment
from trainform.spec.load import load_environment

pytestmark = pytest.mark.proof("every experiment on every operator")

EXPERIMENTS = names("experiments")
CLAIM = "cloud-ai-test-pvc-1"  # of the environment's stack


def able(backend: str) -> list[str]:
    """Return the teaching experiments that the operator can run."""
    environment = load_environment("dev", ROOT).or_raise()
    return [name for name in EXPERIMENTS if not job_problems(on_backend(name, backend), environment)]


def on_backend(name: str, backend: str) -> Experiment:
    return Experiment.model_validate({**read("experiments", name), "backend": backend})


def small(data: dict[str, Any]) -> None:
    """All experiments at once fit the cluster: one accelerator for each pod that has some."""
    for role in data["roles"].values():
        role |= {"accelerators": {"a800": 1}} if role.get("accelerators") else {}
        for field in ("cpu", "memory"):
            role.pop(field, None)


@pytest.fixture
def many(addons_project: Project, addons_live: Live) -> Project:
    """Return a project whose one stack has all experiments."""
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    addons_live.create("persistentvolumeclaims", claim, addons_project.namespace)
    return addons_project


Pairs = dict[str, tuple[str, str]]


def one_each() -> Pairs:
    """On the operators that `make test` has."""
    return {f"resnet-{backend}": ("resnet", backend) for backend in OF_TEST}


def every() -> Pairs:
    """Return all that can be run, on every operator."""
    pairs = {f"{name}-{backend}": (name, backend) for backend in BACKENDS for name in able(backend)}
    assert {backend for _, backend in pairs.values()} == {*BACKENDS}
    return pairs


@pytest.mark.parametrize(
    "chosen", [pytest.param(one_each, marks=pytest.mark.shows("a job's life on other operators")), every]
)
def test_the_life_of_experiments_on_operators(chosen: Callable[[], Pairs], many: Project, addons_live: Live) -> None:
    pairs = chosen()

    def write(**changes: Any) -> None:
        for called, (name, backend) in pairs.items():

            def edit(data: dict[str, Any], backend: str = backend) -> None:
                small(data)
                data |= {"backend": backend, **changes}

            many.copied(name, edit, called)

    write()
    stack = stack_of(many, "all", list(pairs))
    many.up(stack)
    for called in pairs:
        as_planned(addons_live, many.plan(called))

    write(labels={"team": "vision"})  # what webhooks and controllers wrote since is no change
    assert sorted((step.op, step.name, step.paths) for step in many.applied(stack)) == sorted(
        ("update", f"{called}-{key}", (path,))
        for called in pairs
        for key, path in (("job", "metadata.labels.team"), ("deployed", RECORD))
    )

    before = identities(many, addons_live, pairs)
    write(labels={"team": "vision"}, manifest_overrides={"launch-script": {"metadata": {"labels": {"team": "vision"}}}})
    assert {(step.op, step.name, step.paths) for step in many.applied(stack) if "launch-script" not in step.name} == {
        ("update", f"{called}-deployed", (RECORD,)) for called in pairs
    }
    assert identities(many, addons_live, pairs) == before
    for called in pairs:
        record = read_record(addons_live.get("configmaps", f"{called}-deployed", many.namespace))
        assert record is not None
        assert structs.replace(record, version=None) == many.plan(called).record
    many.unchanged(stack)
    nothing_has_drifted(many, addons_live, pairs)
    many.destroy(stack)
    until(lambda: not addons_live.find_all("pods", many.namespace), "all pods to go")


def identities(project: Project, live: Live, pairs: Pairs) -> list[tuple[str, int]]:
    """Return UID and generation of the jobs and their pods, of which no operator makes others while these are equal."""
    plans = [project.plan(called) for called in pairs]
    names = {plan.job for plan in plans}
    bodies = {(body["apiVersion"], body["kind"]): body for body in (job_body(job_manifests(plan)) for plan in plans)}
    jobs = [job for body in bodies.values() for job in live.find_like(body) if job["metadata"]["name"] in names]
    pods = [pod for plan in plans for pod in pods_of(live, plan).values()]
    return [(found["metadata"]["uid"], found["metadata"].get("generation", 1)) for found in [*jobs, *pods]]


def nothing_has_drifted(project: Project, live: Live, pairs: Pairs) -> None:
    """Each experiment counts as deployed by its own stack from here on."""
    found = drift(project, *(take_over(live, project, called) for called in pairs))
    for called in pairs:
        stack = found[f"{called}.dev"]
        told = (stack["outcome"], stack["objects"], stack["notes"], stack["not_compared"])
        assert told == ("in sync", [], [], []), called
        assert stack["compared"] == len(project.rendered(called).manifests)
