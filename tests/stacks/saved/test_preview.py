"""The facts of a preview: steps with their values, without what differs from preview to preview, and the live objects
that they touch. A server on loopback answers for the cluster."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.review.jobs import LORA
from tests.review.screen import reviewed
from tests.stacks.saved.samples import KEY
from tests.support import previews
from tests.support.api_objects import ApiObjects
from tests.support.applied import applied
from tests.support.samples import CLUSTER
from tests.support.websites import website
from trainform.job.render import render_job
from trainform.review.preview import Preview
from trainform.review.read import read_preview
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.stacks.saved.changed_facts import changed_facts
from trainform.stacks.saved.preview import COMPARED, planned, touched
from trainform.stacks.saved.saved_review import Change

URN = previews.urn(previews.CONFIG_MAP, "notes")
PROVIDER = previews.urn("pulumi:providers:kubernetes", "bert-cluster")


def preview(*events: previews.Data) -> Preview:
    return read_preview(previews.stream(*events))


def _planned(found: Preview) -> dict[str, Any]:
    return planned(found, KEY)


def test_steps_with_their_values_and_options() -> None:
    found = _planned(reviewed().preview)
    changing = [step for step in reviewed().preview.steps if step.operation != "same" or step.type.startswith(COMPARED)]
    assert {*found} == {f"{step.kind} {step.name}" for step in changing}
    (job,) = (each for name, each in found.items() if name.startswith("Job "))
    assert job["(operation)"] == "replace"
    assert job["spec"]["tasks"][0]["replicas"] == 4
    assert "INFO" in str(job)


def test_a_provider_that_nothing_happens_to_is_there_with_its_version() -> None:
    side = previews.state({"version": "4.25.0"})
    (found,) = _planned(preview(previews.step_event("same", PROVIDER, side, side))).values()
    assert (found["(operation)"], found["version"]) == ("same", "4.25.0")


@pytest.mark.parametrize("secret", [previews.secret(), previews.secret("hunter2")])
def test_no_secret_is_in_it(secret: Any) -> None:
    urn = previews.urn(previews.SECRET, "token")
    old = previews.state({"data": {"token": previews.secret("hunter1")}})
    found = _planned(preview(previews.step_event("update", urn, old, previews.state({"data": {"token": secret}}))))
    assert "hunter" not in str(found)
    assert "[secret" in str(found)


def test_that_a_secret_changes_is_in_it() -> None:
    urn = previews.urn(previews.SECRET, "token")
    side = previews.state({"data": {"token": previews.secret()}, "type": "Opaque"})
    update = previews.step_event("update", urn, side, side, {"data.token": "update"})
    other = previews.step_event("update", urn, side, side, {"type": "update"})
    assert _planned(preview(update)) != _planned(preview(other))


SCRIPT = "export API_TOKEN=abc123def4\n{}\n"


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        (previews.CONFIG_MAP, {"data": {"run.sh": SCRIPT}}),
        ("kubernetes:batch/v1:Job", {"spec": {"containers": [{"command": ["sh", "-c", SCRIPT]}]}}),
        (previews.SECRET, {"stringData": {"password": "{}"}}),
        ("command:local:Command", {"create": "TOKEN=abcdef123 ./deploy.sh; {}"}),
    ],
)
def test_a_masked_value_that_is_changed_after_the_review(type_: str, inputs: previews.Data) -> None:
    def found(line: str) -> dict[str, Any]:
        state = previews.state(json.loads(json.dumps(inputs).replace("{}", line)))
        return _planned(preview(previews.step_event("create", previews.urn(type_, "tools"), None, state)))

    reviewed, other = found("rsync /data /backup"), found("rm -rf /data")
    assert "rsync" not in str(reviewed)
    assert reviewed == found("rsync /data /backup")
    (change,) = changed_facts({"step": reviewed}, {"step": other})
    assert (change.path.partition(": ")[2], change.was, change.now) == ("(options).masked", None, None)


def test_a_name_that_is_chosen_later_in_a_masked_value() -> None:
    def found(name: str) -> dict[str, Any]:
        metadata = {"name": name, "annotations": {"pulumi.com/autonamed": "true"}}
        state = previews.state({"metadata": metadata, "data": {"run.sh": SCRIPT.format(name)}})
        return _planned(preview(previews.step_event("create", URN, None, state)))

    assert found("notes-1f3a9c2b") == found("notes-77d0e1aa")


def test_a_kubeconfig_with_another_token() -> None:
    def found(token: str) -> dict[str, Any]:
        side = previews.state({"kubeconfig": json.dumps({"users": [{"user": {"token": token}}]})})
        return _planned(preview(previews.step_event("same", PROVIDER, side, side)))

    assert found("hf-abc123def4") == found("hf-zyx987wvu6")


# --- live objects


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


def objects() -> dict[str, Any]:
    return touched(reviewed().preview, ENVIRONMENT)[0]


def changes(before: dict[str, Any]) -> list[Change]:
    return changed_facts({"object": before}, {"object": objects()})


def jobs(found: dict[str, Any]) -> list[Any]:
    return [each for name, each in found.items() if name.startswith("Job/")]


def live_job(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    return next(body for body in bodies if body["kind"] == "Job")


def test_objects_that_exist_and_that_will(server: ApiObjects) -> None:
    found, unread = touched(reviewed().preview, ENVIRONMENT)
    assert unread == []
    assert sorted(map(bool, jobs(found))) == [False, True], "the new revision does not exist yet"
    (job,) = filter(None, jobs(found))
    assert [*job] == ["uid", "phase"], "nothing differs from what was deployed"
    assert changes(found) == []


def test_what_controllers_write_is_not(server: ApiObjects, bodies: list[dict[str, Any]]) -> None:
    before = objects()
    body = live_job(bodies)
    body["metadata"] |= {"resourceVersion": "812", "generation": 4, "finalizers": ["x"]}
    body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), "volcano.sh/noted": "yes"}
    body["spec"]["suspend"] = True
    assert changes(before) == []


@pytest.mark.parametrize(
    ("phase", "shown"), [("Running", "running"), ("Restarting", "running"), ("Failed", "finished")]
)
def test_a_job_that_has_started_or_ended_since(server: ApiObjects, bodies: Any, phase: str, shown: str) -> None:
    before = objects()
    live_job(bodies)["status"] = {"state": {"phase": phase}}
    (found,) = changes(before)
    assert (found.was, found.now) == ("pending", shown)


def test_what_may_not_be_read_is_said(server: ApiObjects) -> None:
    before = objects()
    server.forbidden = frozenset({"jobs"})
    found, unread = touched(reviewed().preview, ENVIRONMENT)
    assert any("Job " in text and "no permission" in text for text in unread)
    assert jobs(found) == []
    assert changes(before) == []
