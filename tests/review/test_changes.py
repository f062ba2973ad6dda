"""The objects that change, with their fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import LORA, PROVIDER, change, context, object_step, step
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.review.changes import field_differences, object_changes
from trainform.review.model import ObjectChange
from trainform.review.preview import State

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def fields(before: dict[str, Any], after: dict[str, Any], kind: str = "ConfigMap") -> list[tuple[str, Any, Any]]:
    made = context(others=[object_step("update", kind, "settings", before, after, detail={})])
    (found,) = object_changes(made)
    return [(field.path, field.before, field.after) for field in found.fields]


def test_objects_have_their_fields_by_the_names_of_items() -> None:
    changed = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}
    found = {made.kind: made for made in object_changes(change(LORA, changed)) if made.operation == "replace"}
    assert found["Job"].destructive
    paths = [field.path for field in found["Job"].fields]
    assert "spec.tasks.worker.template.spec.containers.main.image" in paths


def test_components_and_what_stays_are_no_changes() -> None:
    kinds = {found.kind for found in object_changes(change(LORA, {**LORA, "labels": {"team": "vision"}}))}
    assert kinds == {"Job"}, "the record is no object that a reader decides about"


def test_what_only_follows_the_new_name_of_a_job_is_no_change() -> None:
    """The name, its hash in labels, the address of rank 0 and the names of the launch files."""
    changed = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}
    (job,) = [made for made in object_changes(change(LORA, changed)) if made.kind == "Job"]
    assert {field.path.rpartition(".")[2] for field in job.fields} == {"image"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"status": {"phase": "Bound"}}, {}),
        ({"__fieldManager": "trainform"}, {}),
        ({"metadata": {"name": "settings", "managedFields": [1], "uid": "1"}}, {"metadata": {"name": "settings"}}),
        (
            {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}},
            {"metadata": {"annotations": {"pulumi.com/patchFieldManager": "trainform"}}},
        ),
    ],
)
def test_noise_is_left_out(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert fields(before, after) == []


def test_a_job_on_another_operator_has_another_kind_and_no_fields() -> None:
    sides = {"kind": "Job", "spec": {"tasks": []}}, {"kind": "JobSet", "spec": {"replicatedJobs": []}}
    made = object_step("replace", "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "bert", *sides, detail={})
    (found,) = object_changes(context(others=[made]))
    assert [(field.path, field.before, field.after) for field in found.fields] == [("kind", "Job", "JobSet")]


def test_a_secret_value_that_changes_alone_is_a_field() -> None:
    data = {"data": {"id_ed25519": MASK}}
    assert fields(data, data, "Secret") == [("data", MASK, CHANGED_MASK)]
    labelled = {**data, "immutable": True}
    assert fields(data, labelled, "Secret") == [("immutable", None, True)]
    named = object_step("update", "Secret", "settings", data, labelled, detail={'data["id_ed25519"]': "update"})
    assert [found.path for found in field_differences(named)] == ["immutable", "data.id_ed25519"]
    assert fields(data, data) == [], "a ConfigMap has none"


@pytest.mark.parametrize(
    ("operation", "detail", "known", "destructive"),
    [
        ("update", {}, True, False),
        ("update", None, False, False),
        ("replace", {}, True, True),
        ("create", None, True, False),
        ("delete", None, True, True),
        ("import", {}, False, False),
    ],
)
def test_what_is_not_known_is_said(
    operation: str, detail: dict[str, str] | None, known: bool, destructive: bool
) -> None:
    side = {"spec": {"weight": 1}}
    (found,) = object_changes(context(others=[object_step(operation, QUEUE, "night", side, side, detail=detail)]))
    assert found == ObjectChange(
        operation=operation, kind="Queue", name="night", destructive=destructive, fields_known=known
    )


def test_a_kept_object_is_not_destroyed() -> None:
    old = State({"metadata": {"name": "runs"}}, keep=True, provider=PROVIDER)
    claim = step("delete", "kubernetes:core/v1:PersistentVolumeClaim", "lab-claim-runs", old)
    (found,) = object_changes(context(others=[claim]))
    assert not found.destructive
