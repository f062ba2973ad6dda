"""Pictures for the tests: of experiments as they are, of changes, and of any shape."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.review.jobs import LORA, change, context, deployed, job_review
from tests.support.samples import CLUSTER
from tests.support.unseen import texts
from trainform.review.model import Picture, PictureEdge, PictureFact, PictureNode
from trainform.review.picture.compare import pictures
from trainform.spec import Environment

EXPERIMENTS = ["allreduce", "elastic", "extras", "hello", "llama-sft", "mnist", "resnet", "sdxl-lora"]
LONG = "registry.example.com/" + "research-platform/" * 8 + "trainer:2026.11"


def of_change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Picture:
    """The picture of a preview of one job."""
    [picture] = pictures(change(before, after, environment=Environment.model_validate(CLUSTER)))
    return picture


def of_roles(number: int, replicas: int = 16) -> Picture:
    """A new job with so many roles, each of which mounts claims."""
    roles = {f"stage-{place:02}": {"replicas": replicas, "accelerators": {"a800": 8}} for place in range(number)}
    kinds = {**CLUSTER["accelerators"], "a800": {**CLUSTER["accelerators"]["a800"], "nodes": 4096}}
    cluster = {**CLUSTER, "accelerators": kinds}
    job = job_review(None, deployed({**LORA, "roles": roles}, cluster))
    [picture] = pictures(context(job, environment=Environment.model_validate(cluster)))
    return picture


KINDS = ["queue", "job", "role", "shape", "rendezvous", "claim", "secret"]
NAMES = texts | st.text(min_size=1,
    max_size=200) | st.sampled_from(["end", "#", '"', "[a]", "</svg>", "&lt;", "1. a", "- a", "W" * 300, "東" * 90,
        LONG])  # fmt: skip
MARKS = st.sampled_from(["same", "added", "removed", "changed"])


@st.composite
def any_picture(draw: st.DrawFn) -> Picture:
    """A picture whose names are anything."""
    nodes = []
    for place, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=9))):
        facts = draw(
            st.lists(
                st.builds(
                    PictureFact,
                    label=st.sampled_from(["pods", "image"]),
                    before=st.none() | NAMES,
                    after=st.none() | NAMES,
                ),
                max_size=2,
            )
        )
        nodes.append(
            PictureNode.model_validate(
                {"id": f"{kind}/{place}", "kind": kind, "name": draw(NAMES), "change": draw(MARKS), "facts": facts}
            )
        )
    ends = st.sampled_from([node.id for node in nodes]) if nodes else st.nothing()
    edges = draw(
        st.lists(st.builds(PictureEdge, start=ends, end=ends, label=st.just("") | NAMES, change=MARKS), max_size=8)
    )
    return Picture(job=draw(NAMES), nodes=nodes, edges=edges)
