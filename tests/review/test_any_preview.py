"""Objects of any shape, as a preview of any program has them: each part of the report is made of them, or says that it
is not known."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.review.jobs_of_previews import READ_AT, environment, job_review, live_node, live_queue, rendered, workers
from trainform.cluster.facts import LiveFacts
from trainform.cluster.live_drift import drift_of
from trainform.plan.record import Record
from trainform.review.capacity import capacity_of
from trainform.review.context import Context, JobReview
from trainform.review.cost import cost_of
from trainform.review.findings import capacity, cost, drift, neighbours
from trainform.review.job_objects import asked_of
from trainform.review.preview import Preview, State, Step

CLUSTER = environment()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5,
        5) | st.sampled_from(["", "a", "1Gi", "[secret]", "[known after apply]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "spec", "a"]), inner,
        max_size=3),
    max_leaves=5,
)  # fmt: skip
BODIES = {
    backend: [each.body for each in job.rendered.manifests]
    for backend in ("volcano", "kubeflow", "trainer", "kubedl", "jobset")
    for job in [
        rendered(
            CLUSTER,
            **workers(2),
            backend=backend,
            queue={"weight": 1, "capability": {"a800": 8}},
            launcher={"torchrun": {"script": "a.py"}},
        )
    ]
}


@st.composite
def broken(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The objects of a job, of which one value at any place is another one."""
    bodies = copy.deepcopy(BODIES[draw(st.sampled_from(sorted(BODIES)))])
    holder: Any = draw(st.sampled_from(bodies))
    for _ in range(draw(st.integers(0, 8))):
        key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], dict | list) or not holder[key]:
            break
        holder = holder[key]
    key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = draw(VALUES)
    return bodies


def steps_of(bodies: list[dict[str, Any]], other: list[dict[str, Any]], operation: str) -> tuple[Step, ...]:
    return tuple(
        Step(operation, f"urn:{index}", f"kubernetes:{body.get('apiVersion')}:{body.get('kind')}", str(index),
            State(old, id="x"), State(body))
        for index, (body, old) in enumerate(zip(bodies, other, strict=False))
    )  # fmt: skip


@settings(max_examples=60)
@given(broken(), broken(), st.sampled_from(["replace", "update", "create", "import", "of-the-future"]), VALUES)
def test_no_object_stops_the_review(
    before: list[dict[str, Any]], after: list[dict[str, Any]], operation: str, roles: Any
) -> None:
    steps = steps_of(after, before, operation)
    record = Record("0a1b2c", "sdxl-lora-0a1b2c", 1, {"name": "sdxl-lora", "roles": roles}, {})
    preview = Preview("stream", steps)
    facts = LiveFacts(READ_AT, (), (live_queue("default", {"cpu": "8"}, x=1),), (live_node("a", {"b/c": 1}),), ())
    for step in steps:
        job = JobReview("sdxl-lora", None, step, record, record, steps)
        for live in (None, facts):
            context = Context("sdxl-lora.dev", preview, (job,), CLUSTER, live)
            cost_of(context)
            capacity_of(context)
            for module in (neighbours, cost, capacity, drift):
                list(module.find(context))
        asked_of(preview, [job])
    for old, new in zip(before, after, strict=False):
        list(drift_of(old, new))


def test_the_whole_job_is_the_example() -> None:
    whole = job_review(None, rendered(CLUSTER, **workers(2)))
    assert capacity_of(Context("x", Preview("stream", whole.steps), (whole,), CLUSTER)).verdict == "unknown"
