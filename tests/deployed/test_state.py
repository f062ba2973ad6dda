"""The clusters of a stack, its record, and whether a `pulumi up` has not ended, from what `pulumi stack export`
prints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from trainform.deployed.state import StateCluster, StateJob, clusters_of, jobs_of, record_in, unfinished
from trainform.deployed.updates import Update
from trainform.plan.record import Record

UID = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90"


def provider(name: str, **inputs: Any) -> dict[str, Any]:
    kind = "pulumi:providers:kubernetes"
    urn = f"urn:pulumi:bert.prod::vision::trainform:index:TrainingJob${kind}::{name}"
    return {"urn": urn, "type": kind, "inputs": inputs}


def exported(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 3, "deployment": {"manifest": {}, "resources": [{"type": "pulumi:pulumi:Stack"}, *resources]}}


def test_each_provider_has_a_cluster() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
    found = clusters_of(
        exported(
            provider("mine", kubeconfig=secret),
            provider("bert-cluster", context="prod", clusterIdentifier=UID),
            provider("hello-cluster"),
        )
    )
    assert found == [
        StateCluster("bert-cluster", "prod", UID),
        StateCluster("hello-cluster", None, None),
        StateCluster("mine", None, None, own_kubeconfig=True),
    ]


def of_job(experiment: str, namespace: str, cluster: dict[str, Any], **labels: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": "trainform", "app.kubernetes.io/name": experiment} | labels
    metadata = {"name": experiment, "namespace": namespace, "labels": labels}
    kind = "kubernetes:core/v1:Service"
    return {"type": kind, "provider": f"{cluster['urn']}::7c1e", "inputs": {"metadata": metadata}}


def test_the_jobs_of_a_stack_are_those_of_its_objects() -> None:
    here, there = provider("bert-cluster"), provider("hello-cluster")
    foreign = of_job("other", "ai", here, **{"app.kubernetes.io/managed-by": "Helm"})
    made = [of_job("bert", "ai", here), of_job("bert", "ai", here), of_job("hello", "lab", there), foreign]
    namespace = {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": "ai"}}}
    assert jobs_of(exported(here, there, *made, namespace)) == [
        StateJob("bert-cluster", "bert", "ai"),
        StateJob("hello-cluster", "hello", "lab"),
    ]


RECORD = Record("1f3a9c", "bert-1f3a9c", 2, {"name": "bert"}, {"name": "prod"}, "0.9.0")


def config_map(name: str, **data: str) -> dict[str, Any]:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "ai-production"},
        "data": data,
    }
    return {"urn": f"urn:pulumi:bert.prod::vision::kubernetes:core/v1:ConfigMap::{name}",
        "type": "kubernetes:core/v1:ConfigMap", "inputs": body}  # fmt: skip


def test_the_record_of_what_was_deployed_is_in_the_state() -> None:
    state = exported(config_map("bert-launch"), config_map("bert-deployed", **RECORD.data()))
    assert record_in(state, "bert") == RECORD
    assert record_in(state, "resnet") is None
    assert record_in(exported(config_map("bert-deployed", revision="1f3a9c")), "bert") is None


UP = Update("update", "succeeded", "2026-03-02T08:00:00Z", "2026-03-02T08:00:09Z", 0, "", None, "")
REFRESH = structs.replace(UP, kind="refresh", started="2026-03-02T09:00:00Z", ended="2026-03-02T09:00:03Z")


def changed(record: str, job: str) -> dict[str, Any]:
    """A state with the times at which the engine has changed the record and the job last."""
    return exported(
        {**config_map("bert-deployed", **RECORD.data()), "modified": record},
        {"type": "kubernetes:batch.volcano.sh/v1alpha1:Job", "custom": True, "modified": job},
    )


IN_TIME, LATER, LATEST = "2026-03-02T08:00:09.81Z", "2026-03-02T09:00:03.5Z", "2026-03-02T09:00:04.1Z"


@pytest.mark.parametrize(
    ("record", "job", "done", "expected"),
    [
        (IN_TIME, IN_TIME, [UP], False),
        (LATER, IN_TIME, [UP], True),
        (IN_TIME, LATER, [UP], True),
        (IN_TIME, LATER, [REFRESH, UP], False),  # a refresh has found another status of the job
        (LATER, IN_TIME, [REFRESH, UP], True),  # and this one a record that no `pulumi up` of the history has made
        (IN_TIME, LATEST, [REFRESH, UP], True),
        (LATER, LATER, [structs.replace(UP, number=7)], False),  # a service knows each, and has another clock
        (LATER, LATER, [], False),
    ],
)
def test_an_up_that_the_history_does_not_know_has_changed_the_state(
    record: str, job: str, done: list[Update], expected: bool
) -> None:
    assert unfinished(changed(record, job), "bert", done) is expected


def test_an_up_that_was_killed_is_seen_after_a_refresh_that_has_found_another_status_of_the_job() -> None:
    """The refresh gives each object that it finds changed its own time, and leaves the one at which the object was
    made."""
    state = changed(IN_TIME, LATER)
    script = {**config_map("bert-6b9264-launch"), "created": IN_TIME, "modified": IN_TIME}
    state["deployment"]["resources"].append(script)
    assert not unfinished(state, "bert", [REFRESH, UP])
    script |= {"created": "2026-03-02T08:30:00.1Z", "modified": "2026-03-02T08:30:00.1Z"}
    assert unfinished(state, "bert", [REFRESH, UP])
    imported = structs.replace(UP, kind="resource-import", ended="2026-03-02T08:30:02Z")
    assert not unfinished(state, "bert", [REFRESH, imported, UP])


@pytest.mark.parametrize("number", [0, 7])
def test_an_up_that_was_killed_leaves_what_it_had_begun(number: int) -> None:
    state = changed(IN_TIME, IN_TIME)
    state["deployment"]["pending_operations"] = [{"type": "updating"}]
    assert unfinished(state, "bert", [structs.replace(UP, number=number)])


def test_a_creation_that_was_killed_and_that_a_later_up_has_made_is_done() -> None:
    """The engine keeps the operation all the same, until `pulumi refresh --clear-pending-creates`."""
    state = changed(IN_TIME, IN_TIME)
    script = {**config_map("bert-6b9264-launch"), "created": IN_TIME}
    state["deployment"]["pending_operations"] = [{"type": "creating", "resource": config_map("bert-6b9264-launch")}]
    assert unfinished(state, "bert", [UP])
    for going in ({"pendingReplacement": True}, {"delete": True}):
        state["deployment"]["resources"].append(script | going)
        assert unfinished(state, "bert", [UP])
    state["deployment"]["resources"].append(script)
    assert not unfinished(state, "bert", [UP])
