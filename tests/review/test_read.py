"""Both forms of a preview as they are read: steps, messages, policies, and why a preview failed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.previews_with_a_replacement import CLAIM_URN, JOB, job, replacement
from tests.support import previews
from tests.support.previews import ROLE_GROUP, TRAINING_JOB, state, step_event, urn
from trainform.console.lines import UNKNOWN
from trainform.review.preview import Message, PolicyResult
from trainform.review.read import read_preview


@pytest.mark.parametrize("form", [previews.stream, previews.digest])
@pytest.mark.parametrize("before", ["", "Installing policy pack…\n", "{not JSON}\n{\n", "\ufeff"])
def test_both_forms_say_the_same_whatever_text_comes_before(form: Any, before: str) -> None:
    events = [
        step_event("update", urn(ROLE_GROUP, "bert-node"), state({"replicas": 2}), state({"replicas": 3})),
        step_event("create", CLAIM_URN, None, state({"spec": {"storage": "1Ti"}}, retainOnDelete=True, protect=True)),
        previews.diagnostic("warning", "the queue is full\n", JOB),
    ]
    preview = read_preview(before + form(*events))
    assert preview.form == ("stream" if form is previews.stream else "digest")
    update, create = preview.steps
    assert (update.operation, update.name, update.kind) == ("update", "bert-node", "RoleGroup")
    assert update.old is not None
    assert update.new is not None
    assert (update.old.inputs, update.new.inputs) == ({"replicas": 2}, {"replicas": 3})
    assert update.detail is None
    assert create.old is None
    assert create.new is not None
    assert (create.new.keep, create.new.protect, create.new.parent) == (True, True, previews.root())
    assert preview.messages == (Message("warning", "the queue is full", JOB),)
    assert preview.failed == ""
    assert preview.masked == 0


@pytest.mark.parametrize(
    "order",
    [
        ("create-replacement", "replace", "delete-replaced"),
        ("delete-replaced", "replace", "create-replacement"),
        ("replace",),
        ("create-replacement", "delete-replaced"),
    ],
)
def test_a_replacement_is_one_step(order: tuple[str, ...]) -> None:
    (step,) = read_preview(previews.stream(*replacement(*order))).steps
    assert step.operation == "replace"
    assert step.keys == ("metadata.name",)
    assert step.detail == {"metadata.name": "update-replace"}
    assert step.old is not None
    assert step.new is not None
    assert step.old.inputs["metadata"]["name"] == "bert-1f3a9c"
    assert step.new.inputs["metadata"]["name"] == "bert-77ab01"


@pytest.mark.parametrize("form", [previews.stream, previews.digest])
def test_a_job_that_moves_to_another_operator_is_one_step(form: Any) -> None:
    """By an alias: the engine deletes the old object under its old URN."""
    jobset = urn("kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "bert-job", TRAINING_JOB)
    old, new = job("bert-1f3a9c"), job("bert-77ab01")
    sides = {"delete-replaced": (old, None), "replace": (old, new), "create-replacement": (old, new)}
    events = [step_event(op, JOB if op == "delete-replaced" else jobset, *both) for op, both in sides.items()]
    for event in events:
        event["resourcePreEvent"]["metadata"]["old"]["urn"] = JOB
    (step,) = read_preview(form(*events)).steps
    assert (step.operation, step.urn, step.kind) == ("replace", jobset, "JobSet")
    assert [None if side is None else side.inputs["metadata"]["name"] for side in (step.old, step.new)] == [
        "bert-1f3a9c",
        "bert-77ab01",
    ]


def test_values_that_only_up_knows() -> None:
    (step,) = read_preview(
        previews.stream(step_event("create", JOB, None, state({"a": [previews.UNKNOWN_TEXT]})))
    ).steps
    assert step.state.inputs == {"a": [UNKNOWN]}


def test_a_job_has_its_revision_and_an_object_its_uid() -> None:
    component = state({}, {"job": "bert-1f3a9c", "revision": "1f3a9c"})
    object_ = state({}, {"metadata": {"name": "bert-1f3a9c", "uid": "7d6c"}, "status": {"state": "Running"}})
    text = previews.stream(
        step_event("same", urn(TRAINING_JOB, "bert"), component, component), step_event("same", JOB, object_, state({}))
    )
    found = [step.old for step in read_preview(text).steps]
    assert [each.identity for each in found if each is not None] == ["1f3a9c", "7d6c"]


def test_policies_and_what_they_change() -> None:
    remediation = {
        "resourceUrn": JOB,
        "policyName": "labels",
        "policyPackName": "trainform",
        "before": {"a": 1},
        "after": {"a": 2, "b": 3},
    }
    text = previews.stream(
        previews.policy("TF-IMG-2", "<{%reset%}>the tag can move<{%reset%}>\n", JOB),
        {"policyRemediationEvent": remediation},
    )
    assert read_preview(text).policies == (
        PolicyResult("TF-IMG-2", "mandatory", JOB, "the tag can move", "trainform"),
        PolicyResult("labels", "remediate", JOB, "The policy changes the resource.", "trainform"),
    )


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            previews.diagnostic("error", "error: Program failed with an unhandled exception"),
            "Program failed with an unhandled exception",
        ),
        ({"errorEvent": {"error": "panic"}}, "The engine ended with an internal error: panic"),
        ({"resOpFailedEvent": step_event("read", JOB)["resourcePreEvent"]}, "The operation read of bert-job failed."),
        (previews.summary(result="canceled"), "The preview was cancelled."),
        (previews.summary(result="failed"), "The engine reports that the preview failed, and not why."),
    ],
)
def test_what_fails_the_preview(event: dict[str, Any], reason: str) -> None:
    text = previews.stream(event, ended="summaryEvent" not in event)
    assert read_preview(text).failed == reason


def test_a_policy_that_stops_the_preview_is_why_it_failed() -> None:
    violated = previews.policy("TF-IMG-2", "the tag can move", JOB)
    ends = (previews.diagnostic("error", "error: preview failed\n"), previews.summary(result="failed"))
    refused = "the policy TF-IMG-2 refuses bert-job: the tag can move"
    assert read_preview(previews.stream(violated, *ends, ended=False)).failed == refused
    assert read_preview(previews.stream(violated, previews.summary(), ended=False)).failed == ""
    advisory = previews.policy("TF-IMG-2", "the tag can move", JOB, level="advisory")
    assert read_preview(previews.stream(advisory, *ends, ended=False)).failed != ""


def test_a_refresh_is_no_step_beside_the_one_that_follows_it() -> None:
    refresh, same = (step_event(op, JOB, job("bert-1f3a9c"), job("bert-1f3a9c")) for op in ("refresh", "same"))
    assert [step.operation for step in read_preview(previews.stream(refresh, same)).steps] == ["same"]
    assert [step.operation for step in read_preview(previews.stream(refresh)).steps] == ["refresh"]
