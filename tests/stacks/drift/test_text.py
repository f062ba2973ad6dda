"""A report of several stacks, as people read it."""

from __future__ import annotations

from trainform.console import terminal
from trainform.stacks.drift.report_model import DriftReport, FieldDrift, NotCompared, ObjectDrift, Outcome, StackDrift
from trainform.stacks.drift.text import documents

AT = "2026-11-23T14:10:00Z"
NO_CLUSTER = "cannot connect to the cluster of context dev-cluster"


def stack(name: str, outcome: Outcome = Outcome.in_sync, **more: object) -> StackDrift:
    given = {"stack": name, "experiment": name.partition(".")[0], "environment": "dev", "namespace": "ai", **more}
    return StackDrift.model_validate({"outcome": outcome, **given})


def shown(*stacks: StackDrift) -> list[str]:
    report = DriftReport(generated_by="0.1.0", read_at=AT, outcome=Outcome.failed, stacks=[*stacks])
    return [line.text for line in terminal.lines_of(documents(report), 80)]


def test_each_stack_has_a_line_in_80_columns_and_each_reason_is_told_once() -> None:
    missing = [NotCompared(what="cluster", reason=NO_CLUSTER)]
    field = FieldDrift(path="spec.weight", was=2, now=7, manager="kubectl-edit", written=AT)
    queue = ObjectDrift(kind="Queue", name="sdxl-lora", namespace="ai", state="changed", fields=[field])
    text = shown(
        stack("dev", Outcome.failed, experiment="", not_compared=missing),
        stack("hello-world-training.dev", Outcome.failed, not_compared=missing),
        stack("bert.dev", Outcome.not_deployed, notes=["Nothing is recorded."]),
        stack("resnet.dev", revision="1f3a9c", compared=5),
        stack("sdxl-lora.dev", Outcome.drift, revision="77ab01", compared=6, objects=[queue]),
    )
    assert text[:18] == [
        "Drift of 5 stacks",
        "  Outcome: failed.",
        "",
        "Stacks",
        "  stack                     revision  outcome       changed  gone  anew  others",
        "  dev                       ?         failed        ?        ?     ?     ?",
        "  hello-world-training.dev  ?         failed        ?        ?     ?     ?",
        "  bert.dev                  ?         not deployed  ?        ?     ?     ?",
        "  resnet.dev                1f3a9c    in sync       0        0     0     0",
        "  sdxl-lora.dev             77ab01    drift         1        0     0     0",
        "",
        "Not compared",
        f"  cluster: {NO_CLUSTER}.",
        "    dev, hello-world-training.dev",
        "",
        "Notes",
        "  Nothing is recorded.",
        "    bert.dev",
    ]
    assert [line for line in text if line.startswith("Drift of")] == ["Drift of 5 stacks", "Drift of sdxl-lora.dev"]


def test_fields_of_others_come_with_what_becomes_of_those_that_kubectl_has_written() -> None:
    """Pulumi's provider takes over the fields of managers that begin with `kubectl`, and applies the object without
    them."""
    field = FieldDrift(path="metadata.labels.team", now="vision", manager="kubectl-label", written=AT)
    job = ObjectDrift(kind="Job", name="bert-1f3a9c", namespace="ai", state="as deployed", others=[field])
    lines = shown(stack("bert.dev", revision="1f3a9c", compared=5, objects=[job]))
    text = " ".join(" ".join(lines).split())
    assert "where it changes an object, it removes the fields whose manager begins with `kubectl`" in text
    assert "Job bert-1f3a9c has fields of others. metadata.labels.team: is" in text
