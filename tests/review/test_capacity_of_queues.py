"""Whether the pods fit their queue: Volcano's and Kueue's."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.capacity_cases import NODES, judged, new_job
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
from trainform.cluster.facts import NO_HOLDERS, LiveClusterQueue, LiveKueue
from trainform.review.capacity import capacity_of
from trainform.review.context import Context
from trainform.review.not_considered import not_considered

# --- queues


def test_a_gang_larger_than_its_queue_never_fits() -> None:
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=(live_queue("night", {GPU: "24"}),))
    assert capacity.verdict == "never"
    assert capacity.sentence.startswith("The queue night may hold 24 a800, and the gang needs 32 a800 at once.")


def test_a_queue_in_which_others_hold_something() -> None:
    queue = live_queue("night", {GPU: "32"}, bert_77aa01=8)
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, queues=(queue,))
    assert capacity.verdict == "later"
    assert capacity.shortages[0].model_dump() == {
        "resource": "a800",
        "asked": "32",
        "available": "24",
        "missing": "8",
        "holders": ["team-b/bert-77aa01: 8"],
    }
    exact = live_queue("night", {GPU: "40"}, bert_77aa01=8)
    assert judged(new_job(**workers(4), queue="night"), *NODES, queues=(exact,)).verdict == "now"


def test_the_queue_counts_as_the_preview_makes_it() -> None:
    queue = live_queue("night", {GPU: "24"})
    wider = queue_step("night", {"capability": {GPU: "24"}}, {"capability": {GPU: "32"}})
    job = new_job(**workers(4), queue="night")
    assert judged(job, *NODES, queues=(queue,), steps=(wider,)).verdict == "now"


def test_what_a_queue_above_may_hold_is_shared_by_all_queues_below_it() -> None:
    below = structs.replace(live_queue("night"), parent="team")
    beside = structs.replace(live_queue("day", bert_77aa01=8), parent="team")
    queues = {"queues": (below,), "other_queues": (live_queue("team", {GPU: "24"}), beside)}
    capacity = judged(new_job(**workers(3), queue="night"), *NODES, **queues)
    assert capacity.verdict == "later"
    assert capacity.sentence.startswith("The queue team has 16 a800 left, and the gang needs 24 a800 at once: it waits")
    assert capacity.shortages[0].holders == ["team-b/bert-77aa01: 8"]
    assert judged(new_job(**workers(2), queue="night"), *NODES, **queues).verdict == "now"
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, **queues)
    assert (capacity.verdict, len(capacity.shortages)) == ("never", 1)


def test_where_nobody_knows_what_others_hold_it_is_not_known_whether_the_queue_has_room() -> None:
    parts = {
        "queues": (live_queue("night", {GPU: "32"}),),
        "not_read": {NO_HOLDERS: "this account may not list pod groups"},
    }
    capacity = judged(new_job(**workers(4), queue="night"), *NODES, **parts)
    assert capacity.verdict == "unknown"
    assert capacity.sentence.startswith(
        "It is not known whether the gang fits into what is left of the queue night: this account may not list pod "
        "groups."
    )
    assert judged(new_job(**workers(5), queue="night"), *NODES, **parts).verdict == "never"


# --- Kueue's queues

KUEUE = environment(admission="kueue", backend="jobset", queues={})


def cluster_queue(name: str, nominal: int, cohort: str = "", held: int = 0, **more: Any) -> LiveClusterQueue:
    holders = {"team-b/bert-77aa01": {GPU: str(held)}} if held else {}
    amounts = {GPU: str(nominal)}
    return LiveClusterQueue(
        **{
            "name": name,
            "nominal": amounts,
            "cohort": cohort,
            "holders": holders,
            **more,
        }
    )


def on_kueue(*queues: LiveClusterQueue, local: str = "team") -> Context:
    launcher = {"torchrun": {"script": "/app/train.py"}}
    job = job_review(None, rendered(KUEUE, **workers(4), queue="team", launcher=launcher))
    kueue = LiveKueue({f"{NAMESPACE}/{local}": "research"}, queues)
    return context(
        job, environment=KUEUE, live=live(nodes=tuple(NODES), kueue=kueue, queues=(live_queue("default", {GPU: "1"}),))
    )


@pytest.mark.parametrize(
    ("queues", "verdict"),
    [
        ([cluster_queue("research", 32)], "now"),
        ([cluster_queue("research", 24)], "never"),
        ([cluster_queue("research", 32, held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all")], "now"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "all", held=8)], "later"),
        ([cluster_queue("research", 16, "all"), cluster_queue("night", 16, "other")], "never"),
        ([cluster_queue("research", 16, "all", nested=True)], "now"),
    ],
)
def test_what_a_cluster_queue_of_kueue_may_hold(queues: list[LiveClusterQueue], verdict: str) -> None:
    capacity = capacity_of(on_kueue(*queues))
    assert capacity.verdict == verdict, capacity.sentence
    if verdict == "later":
        assert capacity.shortages[0].holders == ["team-b/bert-77aa01: 8"]


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_queue_of_kueue_that_is_stopped(policy: str) -> None:
    """It is not full: no other job has to finish, and nobody holds what is missing."""
    capacity = capacity_of(on_kueue(cluster_queue("research", 32, stopped=policy)))
    said = f"The ClusterQueue research admits nothing until somebody takes back its `stopPolicy: {policy}`."
    assert (capacity.verdict, capacity.sentence.startswith(said), capacity.shortages) == ("later", True, [])
    made = on_kueue(cluster_queue("research", 32))
    assert made.live is not None
    assert made.live.kueue is not None
    kueue = structs.replace(made.live.kueue, stopped={f"{NAMESPACE}/team": policy, f"{NAMESPACE}/other": policy})
    capacity = capacity_of(dataclasses.replace(made, live=structs.replace(made.live, kueue=kueue)))
    said = (
        f"The LocalQueue team of the namespace {NAMESPACE} admits nothing until somebody takes back its `stopPolicy: "
        f"{policy}`."
    )
    assert (capacity.verdict, capacity.sentence.startswith(said)) == ("later", True)
    assert capacity_of(on_kueue(cluster_queue("research", 24, stopped=policy))).verdict == "never"


def test_a_queue_of_kueue_that_nobody_knows_is_said() -> None:
    (said,) = not_considered(on_kueue(cluster_queue("research", 32), local="other"))
    assert said == "Kueue admits the job sdxl-lora, and its LocalQueue team leads to no ClusterQueue in the cluster."
    (said,) = not_considered(on_kueue(cluster_queue("research", 32, "all", nested=True)))
    assert said.startswith("The cohort all of the ClusterQueue research has quotas of its own, or a cohort above it")
    made = on_kueue()
    assert made.live is not None
    (said,) = not_considered(dataclasses.replace(made, live=structs.replace(made.live, kueue=None)))
    assert said == "Kueue admits the job sdxl-lora, and what its queue team may hold was not read."
    assert not [*not_considered(on_kueue(cluster_queue("research", 32)))]
