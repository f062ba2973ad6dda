"""What the cluster says, as sentences."""

from __future__ import annotations

from msgspec import structs

from tests.review.jobs import READ_AT
from tests.review.jobs_of_previews import GPU, environment, live, live_queue
from trainform.cluster.facts import NO_HOLDERS, LiveFacts, LiveJob
from trainform.review.report import live_facts


def said(facts: LiveFacts) -> list[str]:
    return [fact.sentence for fact in live_facts(facts, environment())]


def test_jobs_and_queues() -> None:
    since = "2026-11-23T04:00:00Z"
    job = LiveJob("bert-77aa01", "Running", since, {"Running": 2, "Pending": 0})
    facts = LiveFacts(READ_AT, jobs=(job,), queues=(live_queue("night"), live_queue("day", bert_77aa01=8)))
    first, empty, held = said(facts)
    assert first == (
        f"At {READ_AT} the job bert-77aa01 is Running, and its first pod has run since {since}; pods: 2 Running."
    )
    assert empty == "In the queue night no job holds anything."
    assert GPU not in held
    assert "bert-77aa01 holds 8 a800" in held


def test_who_holds_what_in_a_queue() -> None:
    facts = live(queues=(live_queue("night", bert_77aa01=8), live_queue("day")))
    assert said(facts) == [
        "In the queue night: team-b/bert-77aa01 holds 8 a800, 1 pods.",
        "In the queue day no job holds anything.",
    ]
    unread = structs.replace(facts, not_read={NO_HOLDERS: "this account has no permission to list pod groups"})
    assert said(unread) == []
