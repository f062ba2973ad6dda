"""Merge patches on objects: applied, shown, and kept from what the plan has decided."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, job, plan, reasons
from trainform.backends.owned import value_at
from trainform.backends.patch_rules import part_that_sets, without_parts
from trainform.job.render import job_manifests

STORAGE = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}


def patched(key: str, patch: dict[str, Any]) -> dict[str, Any]:
    made = plan(storage=STORAGE, queue={"weight": 2}, manifest_overrides={key: patch})
    assert made.overrides == (f"manifest_overrides.{key}",)
    keys = {"queue": "queue-sdxl-lora"}
    return next(found.body for found in job_manifests(made) if found.key == keys.get(key, key))


def test_every_object_can_be_patched() -> None:
    patch = {"metadata": {"annotations": {"example.com/team": "vision"}}}
    for key in ("job", "service", "launch-script", "queue", "claim-checkpoints"):
        assert patched(key, patch)["metadata"]["annotations"]["example.com/team"] == "vision"
    tasks = patched("job", {"spec": {"tasks": {"worker": {"topologyPolicy": "none"}}}})["spec"]["tasks"]
    assert tasks[0]["topologyPolicy"] == "none"


@pytest.mark.parametrize(
    ("key", "patch", "path"),
    [
        ("jobs", {}, "manifest_overrides.jobs"),
        ("claim-models", {}, "manifest_overrides.claim-models"),
        ("job", {"metadata": {"name": "mine"}}, "manifest_overrides.job.metadata.name"),
        ("job", {"metadata": {"name": None}}, "manifest_overrides.job.metadata.name"),
        ("job", {"kind": None}, "manifest_overrides.job.kind"),
        ("job", {"metadata": None}, "manifest_overrides.job.metadata"),
        (
            "service",
            {"metadata": {"labels": {"app.kubernetes.io/name": "mine"}}},
            "manifest_overrides.service.metadata.labels.app.kubernetes.io/name",
        ),
        ("service", {"metadata": {"labels": None}}, "manifest_overrides.service.metadata.labels"),
        ("job", {"spec": {"queue": "night"}}, "manifest_overrides.job.spec.queue"),
        ("job", {"spec": {"minAvailable": 1}}, "manifest_overrides.job.spec.minAvailable"),
        ("job", {"spec": {"tasks": {"worker": {"replicas": 9}}}}, "manifest_overrides.job.spec.tasks.worker.replicas"),
        ("job", {"spec": {"tasks": {"worker": None}}}, "manifest_overrides.job.spec.tasks.worker"),
        ("claim-checkpoints", {"spec": {"resources": None}}, "manifest_overrides.claim-checkpoints.spec.resources"),
        ("launch-script", {"data": {"launch.sh": 1}}, "manifest_overrides.launch-script.data.launch.sh"),
    ],
)
def test_fields_that_a_patch_must_not_set(key: str, patch: dict[str, Any], path: str) -> None:
    assert path in reasons(storage=STORAGE, manifest_overrides={key: patch})


@pytest.mark.parametrize(
    "spec",
    [
        {"selector": {"app.kubernetes.io/name": None}},
        {"selector": {"app.kubernetes.io/name": "other"}},
        {"selector": {"example.com/team": "vision"}},
        {"selector": None},
        {"selector": "text"},
        None,
    ],
)
def test_a_service_has_the_pods_of_its_own_job_alone(spec: Any) -> None:
    """Without a label in its selector it would have those of every job in the namespace."""
    (path,) = reasons(manifest_overrides={"service": {"spec": spec}})
    assert path.startswith("manifest_overrides.service.spec")


@pytest.mark.parametrize("field", ["data", "stringData", "type", "immutable"])
@pytest.mark.parametrize("content", [{"token": "UzNDUkVU"}, {"id_rsa": None}, None, "S3CRET", {}])
def test_a_secret_holds_nothing_of_a_patch(field: str, content: Any) -> None:
    """The patch is an input of the component, which stands in state and in previews as it was written."""
    patch = {field: content, "metadata": {"annotations": {"example.com/team": "vision"}}}
    made = experiment(ssh={}, manifest_overrides={"ssh": patch})
    problems = job_problems(made, environment())
    (problem,) = (found for found in problems if not found.code)
    assert problem.path == f"manifest_overrides.ssh.{field}"
    assert "`ssh: {secret: NAME}`" in problem.fix
    assert "S3CRET" not in "".join(map(str, problems))
    assert "UzNDUkVU" not in "".join(map(str, problems))
    del patch[field]
    assert plan(ssh={}, manifest_overrides={"ssh": patch}).overrides == ("manifest_overrides.ssh",)


@pytest.mark.parametrize(
    ("main", "path"),
    [
        ({"args": ["--password", 86753091]}, "args[1]"),
        ({"env": {"DB_PASSWORD": 86753091}}, "env"),
        ({"env": {"DB_PASSWORD": "x86753091"}}, "env"),
        ({"livenessProbe": {"exec": {"command": ["mysql", "--password", 86753091]}}}, "livenessProbe.exec.command[2]"),
    ],
)
def test_no_secret_of_a_wrong_type_is_shown(main: dict[str, Any], path: str) -> None:
    """The words before it, or its name, tell that it is one."""
    made = experiment(
        roles={"worker": {"env": {"OWN": "1"}, "pod_overrides": {"spec": {"containers": {"main": main}}}}}
    )
    problems = [found for found in job_problems(made, environment()) if not found.code]
    assert f"roles.worker.pod_overrides.spec.containers.main.{path}" in [found.path for found in problems]
    assert "86753091" not in "".join(map(str, problems))


@pytest.mark.parametrize("label", ["app.kubernetes.io/name", "app.kubernetes.io/component", "trainform.dev/revision"])
@pytest.mark.parametrize("value", ["mine", None])
def test_a_patch_cannot_change_trainforms_own_labels(label: str, value: str | None) -> None:
    found = reasons(roles={"worker": {"pod_overrides": {"metadata": {"labels": {label: value}}}}})
    assert found == {f"roles.worker.pod_overrides.metadata.labels.{label}": "the key is set by trainform itself"}


# Limits of the environment that the rest of the experiment breaks, whatever becomes of a patch.
STRICT = environment(
    limits={"registries": ["registry.example.com"], "max_accelerators": 8, "host_network": True},
    accelerators={"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 8}},
)
PRIVILEGED = "spec.containers.main.securityContext.privileged"
WRONG_POD: dict[str, Any] = {"spec": {"containers": {"main": {"ports": "8080"}}}}


def job_value(where: str, **parts: Any) -> Any:
    """What stands at the path in the spec of the rendered job."""
    return value_at(job(plan(**parts))["spec"], tuple(where.split(".")))


@pytest.mark.parametrize(
    ("backend", "where", "value", "told", "field"),
    [
        (
            "volcano",
            "networkTopology",
            {"mode": "hard"},
            "`network.topology`",
            {"network": {"topology": {"highest_tier": 2}}},
        ),
        (
            "volcano",
            "minAvailable",
            1,
            "`min_available` of the role",
            {"roles": {"master": {}, "worker": {"replicas": 4, "min_available": 1}}},
        ),
        ("volcano", "queue", "night", "`queue`", {"queue": "night"}),
        ("volcano", "priorityClassName", "urgent", "`priority_class`", {"priority_class": "high"}),
        (
            "jobset",
            "replicatedJobs.worker.template.spec.parallelism",
            9,
            "`replicas` of the role",
            {"roles": {"master": {}, "worker": {"replicas": 8}}},
        ),
    ],
    ids=str,
)
def test_the_fix_names_the_field_that_decides(
    backend: str, where: str, value: object, told: str, field: dict[str, Any] | None
) -> None:
    """field: what to write in its place, by which the object changes there; None: the experiment has nothing for it on
    this operator."""
    given: dict[str, Any] = {"backend": backend, "roles": {"master": {}, "worker": {"replicas": 4}}}
    patch = functools.reduce(lambda inner, key: {key: inner}, reversed(f"job.spec.{where}".split(".")), value)
    problems = job_problems(experiment(**given, manifest_overrides=patch), environment())
    assert [problem.fix for problem in problems if f"write {told}" in problem.fix]
    if field is not None:
        before, after = (job_value(where, **(given | more)) for more in ({}, field))
        assert before != after


def test_all_invalid_patches_are_reported_together() -> None:
    """An object that is malformed hides neither another one nor what else is wrong with it."""
    found = reasons(
        storage=STORAGE,
        roles={"worker": {"pod_overrides": WRONG_POD},
            "other": {"pod_overrides": {"metadata": {"annotations": {"a": 1}}}}},
        manifest_overrides={
            "jobs": {},
            "service": {"kind": "Pod"},
            "job": {"metadata": {"name": "x", "annotations": {"a": 1}},
                "spec": {"queue": "night", "tasks": {"other": {"replicas": 7}}}},
            "claim-checkpoints": {"spec": {"resources": None}},
        },
    )  # fmt: skip
    assert set(found) == {
        "roles.worker.pod_overrides.spec.containers.main.ports",
        "roles.other.pod_overrides.metadata.annotations.a",
        "manifest_overrides.jobs",
        "manifest_overrides.service.kind",
        "manifest_overrides.job.metadata.name",
        "manifest_overrides.job.metadata.annotations.a",
        "manifest_overrides.job.spec.queue",
        "manifest_overrides.job.spec.tasks.other.replicas",
        "manifest_overrides.claim-checkpoints.spec.resources",
    }


@pytest.mark.parametrize(
    ("overrides", "reported"),
    [
        # what is right in the same patch still counts, for good and for bad
        ({"image": "registry.example.com/ai/pytorch:2.8", "ports": "8080"}, {"spec.containers.main.ports"}),
        (
            {"securityContext": {"privileged": True}, "ports": "8080"},
            {"spec.containers.main.ports", PRIVILEGED, "image"},
        ),
        (
            {"securityContext": {"privileged": True, "capabilities": {"add": "ALL"}}},
            {"spec.containers.main.securityContext.capabilities.add", PRIVILEGED, "image"},
        ),
        ({"image": 5}, {"spec.containers.main.image", "image"}),
    ],
)
def test_the_valid_part_of_an_invalid_patch_is_checked(overrides: dict[str, Any], reported: set[str]) -> None:
    patch = {"spec": {"containers": {"main": overrides}}}
    made = experiment(image="docker.io/ai/pytorch:2.8", roles={"worker": {"pod_overrides": patch}})
    base = "roles.worker.pod_overrides"
    found = {problem.path.removeprefix(f"{base}.") for problem in job_problems(made, STRICT)}
    assert found == reported


@pytest.mark.parametrize(
    ("patch", "parts", "rest"),
    [
        ({"spec": {"a": 1, "b": 2}}, [("spec", "a")], {"spec": {"b": 2}}),
        ({"spec": {"a": 1}}, [("spec", "a")], {}),
        ({"spec": {"items": [{"name": "x", "a": 1}]}, "metadata": {}}, [("spec", "items")], {"metadata": {}}),
        ({"spec": {"a": None, "b": {}}}, [("spec", "a")], {"spec": {"b": {}}}),
    ],
    ids=str,
)
def test_a_patch_without_parts(patch: dict[str, Any], parts: list[Any], rest: dict[str, Any]) -> None:
    assert without_parts(patch, parts) == rest


def test_the_part_that_sets_a_place() -> None:
    patch = {"spec": {"containers": {"main": {"env": [{"name": "A"}]}}, "tasks": None}}
    assert part_that_sets(patch, ("spec", "containers", "main", "env", "A")) == ("spec", "containers", "main", "env")
    assert part_that_sets(patch, ("spec", "tasks", "worker")) == ("spec", "tasks")


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("key", ["pulumi.com/patchForce", "pulumi.com/skipAwait", "trainform.dev/more"])
def test_a_patch_sets_no_key_of_trainform_and_pulumi(field: str, key: str) -> None:
    patch = {"metadata": {field: {key: "worker"}}}
    for name in ("service", "job"):
        found = reasons(manifest_overrides={name: patch})
        assert found.keys() == {f"manifest_overrides.{name}.metadata.{field}.{key}"}
    found = reasons(roles={"worker": {"pod_overrides": {"metadata": {field: {"pulumi.com/patchForce": "true"}}}}})
    assert found.keys() == {f"roles.worker.pod_overrides.metadata.{field}.pulumi.com/patchForce"}


def test_a_patch_of_pods_may_repeat_a_label_of_trainform() -> None:
    """As who copies what `trainform render` shows."""
    labels = {"app.kubernetes.io/component": "worker"}
    assert reasons(roles={"worker": {"pod_overrides": {"metadata": {"labels": labels}}}}) == {}
    labels = {"trainform.dev/replica": "0"}
    assert reasons(roles={"worker": {"pod_overrides": {"metadata": {"labels": labels}}}}).keys() == {
        "roles.worker.pod_overrides.metadata.labels.trainform.dev/replica"
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("finalizers", ["example.com/keep"]),
        ("ownerReferences", [{"kind": "Pod", "name": "other"}]),
        ("generateName", "example-"),
    ],
)
def test_a_patch_does_not_decide_when_an_object_goes(field: str, value: object) -> None:
    for name in ("service", "job"):
        found = reasons(manifest_overrides={name: {"metadata": {field: value}}})
        assert all(path.startswith(f"manifest_overrides.{name}.metadata.{field}") for path in found)
        assert found
