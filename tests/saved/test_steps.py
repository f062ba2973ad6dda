"""The steps of a preview as they are saved: with their values, and without what differs from preview to preview."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.screen import reviewed
from tests.support import previews
from trainform.review.preview import Preview
from trainform.review.read import read_preview
from trainform.saved.steps import planned

URN = previews.urn(previews.CONFIG_MAP, "notes")
PROVIDER = previews.urn("pulumi:providers:kubernetes", "bert-cluster")


def preview(*events: previews.Data) -> Preview:
    return read_preview(previews.stream(*events))


def made(name: str, provider: str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9", **annotations: str) -> Preview:
    """A new object and one that has its name."""
    inputs = {"metadata": {"name": name, "annotations": annotations}, "data": {"text": "hello"}}
    other = previews.urn(previews.CONFIG_MAP, "other")
    state = previews.state(inputs, provider=f"{PROVIDER}::{provider}")
    return preview(
        previews.step_event("create", URN, None, state),
        previews.step_event("create", other, None, previews.state({"data": {"of": f"see {name}"}})),
    )


def test_steps_with_their_values_and_options() -> None:
    found = planned(reviewed().preview)
    changing = [step for step in reviewed().preview.steps if step.operation != "same" or "providers" in step.type]
    assert {each.urn for each in found} == {step.urn for step in changing}
    (job,) = (each for each in found if each.urn.split("::")[2].endswith(":Job"))
    assert job.operation == "replace"
    inputs: Any = job.inputs
    assert inputs["spec"]["tasks"][0]["replicas"] == 4
    assert "INFO" in str(job.inputs)


def test_a_provider_that_nothing_happens_to_is_there_with_its_version() -> None:
    side = previews.state({"version": "4.25.0"})
    (found,) = planned(preview(previews.step_event("same", PROVIDER, side, side)))
    assert (found.operation, found.inputs) == ("same", {"version": "4.25.0"})


def test_the_order_of_the_engine_does_not_count() -> None:
    events = [
        previews.step_event("create", previews.urn(previews.CONFIG_MAP, name), None, previews.state({}))
        for name in "ab"
    ]
    assert planned(preview(*events)) == planned(preview(*reversed(events)))


@pytest.mark.parametrize("secret", [previews.secret(), previews.secret("hunter2")])
def test_no_secret_is_in_it(secret: Any) -> None:
    urn = previews.urn(previews.SECRET, "token")
    old = previews.state({"data": {"token": previews.secret("hunter1")}})
    found = planned(preview(previews.step_event("update", urn, old, previews.state({"data": {"token": secret}}))))
    assert "hunter" not in str(found)
    assert "[secret" in str(found)


def test_that_a_secret_changes_is_in_it() -> None:
    urn = previews.urn(previews.SECRET, "token")
    side = previews.state({"data": {"token": previews.secret()}, "type": "Opaque"})
    update = previews.step_event("update", urn, side, side, {"data.token": "update"})
    other = previews.step_event("update", urn, side, side, {"type": "update"})
    assert planned(preview(update)) != planned(preview(other))
