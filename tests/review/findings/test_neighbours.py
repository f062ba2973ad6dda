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
    live_node,
    live_queue,
    queue_step,
    rendered,
    workers,
)
from trainform.cluster.facts import NO_HOLDERS, LiveQueue
from trainform.review.context import Context
from trainform.review.findings.neighbours import find
from trainform.review.model import Finding

CLUSTER = environment()
NODES = tuple(live_node(f"node-{index}") for index in range(4))  # 32 a800
EMPTY = live(queues=(live_queue("night"), live_queue("default")), nodes=NODES)


def found(context: Context) -> dict[str, Finding]:
    """The findings by code; each code once."""
    findings = list(find(context))
    by_code = {finding.code.removeprefix("TR-NEIGHBOURS-"): finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ({"weight": 1}, {"weight": 4}, "`weight` of the queue night changes from 1 to 4."),
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
        ({}, {"reclaimable": False}, "`reclaimable` of the queue night changes from true to false."),
        (None, {"weight": 4, "reclaimable": False}, "`reclaimable` of the new queue night is false."),
        ({"weight": 1}, {}, ""),
        ({"capability": {"memory": "1Gi"}}, {"capability": {"memory": "1024Mi"}}, ""),
        ({"reclaimable": True}, {}, ""),
        ({"priority": 1}, {"priority": 2}, ""),
        (None, {"weight": 4}, ""),
    ],
)
def test_a_share_that_changes(before: dict[str, Any], after: dict[str, Any], title: str) -> None:
    findings = found(context(steps=(queue_step("night", before, after),), environment=CLUSTER, live=EMPTY))
    assert [finding.title for finding in findings.values()] == ([title] if title else [])
    for finding in findings.values():
        assert finding.code == "TR-NEIGHBOURS-1"
        assert finding.place is not None
        assert finding.place.path.startswith("environment.queues.night.")


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "trainer", "jobset"])
def test_a_job_that_moves_to_another_queue(backend: str) -> None:
    parts = {**workers(2), "backend": backend, "launcher": {"torchrun": {"script": "/app/train.py"}}}
    before, after = rendered(CLUSTER, **parts), rendered(CLUSTER, **parts, queue="night")
    findings = found(context(job_review(before, after), environment=CLUSTER, live=EMPTY))
    assert list(findings) == ["3"]
    assert (findings["3"].before, findings["3"].after) == ("default", "night")
    assert findings["3"].title == "The job sdxl-lora moves from the queue default to the queue night."


@pytest.mark.parametrize(
    ("holders", "end"), [({}, ""), ({"bert_77aa01": 16}, ", with jobs in it: team-b/bert-77aa01 (16 a800)")]
)
def test_a_queue_that_is_deleted(holders: dict[str, Any], end: str) -> None:
    facts = live(queues=(live_queue("night", **holders),), nodes=NODES)
    findings = found(context(steps=(queue_step("night", {"weight": 4}, None),), environment=CLUSTER, live=facts))
    assert list(findings) == ["2"]
    assert (findings["2"].level, findings["2"].title) == ("high", f"The queue night is deleted{end}.")


# --- jobs that hold more than a queue keeps


def cluster(weight: int = 4, others: int = 1, **night: Any) -> Any:
    """A cluster of 32 a800, of which the queue night has its share next to default and other queues."""
    queue = structs.replace(live_queue("night", **night), weight=weight)
    return live(
        queues=(queue, live_queue("default"), *(live_queue(f"other-{at}") for at in range(others))),
        nodes=NODES,
    )


LIGHTER = queue_step("night", {"weight": 4}, {"weight": 2})


def test_jobs_above_the_share_are_named_with_amounts() -> None:
    """2 of 4 parts are 16 a800."""
    within, facts, more = (cluster(bert_77aa01=bert, vit_010203=vit) for bert, vit in ((16, 0), (16, 8), (24, 8)))
    assert list(found(context(steps=(LIGHTER,), environment=CLUSTER, live=within))) == ["1"]
    above, other = (found(context(steps=(LIGHTER,), environment=CLUSTER, live=each))["4"] for each in (facts, more))
    assert above.title == (
        "The queue night will hold 8 a800 above its share of 16 a800: team-b/bert-77aa01 (16 a800), "
        "team-b/vit-010203 (8 a800)."
    )
    assert other.fingerprint == above.fingerprint


def test_a_heavier_queue_shrinks_the_share_of_the_others() -> None:
    heavier = queue_step("default", {"weight": 1}, {"weight": 9})
    finding = found(context(steps=(heavier,), environment=CLUSTER, live=cluster(bert_77aa01=16)))["4"]
    assert (finding.object, "above its share of 9 a800" in finding.title) == ("night", True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"weight": 4, "reclaimable": False}, {"weight": 2, "reclaimable": False}),
        ({"weight": 4}, {"weight": 2, "deserved": {GPU: "24"}}),
        ({"weight": 4}, {"weight": 2, "guarantee": {"resource": {GPU: "24"}}}),
        ({"weight": 2}, {"weight": 4}),
    ],
)
def test_what_a_queue_keeps(before: dict[str, Any], after: dict[str, Any]) -> None:
    facts = cluster(before["weight"], bert_77aa01=24)
    step = queue_step("night", before, after)
    codes = {finding.code for finding in find(context(steps=(step,), environment=CLUSTER, live=facts))}
    assert codes == {"TR-NEIGHBOURS-1"}


def test_a_queue_that_others_may_take_back_from_now_on() -> None:
    facts = cluster(1, 0, bert_77aa01=24)
    kept = structs.replace(facts.queues[0], reclaimable=False)
    facts = structs.replace(facts, queues=(kept, facts.queues[1]))
    step = queue_step("night", {"reclaimable": False}, {})
    assert "4" in found(context(steps=(step,), environment=CLUSTER, live=facts))


def test_a_job_that_joins_a_queue_above_its_share() -> None:
    before, after = rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(2), queue="night")
    moving = context(job_review(before, after), environment=CLUSTER, live=cluster(4, bert_77aa01=16))
    assert "will hold 11 a800 above its share of 21 a800" in found(moving)["4"].title


def test_a_lower_capability_ends_nothing_and_lets_nothing_start() -> None:
    step = queue_step("night", {"capability": {GPU: "32", "cpu": "64"}}, {"capability": {GPU: "16", "cpu": "64"}})
    holders = {"team-b/bert-77aa01": {GPU: "24", "cpu": "8"}, "team-b/web-1": {"cpu": "8"}}
    queue = LiveQueue("night", 1, {GPU: "32", "cpu": "64"}, {}, holders, reclaimable=False)
    finding = found(context(steps=(step,), environment=CLUSTER, live=live(queues=(queue,), nodes=NODES)))["4"]
    assert finding.title == (
        "Nothing new starts in the queue night until its jobs have given back 8 a800: team-b/bert-77aa01 (24 a800, 8 "
        "cpu)."
    )
    assert "ends no pods" in finding.why
    fits = live(queues=(live_queue("night", {GPU: "32", "cpu": "64"}, bert_77aa01=16),), nodes=NODES)
    assert list(found(context(steps=(step,), live=fits))) == ["1"]


def test_the_job_itself_is_not_a_neighbour() -> None:
    job = job_review(rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(3)))
    own = f"{NAMESPACE}/{job.before.job}"  # type: ignore[union-attr]
    facts = live(queues=(LiveQueue("night", 4, {}, {}, {own: {GPU: "24"}}), live_queue("default")), nodes=NODES)
    findings = found(context(job, steps=(LIGHTER,), environment=CLUSTER, live=facts))
    assert list(findings) == ["1"]


def test_queues_below_share_what_their_parent_has() -> None:
    below = structs.replace(live_queue("night-vision", bert_77aa01=24), parent="night")
    others = (structs.replace(live_queue("night"), weight=4), live_queue("default"), live_queue("day", vit_010203=8))
    facts = live(queues=(*others, below), nodes=NODES)
    findings = found(context(steps=(LIGHTER,), environment=CLUSTER, live=facts))
    assert findings["4"].object == "night-vision"
    firm = structs.replace(below, firm=frozenset({"team-b/bert-77aa01"}))
    facts = structs.replace(facts, queues=(*others, firm))
    assert list(found(context(steps=(LIGHTER,), environment=CLUSTER, live=facts))) == ["1"]


@pytest.mark.parametrize(
    "facts", [None, live(queues=None), live(nodes=None), live(not_read={NO_HOLDERS: "no permission"})]
)
def test_without_a_cluster_no_holders_are_named(facts: Any) -> None:
    assert list(found(context(steps=(LIGHTER,), live=facts))) == ["1"]
