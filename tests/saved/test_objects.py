"""The live objects that a change touches, as far as it matters to the change. A server on loopback answers for the
cluster."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_read import use
from tests.review.jobs import LORA
from tests.review.screen import reviewed
from tests.support.api_objects import ApiObjects
from tests.support.applied import applied
from tests.support.samples import CLUSTER
from tests.support.websites import website
from trainform.render import render_job
from trainform.review.preview import Preview
from trainform.saved.model import Touched
from trainform.saved.moved import moved_objects
from trainform.saved.objects import touched, unread
from trainform.spec import Environment, Experiment

ENVIRONMENT = Environment.model_validate({**CLUSTER, "cluster": {"context": "dev-cluster"}})


@pytest.fixture
def bodies() -> list[dict[str, Any]]:
    """The job of the review, as it was deployed."""
    rendered = render_job(Experiment.model_validate(copy.deepcopy(LORA)), ENVIRONMENT)
    return [applied(manifest) for manifest in rendered.manifests]


@pytest.fixture
def server(bodies: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiObjects]:
    answers = ApiObjects(bodies)
    with website(answers) as url:
        use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        yield answers


def preview() -> Preview:
    return reviewed().preview


def job(found: list[Touched]) -> Touched:
    """The job object that is there."""
    return next(each for each in found if each.kind == "Job" and each.uid)


def live_job(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    return next(body for body in bodies if body["kind"] == "Job")


def test_what_is_there_and_what_will_be(server: ApiObjects) -> None:
    found = touched(preview(), ENVIRONMENT)
    there = {each.kind for each in found if each.uid}
    assert "Job" in there
    assert [each for each in found if each.kind == "Job" and not each.uid]  # the new revision
    assert unread(found) == []
    assert moved_objects(found, touched(preview(), ENVIRONMENT)) == []


def test_nothing_of_a_job_as_it_was_deployed_differs(server: ApiObjects) -> None:
    assert job(touched(preview(), ENVIRONMENT)).fields == {}


def test_what_somebody_changes_is_seen(server: ApiObjects, bodies: list[dict[str, Any]]) -> None:
    before = touched(preview(), ENVIRONMENT)
    live_job(bodies)["spec"]["tasks"][0]["replicas"] = 2
    (moved,) = moved_objects(before, touched(preview(), ENVIRONMENT))
    assert moved.path.endswith(": spec.tasks.worker.replicas")
    assert moved.now == 2


def test_what_controllers_write_is_not(server: ApiObjects, bodies: list[dict[str, Any]]) -> None:
    before = touched(preview(), ENVIRONMENT)
    body = live_job(bodies)
    body["metadata"] |= {"resourceVersion": "812", "generation": 4, "finalizers": ["x"]}
    body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), "volcano.sh/noted": "yes"}
    body["status"] = {"state": {"phase": "Running"}}
    body["spec"]["suspend"] = True
    assert moved_objects(before, touched(preview(), ENVIRONMENT)) == []


def test_an_object_that_was_made_anew_or_is_gone(server: ApiObjects, bodies: list[dict[str, Any]]) -> None:
    before = touched(preview(), ENVIRONMENT)
    live_job(bodies)["metadata"]["uid"] = "2"
    (moved,) = moved_objects(before, touched(preview(), ENVIRONMENT))
    assert "was deleted and made anew" in moved.sentence
    bodies.remove(live_job(bodies))
    (moved,) = moved_objects(before, touched(preview(), ENVIRONMENT))
    assert "is gone" in moved.sentence


def test_what_may_not_be_read_is_said(server: ApiObjects) -> None:
    server.forbidden = frozenset({"jobs"})
    found = touched(preview(), ENVIRONMENT)
    assert any("Job " in text and "no permission" in text for text in unread(found))
    assert moved_objects(found, found) == []
