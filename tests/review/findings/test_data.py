"""Findings about data."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import LORA, PROVIDER, change, context, locate, object_step, step, urn
from tests.support.samples import environment
from trainform.cluster.facts import LiveFacts, LiveQueue
from trainform.plan.inputs import environment_inputs
from trainform.review.context import Context
from trainform.review.findings.data import find
from trainform.review.model import Finding
from trainform.review.preview import State, Step
from trainform.review.report import build_report

NAMESPACE, CLAIM = "kubernetes:core/v1:Namespace", "kubernetes:core/v1:PersistentVolumeClaim"


def codes(made: Context) -> list[str]:
    return [finding.code for finding in find(made)]


def stored(**parts: Any) -> dict[str, Any]:
    return {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], **parts}}}


def only(made: Context) -> Finding:
    (finding,) = find(made)
    return finding


def test_a_claim_that_is_deleted() -> None:
    finding = only(change(stored(keep=False), None))
    assert (finding.code, finding.level, finding.object) == ("TR-DATA-1", "high", "sdxl-lora-checkpoints")
    assert finding.title == "The claim sdxl-lora-checkpoints is deleted, and its data unless its volume is retained."


def test_a_claim_that_is_replaced() -> None:
    finding = only(change(LORA, stored(access_modes=["ReadWriteOnce"]), locate=locate))
    assert (finding.code, finding.field) == ("TR-DATA-2", "spec")
    assert finding.place is not None
    assert finding.place.path == "storage.checkpoints.access_modes"


def test_a_claim_that_shrinks() -> None:
    finding = only(change(LORA, stored(size="1Ti")))
    assert (finding.code, finding.before, finding.after) == ("TR-DATA-3", "2Ti", "1Ti")
    assert "the API server refuses it" in finding.title


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (LORA, None),  # a kept claim stays in the cluster
        (LORA, stored(size="3Ti")),
        (LORA, stored(size="2048Gi")),
        (stored(keep=False), LORA),
    ],
)
def test_claims_that_lose_nothing(before: dict[str, Any], after: dict[str, Any] | None) -> None:
    assert codes(change(before, after)) == []


def test_a_kept_claim_that_the_job_no_longer_mounts() -> None:
    """A volume with another name is another claim, and the job begins from nothing."""
    renamed = {**LORA, "storage": {"ckpt": LORA["storage"]["checkpoints"]}}
    finding = only(change(LORA, renamed, locate=locate))
    assert (finding.code, finding.level, finding.object) == ("TR-DATA-2", "medium", "sdxl-lora-checkpoints")
    made = change(LORA, renamed)
    facts = {fact.key: fact.number for fact in build_report(made).facts}
    assert facts["data"] == "1 claim kept, out of the stack"
    assert "; takes out of the stack the claim sdxl-lora-checkpoints" in build_report(made).headline


def test_a_claim_that_is_no_longer_kept() -> None:
    """Its step is `same`."""
    finding = only(change(LORA, stored(keep=False), locate=locate))
    assert (finding.code, finding.before, finding.after) == ("TR-DATA-4", True, False)
    assert finding.place is not None
    assert finding.place.path == "storage.checkpoints.keep"
    assert codes(change(LORA, stored(keep=False, size="4Ti"))) == ["TR-DATA-4"]


def test_a_renamed_volume_whose_new_claim_is_not_kept() -> None:
    volume = {**LORA["storage"]["checkpoints"], "keep": False}
    found = [*find(change(LORA, {**LORA, "storage": {"results": volume}}, locate=locate))]
    assert [(finding.code, finding.level, finding.object) for finding in found] == [
        ("TR-DATA-2", "medium", "sdxl-lora-checkpoints"),
        ("TR-DATA-4", "medium", "sdxl-lora-results"),
    ]
    assert found[1].title == "The new claim sdxl-lora-results is not kept, and sdxl-lora-checkpoints was."
    assert found[1].place is not None
    assert found[1].place.path.startswith("storage.results")
    assert codes(change(LORA, {**LORA, "storage": {"results": {**volume, "keep": True}}})) == ["TR-DATA-2"]
    assert codes(change(stored(keep=False), {**LORA, "storage": {"results": volume}})) == ["TR-DATA-1"]
    assert codes(change(LORA, stored(keep=False, access_modes=["ReadWriteOnce"]))) == ["TR-DATA-2", "TR-DATA-4"]
    gone = State({"metadata": {"name": "corpus"}}, provider=PROVIDER, keep=True)
    new = State({"metadata": {"name": "texts"}}, provider=PROVIDER)
    of_environment = [step("delete", CLAIM, "corpus", gone), step("create", CLAIM, "texts", None, new)]
    assert codes(context(others=of_environment)) == ["TR-DATA-4"]


@pytest.mark.parametrize(
    ("operation", "counts"), [("delete", True), ("replace", True), ("update", False), ("create", False)]
)
def test_a_namespace_takes_everything_with_it(operation: str, counts: bool) -> None:
    made = context(others=[object_step(operation, "Namespace", "ai-namespace", {}, {})])
    assert codes(made) == (["TR-DATA-5"] if counts else [])


def renamed(*others: Step, **more: Any) -> Context:
    """The namespace of an environment's own stack gets another name."""
    parent = urn("trainform:index:Platform", "dev")
    sides = [State({"metadata": {"name": name}}, parent=parent, provider=PROVIDER) for name in ("ai-old", "ai-new")]
    inputs = [State(environment_inputs(environment(namespace={"name": name}))) for name in ("ai-old", "ai-new")]
    component = step("update", "trainform:index:Platform", "dev", *inputs)
    gone = step("replace", NAMESPACE, "dev-namespace", *sides)
    return context(others=[component, gone, *others], locate=locate, **more)


def test_a_renamed_namespace_is_told_by_its_old_name_with_its_jobs() -> None:
    held = {"ai-old/llama-1f3a9c": {"pods": "4"}, "team-b/bert": {"pods": "1"}}
    queue = LiveQueue("default", 1, {}, {}, held)
    finding = only(renamed(live=LiveFacts("2026-11-23T20:00:00Z", queues=(queue,))))
    assert (finding.code, finding.object) == ("TR-DATA-5", "ai-old")
    assert finding.title == (
        "The namespace ai-old is replaced, and everything in it is deleted, also what is there now: llama-1f3a9c."
    )
    assert finding.place == locate("environment.namespace.name")


def test_a_kept_namespace_does_not() -> None:
    old = State({"metadata": {"name": "ai-namespace"}}, keep=True, provider=PROVIDER)
    assert codes(context(others=[step("delete", "kubernetes:core/v1:Namespace", "n", old)])) == []


@pytest.mark.parametrize(
    ("keep", "namespace", "level", "end"),
    [
        (False, "ai", "high", "."),
        (True, "ai", "medium", "; the old one stays in the cluster, since it is kept."),
        (True, "ai-old", "high", "; the old one is deleted with its namespace ai-old."),
    ],
)
def test_how_a_claim_is_replaced(keep: bool, namespace: str, level: str, end: str) -> None:
    names = [{"namespace": namespace, "name": "corpus"}, {"namespace": "ai-new", "name": "corpus"}]
    sides = [State({"metadata": metadata}, provider=PROVIDER, keep=keep) for metadata in names]
    claim = step("replace", CLAIM, "corpus", *sides, keys=("metadata",))
    found = next(each for each in find(renamed(claim)) if each.code == "TR-DATA-2")
    title = f"The claim corpus is replaced by an empty one, since metadata differs{end}"
    assert (found.level, found.title) == (level, title)


def test_an_object_that_gets_another_name_in_the_program() -> None:
    body = State({"metadata": {"name": "corpus"}}, provider=PROVIDER)
    steps = [step("create", CLAIM, "new", None, body), step("delete", CLAIM, "old", body)]
    (title,) = (finding.title for finding in find(context(others=steps)) if finding.code == "TR-DATA-6")
    assert title.startswith("The PersistentVolumeClaim corpus is renamed in the program from old to new; both are one")
