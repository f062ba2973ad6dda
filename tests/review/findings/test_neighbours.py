"""What others in the queues must know."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs_of_previews import (
    GPU,
    NAMESPACE,
    context,
    environment,
    job_review,
    live,
    live_queue,
    queue_step,
    rendered,
    workers,
)
from trainform.cluster.facts import NO_HOLDERS, LiveQueue
from trainform.review.context import Context
from trainform.review.findings.neighbours import KINDS, find
from trainform.review.model import Finding

CLUSTER = environment()
EMPTY = live(queues=(live_queue("night"), live_queue("default")))


def found(context: Context) -> dict[str, Finding]:
    """The findings by code; each code once."""
    findings = list(find(context))
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    assert by_code.keys() <= {kind.code for kind in KINDS}
    return by_code


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ({"weight": 1}, {"weight": 4}, "`weight` of the queue night changes from 1 to 4."),
        ({}, {"weight": 2}, "`weight` of the queue night changes from 1 to 2."),
        (
            {"capability": {GPU: "32"}},
            {"capability": {GPU: "16"}},
            "`capability` of the queue night changes from 32 a800 to 16 a800.",
        ),
        ({"capability": {GPU: "32"}}, {}, "`capability` of the queue night changes from 32 a800 to not set."),
        (
            {},
            {"guarantee": {"resource": {"cpu": "8"}}},
            "`guarantee` of the queue night changes from not set to 8 cpu.",
        ),
        (
            {"deserved": {"cpu": "8"}},
            {"deserved": {"cpu": "4"}},
            "`deserved` of the queue night changes from 8 cpu to 4 cpu.",
        ),
        ({}, {"reclaimable": False}, "`reclaimable` of the queue night changes from true to false."),
    ],
)
def test_a_share_that_changes(before: dict[str, Any], after: dict[str, Any], title: str) -> None:
    step = queue_step("night", before, after)
    findings = found(context(steps=(step,), environment=CLUSTER, live=EMPTY))
    assert list(findings) == ["TR-NEIGHBOURS-1"]
    assert findings["TR-NEIGHBOURS-1"].title == title
    place = findings["TR-NEIGHBOURS-1"].place
    assert place is not None
    assert place.path.startswith("environment.queues.night.")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"weight": 1}, {}),
        ({"capability": {"memory": "1Gi"}}, {"capability": {"memory": "1024Mi"}}),
        ({"reclaimable": True}, {}),
        ({"priority": 1}, {"priority": 2}),
        (None, {"weight": 4}),
    ],
)
def test_what_takes_nothing_from_anybody(before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    assert found(context(steps=(queue_step("night", before, after),), live=EMPTY)) == {}


def test_a_queue_that_is_deleted() -> None:
    findings = found(context(steps=(queue_step("night", {"weight": 4}, None),), live=EMPTY))
    assert list(findings) == ["TR-NEIGHBOURS-2"]
    assert findings["TR-NEIGHBOURS-2"].level == "high"


def test_a_job_that_moves_to_another_queue() -> None:
    before, after = rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(2), queue="night")
    findings = found(context(job_review(before, after), environment=CLUSTER, live=EMPTY))
    assert list(findings) == ["TR-NEIGHBOURS-3"]
    moved = findings["TR-NEIGHBOURS-3"]
    assert (moved.before, moved.after, moved.title) == (
        "default",
        "night",
        "The job sdxl-lora moves from the queue default to the queue night.",
    )


def test_a_job_that_stays_in_its_queue() -> None:
    before, after = rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(3))
    assert found(context(job_review(before, after), environment=CLUSTER, live=EMPTY)) == {}


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "jobset"])
def test_the_queue_of_every_operator(backend: str) -> None:
    parts = {**workers(2), "backend": backend, "launcher": {"torchrun": {"script": "/app/train.py"}}}
    before, after = rendered(CLUSTER, **parts), rendered(CLUSTER, **parts, queue="night")
    assert "TR-NEIGHBOURS-3" in found(context(job_review(before, after), environment=CLUSTER, live=EMPTY))


# --- holders

WEIGHT = queue_step("night", {"weight": 1}, {"weight": 4})


def test_others_that_hold_something_are_named_with_amounts() -> None:
    facts = live(queues=(live_queue("night", bert_77aa01=16, vit_010203=8),))
    findings = found(context(steps=(WEIGHT,), environment=CLUSTER, live=facts))
    assert findings["TR-NEIGHBOURS-4"].title == (
        "2 other jobs hold something in the queue night that may be reclaimed where the scheduler's `reclaim` action "
        "is on: team-b/bert-77aa01 (16 a800), team-b/vit-010203 (8 a800)."
    )
    more = live(queues=(live_queue("night", bert_77aa01=24, vit_010203=8),))
    later = found(context(steps=(WEIGHT,), live=more))
    assert later["TR-NEIGHBOURS-4"].fingerprint == findings["TR-NEIGHBOURS-4"].fingerprint


def test_a_lower_capability_ends_nothing_and_lets_nothing_start() -> None:
    step = queue_step("night", {"capability": {GPU: "32", "cpu": "64"}}, {"capability": {GPU: "16", "cpu": "64"}})
    holders = {"team-b/bert-77aa01": {GPU: "24", "cpu": "8"}, "team-b/web-1": {"cpu": "8"}}
    facts = live(queues=(LiveQueue("night", 1, {}, {}, holders, reclaimable=False),))
    finding = found(context(steps=(step,), environment=CLUSTER, live=facts))["TR-NEIGHBOURS-4"]
    assert finding.title == (
        "Nothing new starts in the queue night until its jobs have given back 8 a800: team-b/bert-77aa01 (24 a800)."
    )
    assert "ends no pods" in finding.why
    fits = live(queues=(live_queue("night", bert_77aa01=16),))
    assert list(found(context(steps=(step,), live=fits))) == ["TR-NEIGHBOURS-1"]


def test_the_job_itself_is_no_neighbour() -> None:
    job = job_review(rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(3)))
    own = f"{NAMESPACE}/{job.before.job}"  # type: ignore[union-attr]
    queue = LiveQueue("night", 1, {}, {}, {own: {GPU: "16"}})
    findings = found(context(job, steps=(WEIGHT,), live=live(queues=(queue,))))
    assert list(findings) == ["TR-NEIGHBOURS-1"]


def test_nothing_is_reclaimed_from_a_queue_that_is_not_reclaimable() -> None:
    step = queue_step("night", {"weight": 1, "reclaimable": False}, {"weight": 4, "reclaimable": False})
    facts = live(queues=(live_queue("night", bert_77aa01=16),))
    assert list(found(context(steps=(step,), live=facts))) == ["TR-NEIGHBOURS-1"]


def test_who_is_in_a_queue_below_is_in_the_queue_too() -> None:
    below = structs.replace(live_queue("night-vision", bert_77aa01=16), parent="night")
    facts = live(queues=(live_queue("night"),), other_queues=(below, live_queue("day", vit_010203=8)))
    findings = found(context(steps=(WEIGHT,), live=facts))
    assert findings["TR-NEIGHBOURS-4"].after == ["team-b/bert-77aa01"]
    firm = structs.replace(facts, other_queues=(structs.replace(below, reclaimable=False),))
    assert list(found(context(steps=(WEIGHT,), live=firm))) == ["TR-NEIGHBOURS-1"]


@pytest.mark.parametrize("facts", [None, live(queues=None), live(not_read={NO_HOLDERS: "no permission"})])
def test_without_a_cluster_the_holders_are_not_known(facts: Any) -> None:
    assert list(found(context(steps=(WEIGHT,), live=facts))) == ["TR-NEIGHBOURS-1", "TR-NEIGHBOURS-5"]
