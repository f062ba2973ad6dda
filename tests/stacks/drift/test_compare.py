"""A deployed object beside the live one: what is drift, what belongs to others, and when the API server must be
asked."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from msgspec import structs

from tests.support.applied import EDITED, applied, entry, set_of
from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems, plan_job
from tests.support.repository import names, read
from tests.support.samples import JOB
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.manifest import RECORD_KEY, Manifest
from trainform.plan.record import Record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import load_environment, parse
from trainform.stacks.drift.compare import (
    Basis,
    compared,
    environment_objects,
    gone,
    is_ours,
    needs_dry_run,
    recorded_objects,
)
from trainform.stacks.drift.report_model import FieldDrift, ObjectDrift

LABELS = {"app.kubernetes.io/name": "sdxl-lora"}


def service(**spec: Any) -> Manifest:
    annotations = {"pulumi.com/skipAwait": "true"}
    metadata = {"name": "sdxl-lora", "namespace": "ai", "labels": LABELS, "annotations": annotations}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": LABELS, **spec}
    return Manifest("service", {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def result(
    manifest: Manifest, found: dict[str, Any], answer: dict[str, Any] | None = None, basis: Basis = "record"
) -> ObjectDrift:
    return compared(manifest, found, answer, basis)


def paths(fields: list[FieldDrift]) -> dict[str, tuple[object, object, str]]:
    return {field.path: (field.was, field.now, field.manager) for field in fields}


def test_what_is_as_deployed_needs_no_dry_run() -> None:
    found = applied(service())
    assert not needs_dry_run(service(), found)
    assert result(service(), found) == ObjectDrift(
        kind="Service", name="sdxl-lora", namespace="ai", state="as deployed"
    )


def test_a_changed_field_is_asked_about_and_told_with_its_manager() -> None:
    found = applied(service(), entry("kubectl-edit", {"f:spec": {"f:clusterIP": {}}}))
    found["spec"]["clusterIP"] = "10.0.0.7"
    assert needs_dry_run(service(), found)
    for answer in (None, applied(service())):
        one = result(service(), found, answer)
        assert one.state == "changed"
        assert one.fields == [FieldDrift(path="spec.clusterIP", was="None", now="10.0.0.7", manager="kubectl-edit",
                written=EDITED)]  # fmt: skip
        assert one.others == []


def test_what_the_server_spells_otherwise_is_no_drift() -> None:
    wanted = service(limits={"memory": "1e3"})
    found = applied(wanted)
    found["spec"]["limits"] = {"memory": "1k"}
    assert needs_dry_run(wanted, found)
    assert result(wanted, found, copy.deepcopy(found)).state == "as deployed"


def test_fields_of_others_are_apart() -> None:
    writes: dict[str, Any] = {"f:metadata": {"f:labels": {"f:team": {}},
            "f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}}  # fmt: skip
    found = applied(service(), entry("label-tool", writes))
    found["metadata"]["labels"] = {**LABELS, "team": "vision"}
    found["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
    assert not needs_dry_run(service(), found)
    one = result(service(), found)
    assert (one.state, one.fields) == ("as deployed", [])
    assert one.others == [FieldDrift(path="metadata.labels.team", now="vision", manager="label-tool", written=EDITED)]


@pytest.mark.parametrize(
    "entries",
    [
        [
            entry("sharer", {"f:status": {"f:loadBalancer": {}}}, subresource="status"),
            entry("sharer", {"f:spec": {"f:externalName": {}}}),
        ],
        [entry("kube-controller-manager", {"f:spec": {"f:externalName": {}}})],
        [entry("scheduler", {"f:status": {}, "f:spec": {"f:externalName": {}}})],
    ],
)
def test_what_controllers_own_is_not_told(entries: list[dict[str, Any]]) -> None:
    found = applied(service(), *entries)
    found["spec"]["externalName"] = "x"
    one = result(service(), found)
    assert (one.state, one.others) == ("as deployed", [])


def job(replicas: int = 2, **env: str) -> Manifest:
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "main", "image": "pytorch:1", "env": variables}
    metadata = {"name": "sdxl-lora-1f3a9c", "namespace": "ai", "labels": LABELS}
    spec = {"replicas": replicas, "containers": [container]}
    body = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}
    return Manifest("job", body)


def test_an_item_more_in_a_list_that_is_written_as_a_whole() -> None:
    """An apply would take it away, but not what a default has added there."""
    wanted = job(A="1")
    found = applied(wanted, entry("kubectl-edit", {"f:spec": {"f:containers": {}}}))
    found["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "tty": False}
    answer = copy.deepcopy(found)
    answer["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "1"}]}
    assert needs_dry_run(wanted, found)
    one = result(wanted, found, answer)
    assert paths(one.fields) == {"spec.containers.main.env.B": (None, {"name": "B", "value": "2"}, "kubectl-edit")}
    assert one.others == []


def test_what_a_webhook_added_when_the_object_was_made_is_no_drift() -> None:
    wanted = job(A="1")
    found, answer = applied(wanted), applied(wanted)
    found["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    found["spec"]["replicas"] = 3
    assert paths(result(wanted, found, answer).fields) == {"spec.replicas": (2, 3, "trainform")}


def test_what_an_autoscaler_scales_is_its_own_and_what_a_person_scales_is_not() -> None:
    found = applied(job(), entry("kube-controller-manager", {"f:spec": {"f:replicas": {}}}, subresource="scale"))
    found["spec"]["replicas"] = 5
    one = result(job(), found, applied(job()))
    assert (one.state, paths(one.others)) == ("as deployed", {"spec.replicas": (2, 5, "kube-controller-manager")})
    found["metadata"]["managedFields"][1]["manager"] = "kubectl"
    one = result(job(), found, applied(job()))
    assert (one.state, paths(one.fields)) == ("changed", {"spec.replicas": (2, 5, "kubectl")})


def test_who_made_an_object_anew_is_not_its_controller_which_wrote_in_the_same_second() -> None:
    found = applied(job())
    made = entry("kubectl-create", set_of(job().body))
    status = entry("controller-manager", {"f:status": {"f:state": {}}}, subresource="status")
    added = entry("controller-manager", {"f:metadata": {"f:annotations": {"f:volcano.sh/seen": {}}}})
    found["metadata"]["managedFields"] = [status, added, made]
    assert len({each["time"] for each in found["metadata"]["managedFields"]}) == 1
    assert result(job(), found).manager == "kubectl-create"


def test_an_object_that_is_gone_or_going() -> None:
    assert gone(job()) == ObjectDrift(
        kind="PyTorchJob", name="sdxl-lora-1f3a9c", namespace="ai", state="gone", is_job=True
    )
    found = applied(job())
    found["metadata"]["deletionTimestamp"] = EDITED
    one = result(job(), found)
    assert (one.state, one.deleting) == ("gone", EDITED)


def ssh() -> Manifest:
    metadata = {"name": "sdxl-lora-ssh", "namespace": "ai", "labels": LABELS}
    data = {"id": "[secret]", "config": "x"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data}
    return Manifest("ssh", body)


def test_the_values_of_a_secret_are_judged_by_their_managers() -> None:
    """The live object is its metadata alone: nobody has read more."""
    ours = entry(
        "trainform",
        {"f:data": {"f:id": {}, "f:config": {}}, "f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}},
    )
    found: dict[str, Any] = {"metadata": {**ssh().body["metadata"], "managedFields": [ours]}}
    assert not needs_dry_run(ssh(), found)
    assert result(ssh(), found).state == "as deployed"
    del ours["fieldsV1"]["f:data"]["f:id"]
    assert not needs_dry_run(ssh(), found)
    assert paths(result(ssh(), found).fields) == {"data.id": ("(not read)", None, "")}
    found["metadata"]["managedFields"].append(entry("kubectl-edit", {"f:data": {"f:id": {}, "f:more": {}}}))
    one = result(ssh(), {**found, "kind": "Secret"})
    assert paths(one.fields) == {"data.id": ("(not read)", "(not read)", "kubectl-edit")}
    found["metadata"]["labels"] = {}
    assert "metadata.labels.app.kubernetes.io/name" in paths(result(ssh(), found).fields)


def test_a_record_that_somebody_has_edited_is_drift_though_it_is_what_all_else_is_compared_with() -> None:
    metadata = {"name": "sdxl-lora-deployed", "namespace": "ai", "labels": LABELS}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"experiment": "{}", "run": "1"}}
    record = Manifest(RECORD_KEY, body)
    found = applied(record)
    assert result(record, found).state == "as deployed"
    found["data"]["run"] = "2"
    del found["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]["f:run"]
    found["metadata"]["managedFields"].append(entry("kubectl-edit", {"f:data": {"f:run": {}}}))
    assert paths(result(record, found).fields) == {"data.run": ("(not read)", "(not read)", "kubectl-edit")}


@pytest.mark.parametrize(
    ("basis", "found"),
    [
        ("record", {"spec.clusterIP", "spec.type", "metadata.labels.app.kubernetes.io/name"}),
        ("files", {"spec.type", "metadata.labels.app.kubernetes.io/name"}),  # the address has not been applied yet
        ("other version", {"spec.type"}),  # nobody has the label: another version may not render it
    ],
)
def test_what_is_drift_follows_from_what_the_rendering_is_worth(basis: Basis, found: set[str]) -> None:
    wanted = service(type="ClusterIP")
    there = applied(wanted, entry("kubectl-edit", {"f:spec": {"f:type": {}}}))
    there["spec"] |= {"clusterIP": "10.0.0.7", "type": "NodePort"}
    there["metadata"]["labels"] = {}
    ours = there["metadata"]["managedFields"][0]["fieldsV1"]
    del ours["f:metadata"], ours["f:spec"]["f:type"]
    one = compared(wanted, there, applied(wanted), basis)
    assert {*paths(one.fields)} == found


def test_which_managers_are_ours() -> None:
    assert [is_ours(name) for name in ("trainform", "pulumi-kubernetes-1a2b3c4d", "trainform-2", "kubectl-edit",
            "")] == [True, True, False, False, False]  # fmt: skip


RICH = Environment.model_validate(ENVIRONMENT)
DEV = load_environment("dev").or_raise()
STACK = "vision/bert.dev"


def recorded(experiment: Experiment, environment: Environment = RICH, run: int = 1) -> tuple[Record, list[Any]]:
    """The record as the cluster keeps it, and the bodies of all objects."""
    plan = plan_job(experiment, environment, run)
    assert plan.record is not None
    copy = json.loads(json.dumps(msgspec.to_builtins(plan.record)))
    return Record(**copy), [manifest.body for manifest in job_manifests(plan)]


def bodies(record: Record) -> list[Any]:
    wanted = recorded_objects(record, STACK)
    assert (wanted.basis, wanted.notes) == ("record", ())
    return [manifest.body for manifest in wanted.manifests]


@pytest.mark.parametrize("backend", list(BACKENDS))
def test_every_teaching_experiment_is_rendered_as_it_was_deployed(backend: str) -> None:
    models = [
        Experiment.model_validate({**read("experiments", name), "backend": backend}) for name in names("experiments")
    ]
    able = [model for model in models if not job_problems(model, DEV)]
    assert able
    for model in able:
        record, made = recorded(model, DEV, 3)
        assert bodies(record) == made, model.name


@settings(max_examples=60)
@given(experiments())
def test_any_experiment_is_rendered_as_it_was_deployed(data: dict[str, Any]) -> None:
    model = parse(Experiment, data).model
    assume(model is not None and not job_problems(model, RICH, 2) and plan_job(model, RICH, 2).record is not None)
    assert model is not None
    record, made = recorded(model, RICH, 2)
    assert bodies(record) == made


def test_a_record_that_is_rendered_otherwise_is_of_another_version() -> None:
    record, _ = recorded(Experiment.model_validate(JOB))
    other = structs.replace(record, revision="0a1b2c", job="sdxl-lora-0a1b2c", version="0.9.0")
    wanted = recorded_objects(other, STACK)
    assert wanted.basis == "other version"
    assert "made by trainform 0.9.0" in wanted.notes[0]
    assert "only what others have written is compared" in wanted.notes[0]
    unknown = recorded_objects(structs.replace(record, revision="0a1b2c"), STACK)
    assert "made by an unknown version of trainform" in unknown.notes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": {"name": "sdxl-lora", "colour": "red"}},
        {"experiment": {}},
        {"environment": {"name": "dev"}},
        {"environment": {"accelerators": []}},
        {"environment": {"accelerators": {"a800": []}}},
    ],
)
def test_a_record_that_cannot_be_rendered_says_so(change: dict[str, Any]) -> None:
    record, _ = recorded(Experiment.model_validate(JOB))
    with pytest.raises(ValueError, match=r"made by trainform 0\.9\.0\. The present version, .* cannot render it"):
        recorded_objects(structs.replace(record, version="0.9.0", **change), STACK)


def test_an_environment_whose_file_is_wrong() -> None:
    wrong = Environment.model_validate({**ENVIRONMENT, "queues": {"a": {"parent": "b"}, "b": {"parent": "a"}}})
    with pytest.raises(ValueError, match="the environment's file is wrong: "):
        environment_objects(wrong)
