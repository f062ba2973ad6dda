"""What JobSet's webhook, or the API server of the Jobs that it makes, refuses of patches; of Trainer's runtimes too, of which JobSets are made."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import reasons

ROLES: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}
OF_WORKERS = "replicatedJobs.worker"
PLACES = {"jobset": ("job", "spec"), "trainer": ("runtime", "spec.template.spec")}


def of(backend: str, spec: dict[str, Any]) -> set[str]:
    """The places in the JobSet's spec that are refused."""
    key, place = PLACES[backend]
    for word in reversed(place.split(".")):
        spec = {word: spec}
    roles = {"node": {}, "worker": {"replicas": 2, "ranked": False, "command": ["watch"]}}
    found = reasons(backend=backend, roles=ROLES if backend == "jobset" else roles, manifest_overrides={key: spec})
    return {path.removeprefix(f"manifest_overrides.{key}.{place}.") for path in found}


def of_workers(**fields: Any) -> dict[str, Any]:
    return {"replicatedJobs": {"worker": {"template": {"spec": fields}}}}


def coordinator(**fields: Any) -> dict[str, Any]:
    return {"coordinator": {"replicatedJob": "worker", **fields}}


WRONG: list[tuple[dict[str, Any], str]] = [
    (of_workers(activeDeadlineSeconds=0), f"{OF_WORKERS}.template.spec.activeDeadlineSeconds"),
    (of_workers(activeDeadlineSeconds=-1), f"{OF_WORKERS}.template.spec.activeDeadlineSeconds"),
    (of_workers(podReplacementPolicy="Never"), f"{OF_WORKERS}.template.spec.podReplacementPolicy"),
    ({"replicatedJobs": {"worker": {"groupName": "30s"}}}, f"{OF_WORKERS}.groupName"),
    ({"replicatedJobs": {"worker": {"groupName": "x" * 64}}}, f"{OF_WORKERS}.groupName"),
    ({"successPolicy": {"targetReplicatedJobs": ["worker", "mine"]}}, "successPolicy.targetReplicatedJobs"),
    ({"failurePolicy": {"restartStrategy": "InPlaceRestart"}}, "failurePolicy.restartStrategy"),
    ({"volumeClaimPolicies": [{"templates": [{"metadata": {"name": "a"}}]}]}, "volumeClaimPolicies"),
    (coordinator(replicatedJob="mine"), "coordinator.replicatedJob"),
    (coordinator(jobIndex=1), "coordinator.jobIndex"),
    (coordinator(podIndex=2), "coordinator.podIndex"),
    (coordinator(podIndex=-1), "coordinator.podIndex"),
    # what the plan decides
    (of_workers(completionMode="NonIndexed"), f"{OF_WORKERS}.template.spec.completionMode"),
    (of_workers(backoffLimitPerIndex=1), f"{OF_WORKERS}.template.spec.backoffLimitPerIndex"),
    (of_workers(podFailurePolicy={"rules": []}), f"{OF_WORKERS}.template.spec.podFailurePolicy"),
    (of_workers(successPolicy={"rules": []}), f"{OF_WORKERS}.template.spec.successPolicy"),
    (of_workers(backoffLimit=-1), f"{OF_WORKERS}.template.spec.backoffLimit"),
]


@pytest.mark.parametrize("backend", [*PLACES])
@pytest.mark.parametrize(("spec", "place"), WRONG, ids=str)
def test_what_is_refused(backend: str, spec: dict[str, Any], place: str) -> None:
    assert {found.partition("[")[0] for found in of(backend, spec)} == {place}


@pytest.mark.parametrize("backend", [*PLACES])
@pytest.mark.parametrize(
    "spec",
    [
        of_workers(activeDeadlineSeconds=600, podReplacementPolicy="Failed"),
        {"replicatedJobs": {"worker": {"groupName": "mine"}}, "failurePolicy": {"restartStrategy": "BlockingRecreate"}},
        coordinator(podIndex=1),
        {"successPolicy": {"operator": "Any", "targetReplicatedJobs": ["worker"]}},
    ],
    ids=str,
)
def test_what_is_taken(backend: str, spec: dict[str, Any]) -> None:
    assert of(backend, spec) == set()


@pytest.mark.parametrize(("manager", "taken"), [("example.com/mine", True), ("mine", False), ("example.com/", False)])
def test_managers_of_patches_of_a_train_job(manager: str, taken: bool) -> None:
    patch = {"job": {"spec": {"runtimePatches": [{"manager": manager}]}}}
    found = reasons(backend="trainer", roles={"node": {}}, manifest_overrides=patch)
    assert {*found} == (set() if taken else {"manifest_overrides.job.spec.runtimePatches[0].manager"})


def test_the_first_replicated_job_waits_for_none() -> None:
    assert of("jobset", {"replicatedJobs": {"master": {"dependsOn": []}}}) == {"replicatedJobs.master.dependsOn"}
    assert of("jobset", {"replicatedJobs": {"worker": {"dependsOn": []}}}) == set()


def test_the_address_of_a_coordinator_stands_in_a_label() -> None:
    name = "bert-large-uncased-pretraining"
    roles = {"worker": {"replicas": 2}}
    patch = {"job": {"spec": coordinator()}}
    assert {*reasons(backend="jobset", name=name, roles=roles, manifest_overrides=patch)} == {
        "manifest_overrides.job.spec.coordinator"
    }
