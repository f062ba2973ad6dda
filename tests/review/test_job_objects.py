"""The objects of a job in a preview, and what to ask the cluster about them."""

from __future__ import annotations

import dataclasses

from msgspec import structs

from tests.review.jobs_of_previews import context, environment, job_review, queue_step, rendered, workers
from trainform.console.lines import MASK, UNKNOWN
from trainform.review.context import JobReview
from trainform.review.job_objects import asked_of, templates_of
from trainform.review.preview import Preview, State, Step

CLUSTER = environment()


def changed() -> JobReview:
    return job_review(rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(3), queue="night"))


def test_what_to_ask_the_cluster() -> None:
    job, queue = changed(), queue_step("share", {"weight": 1}, {"weight": 2})
    (wanted,), objects = asked_of(context(job, steps=(queue,)).preview, [job])
    assert (wanted["kind"], wanted["metadata"]["name"]) == ("Job", job.before.job)  # type: ignore[union-attr]
    kinds = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert ("Queue", "share") in kinds
    assert ("Job", job.before.job) in kinds  # type: ignore[union-attr]
    assert ("Job", job.after.job) not in kinds  # type: ignore[union-attr]


def test_a_job_that_does_not_exist_yet_is_not_asked_for() -> None:
    job = job_review(None, rendered(CLUSTER, **workers(2)))
    assert asked_of(context(job).preview, [job]) == ([], [])


def service(operation: str, identity: str | None = "ai-namespace/sdxl-lora", **data: object) -> Step:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sdxl-lora"}, **data}
    return Step(operation, "urn:service", "kubernetes:core/v1:Service", "service", State(body, id=identity))


def test_what_only_the_program_reads_is_not_compared() -> None:
    for step, number in ((service("read"), 0), (service("same", identity=None), 0), (service("same"), 1)):
        _, objects = asked_of(Preview("stream", (step,)), [])
        assert len(objects) == number


def test_values_that_are_secret_or_unknown_are_not_compared() -> None:
    step = service("same", spec={"a": MASK, "b": UNKNOWN, "c": ["x", MASK], "d": [{"name": "A", "value": MASK}]})
    _, (item,) = asked_of(Preview("stream", (step,)), [])
    assert item["spec"] == {"d": [{"name": "A"}]}


def test_a_record_that_this_version_cannot_read_has_no_pods() -> None:
    job = job_review(
        None, rendered(CLUSTER, **workers(2), backend="trainer", launcher={"torchrun": {"script": "a.py"}})
    )
    assert templates_of(job, CLUSTER)
    assert job.after is not None
    foreign = structs.replace(job.after, experiment={"name": "x", "of_the_future": 1})
    assert templates_of(dataclasses.replace(job, after=foreign), CLUSTER) is None
    assert templates_of(job, None) is None
