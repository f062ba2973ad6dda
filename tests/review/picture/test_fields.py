"""What changes beyond what the parts of a picture say of themselves: each change marks its part, and nothing else does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.review.jobs import ELASTIC, LORA, context, deployed, job_review
from tests.review.picture.samples import of_change
from tests.review.picture.test_compare import facts, marks, with_worker
from tests.support.variations import variations
from tests.test_on_change import RICH, made
from trainform.backends.table import BACKENDS
from trainform.review.model import Picture
from trainform.review.picture import mermaid, svg
from trainform.review.picture.compare import pictures
from trainform.review.picture.words import described

CHANGES = list(variations())
PATHS = list(dict.fromkeys(path for path, _, _ in CHANGES))
ENVIRONMENT = RICH.model_dump(mode="json", by_alias=True, exclude_unset=True)
OF_THE_STATE = ".keep"
"""A field that no object has: whether a claim stays is known to the engine."""


def rendered(path: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each change of the field, on each operator that takes both sides."""
    for (_, before, after), backend in itertools.product((found for found in CHANGES if found[0] == path), BACKENDS):
        sides = [{"backend": backend, **data} for data in (before, after)]
        if all(made(side["backend"], side) is not None for side in sides):
            yield sides[0], sides[1]


def drawn(before: dict[str, Any], after: dict[str, Any]) -> Picture:
    job = job_review(deployed(before, ENVIRONMENT), deployed(after, ENVIRONMENT))
    [picture] = pictures(context(job, environment=RICH))
    return picture


@pytest.mark.parametrize("path", PATHS)
def test_a_changed_field_marks_its_part(path: str) -> None:
    for before, after in rendered(path):
        one, other = made(before["backend"], before), made(after["backend"], after)
        assert one is not None
        assert other is not None
        found = drawn(before, after)
        changed = {node.id for node in found.nodes if node.change != "same"}
        changed |= {edge.start for edge in found.edges if edge.change != "same"}
        objects_change = one[1] != other[1] or path.endswith(OF_THE_STATE)
        assert bool(changed) == objects_change, (path, before["backend"])
        _, *parts = path.split(".")
        if path.startswith("roles.") and len(parts) > 1 and objects_change:
            assert f"role/{parts[0]}" in changed, (path, before["backend"])
        if one[0].revision != other[0].revision and before.get("name") == after.get("name"):
            assert "job/" in changed
            assert all(node.change != "same" for node in found.nodes if node.kind == "role"), (path, before["backend"])


def test_nothing_is_marked_where_nothing_changes() -> None:
    bases: dict[str, dict[str, Any]] = {}
    for before, _ in (found for path in PATHS for found in itertools.islice(rendered(path), 1)):
        bases.setdefault(str(before), before)
    for data in bases.values():
        found = drawn(data, data)
        assert {node.change for node in found.nodes} == {"same"}
        assert {edge.change for edge in found.edges} == {"same"}
        assert not {"changes", "replaced"} & {fact.label for node in found.nodes for fact in node.facts}


def test_only_a_variable_changes() -> None:
    """In the words of the experiment, in every form, and without its value."""
    picture = of_change(LORA, with_worker(env={"NCCL_DEBUG": "INFO"}))
    assert facts(picture, "role/worker")["changes"] == ("env.NCCL_DEBUG",) * 2
    assert facts(picture, "role/worker")["replaced"] == ("with its job",) * 2
    assert marks(picture)["role/worker"] == "changed"
    [said] = [line for line in described(picture) if line.startswith("Role ")]
    assert said.startswith("Role worker (changed): ")
    assert "replaced with its job; changes env.NCCL_DEBUG" in said
    assert "Role worker (changed)\n" in mermaid.render(picture)
    assert "changes env.NCCL#95;DEBUG" in mermaid.render(picture)
    assert "~ worker" in svg.render(picture)
    assert ">env.NCCL_DEBUG<" in svg.render(picture)


def test_what_a_fact_says_is_not_said_again() -> None:
    picture = of_change(LORA, with_worker(image="registry.example.com/ai/pytorch-training:2.9", memory="64Gi"))
    assert "changes" not in facts(picture, "role/worker")
    assert "changes" not in facts(picture, "job/")


def test_a_role_beside_the_one_that_changes() -> None:
    """It is replaced with its job, and has no field of its own that changes."""
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    before = {**LORA, "roles": roles}
    picture = of_change(before, {**before, "roles": {**roles, "worker": {"replicas": 2, "cpu": 8}}})
    assert marks(picture)["role/master"] == "changed"
    assert facts(picture, "role/master")["replaced"] == ("with its job",) * 2
    assert "changes" not in facts(picture, "role/master")


def test_fields_of_a_job_beyond_three_are_counted() -> None:
    env = {f"NCCL_{place}": "1" for place in range(5)}
    picture = of_change(LORA, {**LORA, "env": env})
    assert facts(picture, "job/")["changes"][1] == "env.NCCL_0, env.NCCL_1, env.NCCL_2 and 2 more"


def test_a_claim_that_grows_marks_no_other_part() -> None:
    before = {**ELASTIC, "storage": LORA["storage"]}
    after = {**before, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], "size": "3Ti"}}}
    assert {part: mark for part, mark in marks(of_change(before, after)).items() if mark != "same"} == {
        "claim/sdxl-lora-checkpoints": "changed"
    }
