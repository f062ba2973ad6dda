"""Whether the last `pulumi up` of a job has succeeded."""

from __future__ import annotations

import dataclasses
import json

import pytest
from msgspec import structs

from tests.review.jobs import LORA, context, deployed, job_review
from trainform.review.context import JobReview
from trainform.review.findings.drift import find
from trainform.review.last_up import failed

WANTED = {**LORA, "env": {"LETTER": "B"}}
NOW = {**LORA, "env": {"LETTER": "C"}}


def after_a_refusal() -> JobReview:
    """The components have what was wanted, the record what is deployed."""
    job = job_review(deployed(WANTED), deployed(NOW))
    return dataclasses.replace(job, before=deployed(LORA).record)


def test_what_was_wanted_is_not_what_is_recorded() -> None:
    job = after_a_refusal()
    assert failed(job)
    (finding,) = find(context(job))
    assert job.before is not None
    assert (finding.code, finding.before) == ("TR-DRIFT-3", job.before.job)
    assert finding.title == (
        f"The last `pulumi up` of {LORA['name']} did not succeed: {job.before.job} is recorded as deployed, and "
        "something else was wanted."
    )


def test_a_first_update_that_failed_left_no_record() -> None:
    job = dataclasses.replace(job_review(deployed(LORA), deployed(LORA)), before=None)
    assert failed(job)
    assert [finding.title for finding in find(context(job))] == [
        f"The last `pulumi up` of {LORA['name']} did not succeed: nothing is recorded as deployed."
    ]


@pytest.mark.parametrize("new", [LORA, NOW], ids=["unchanged", "changed"])
def test_an_update_that_succeeded(new: dict[str, object]) -> None:
    job = job_review(deployed(LORA), deployed(new))
    assert not failed(job)
    assert list(find(context(job))) == []


def test_the_engine_sorts_the_keys_of_components() -> None:
    """The record keeps the order of the file, in which a variable may refer to one before it."""
    volume = LORA["storage"]["checkpoints"]
    unsorted = {
        **LORA,
        "env": {"ROOT": "/data", "DATA": "$(ROOT)/x"},
        "storage": {"runs": volume, "logs": {**volume, "mount": "/logs"}},
    }
    job = job_review(deployed(unsorted), deployed(unsorted))
    steps = (*job.steps, *filter(None, [job.component]))
    *parts, component = (
        structs.replace(
            found, old=structs.replace(found.old, inputs=json.loads(json.dumps(found.old.inputs, sort_keys=True)))
        )
        for found in steps
        if found.old is not None
    )
    assert not failed(dataclasses.replace(job, component=component, steps=tuple(parts)))
