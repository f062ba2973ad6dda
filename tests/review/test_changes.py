"""What changes as a reader sees it: roles, then objects with their fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import ELASTIC, LORA, PROVIDER, change, context, deployed, job_review, object_step, step
from tests.support.samples import CLUSTER
from trainform.review.changes import object_changes, role_changes
from trainform.review.model import ObjectChange, RoleFacts
from trainform.review.preview import State
from trainform.review.stand_ins import CHANGED_MASK, MASKED

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def fields(before: dict[str, Any], after: dict[str, Any], kind: str = "ConfigMap") -> list[tuple[str, Any, Any]]:
    made = context(others=[object_step("update", kind, "settings", before, after, detail={})])
    (found,) = object_changes(made)
    return [(field.path, field.before, field.after) for field in found.fields]


def test_a_role_before_and_after() -> None:
    roles = {"worker": {"replicas": 5, "accelerators": {"a800": 8}}, "eval": {"ranked": False, "command": ["watch"]}}
    worker, added = role_changes(change(ELASTIC, {**ELASTIC, "roles": roles}))
    image = ELASTIC["image"]
    assert worker.name == "worker"
    assert worker.before == RoleFacts(replicas=3, ranked=True, accelerators={"a800": 8}, image=image)
    assert worker.after == RoleFacts(replicas=5, ranked=True, accelerators={"a800": 8}, image=image)
    assert (added.name, added.before, added.after) == ("eval", None, RoleFacts(replicas=1, ranked=False, image=image))


def test_an_image_is_the_one_that_the_nodes_pull() -> None:
    """Under the names that the environment gives images on each side."""
    mirrored = {**CLUSTER, "registries": {"registry.example.com": "mirror.prod.example.com"}}
    made = context(job_review(deployed(LORA), deployed(LORA, mirrored)))
    (worker,) = role_changes(made)
    assert worker.before is not None
    assert worker.after is not None
    assert worker.before.image == LORA["image"]
    assert worker.after.image == "mirror.prod.example.com/ai/pytorch-training:2.8"


def test_a_role_that_stays_is_not_named() -> None:
    assert role_changes(change(LORA, {**LORA, "labels": {"team": "vision"}})) == []


def test_roles_of_several_jobs_have_the_jobs_name() -> None:
    other = {**ELASTIC, "name": "llama"}
    jobs = [job_review(None, deployed(data)) for data in (LORA, other)]
    assert [found.name for found in role_changes(context(*jobs))] == ["sdxl-lora.worker", "llama.worker"]


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
        ({"spec": {"ports": [{"port": 80}]}}, {"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}}),
        ({"data": {}}, {}),
    ],
)
def test_noise_is_left_out(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert fields(before, after) == []


def test_a_secret_value_that_changes_alone_is_a_field() -> None:
    data = {"data": {"id_ed25519": MASKED}}
    assert fields(data, data, "Secret") == [("data", MASKED, CHANGED_MASK)]
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
        ("replace-in-another-way", {}, False, True),
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


def test_the_text_of_a_variable_that_becomes_a_reference_is_masked_in_the_pods() -> None:
    def data(value: Any) -> dict[str, Any]:
        return {**LORA, "env": {"LETTER": value}}

    reference = {"secret": {"name": "hub", "key": "token"}}
    for was, will in (("quiet-otter", reference), (reference, "quiet-otter")):
        found = [field for made in object_changes(change(data(was), data(will))) for field in made.fields]
        assert found
        assert "quiet-otter" not in str(found)
