"""Pods that find no room."""

from __future__ import annotations

import pytest

from tests.review.jobs_of_previews import context, environment, job_review, live, live_node, rendered, workers
from trainform.review.context import Context
from trainform.review.findings.capacity import find

CLUSTER = environment()
NODES = [live_node(f"node-{index}") for index in range(3)]
FREE = live_node("node-3")
BUSY = live_node("node-3", {"team-b/bert-77aa01": 8})
BUSIER = live_node("node-3", {"team-b/bert-77aa01": 4, "team-c/vit-010203": 4})


def wanting(replicas: int, *nodes: object) -> Context:
    job = job_review(None, rendered(CLUSTER, **workers(replicas)))
    return context(job, environment=CLUSTER, live=live(nodes=tuple(nodes)))


NEVER = "never starts: the nodes have room for 32 a800, and the job needs 40 a800"


@pytest.mark.parametrize(
    ("made", "code", "level", "title"),
    [
        (wanting(4, *NODES, BUSY), "TR-CAPACITY-2", "medium", "waits for 8 a800 held by team-b/bert-77aa01"),
        (wanting(5, *NODES, BUSY), "TR-CAPACITY-1", "high", NEVER),
        (wanting(4, *NODES, FREE), "", "", ""),
        (context(job_review(None, rendered(CLUSTER, **workers(9))), environment=CLUSTER), "", "", ""),
    ],
)
def test_pods_that_do_not_fit(made: Context, code: str, level: str, title: str) -> None:
    expected = [(code, level, "sdxl-lora", f"The job sdxl-lora {title}.")] if code else []
    assert [(each.code, each.level, each.object, each.title) for each in find(made)] == expected


def test_a_job_that_is_scaled_in_place_runs_on() -> None:
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    before, after = (rendered(CLUSTER, **workers(count), launcher=elastic) for count in (2, 5))
    facts = live(nodes=(*NODES, BUSY, live_node("node-4")))
    (finding,) = find(context(job_review(before, after), environment=CLUSTER, live=facts))
    assert finding.code == "TR-CAPACITY-2"
    assert finding.why == "The job runs on with the pods that it has; only the further ones wait."
    (anew,) = find(wanting(4, *NODES, BUSY))
    assert "nothing runs meanwhile" in anew.why


def test_who_holds_the_nodes_does_not_change_the_fingerprint() -> None:
    first, second = (next(find(wanting(4, *NODES, node))) for node in (BUSY, BUSIER))
    assert first.fingerprint == second.fingerprint
