"""Where pods run and what places them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, fitting
from trainform import defaults
from trainform.backends.backend import BACKENDS

OPEN = limited()
KUEUE = environment(admission="kueue", queues={}, backend="jobset")


def test_node_name() -> None:
    for judge in (by_role, by_job):
        (reason,) = judge("TF-PLC-1", OPEN, {"spec": {"nodeName": "node-1"}}).values()
        assert reason == "the pods name their node, so no scheduler and no queue places them"
        assert judge("TF-PLC-1", OPEN, {"spec": {"nodeName": None}}) == {}
    assert raw("TF-PLC-1", OPEN, {}, pod({"nodeName": "node-1"})).keys() == {"spec.nodeName"}
    assert found("TF-PLC-1", OPEN, node_selector={"kubernetes.io/hostname": "node-1"}) == {}


BYPASS = "the scheduler is not volcano, so the pods bypass the queues of the environment dev"


def test_the_scheduler_of_the_admission() -> None:
    for judge in (by_role, by_job):
        assert set(judge("TF-PLC-2", OPEN, {"spec": {"schedulerName": "default-scheduler"}}).values()) == {BYPASS}
        assert judge("TF-PLC-2", OPEN, {"spec": {"schedulerName": "volcano"}}) == {}
    job = {"job": {"spec": {"schedulerName": "other"}}}
    assert set(found("TF-PLC-2", OPEN, manifest_overrides=job).values()) == {BYPASS}
    for spec in ({}, {"schedulerName": ""}, {"schedulerName": "default-scheduler"}):
        assert raw("TF-PLC-2", OPEN, {"kind": "Pod"}, pod(spec)) == {"spec.schedulerName": BYPASS}
    assert raw("TF-PLC-2", OPEN, {"kind": "Pod"}, pod({"schedulerName": "volcano"})) == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_every_backend_renders_waits_for_the_admission(backend: str) -> None:
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
    assert found("TF-PLC-2", OPEN, backend=backend, roles=roles) == {}
    if defaults.KUEUE in BACKENDS[backend].ADMISSIONS:
        assert found("TF-PLC-2", KUEUE, backend=backend, roles=roles, queue="team") == {}


def test_pods_of_others_where_a_label_gives_jobs_to_a_queue() -> None:
    label = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    assert raw("TF-PLC-2", KUEUE, {**job, "metadata": label}, pod({})) == {}
    assert raw("TF-PLC-2", KUEUE, {"kind": "Pod", "metadata": label}, pod({}, label)) == {}
    for pods in (pod({}), pod({}, label)):  # Kueue admits a job by its own label
        assert raw("TF-PLC-2", KUEUE, job, pods).keys() == {"metadata.labels.kueue.x-k8s.io/queue-name"}
    assert raw("TF-PLC-2", KUEUE, {**job, "metadata": label}, pod({"schedulerName": "other"})).keys() == {
        "spec.schedulerName"
    }


LABEL = {"labels": {"kueue.x-k8s.io/queue-name": "vip"}}
AT_LABEL = "labels.kueue.x-k8s.io/queue-name"


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_label_of_kueue_where_volcano_admits_jobs(backend: str) -> None:
    roles = fitting(backend, {"master": {"replicas": 1}, "worker": {"replicas": 2}})
    patched = {**roles, "worker": {"replicas": 2, "pod_overrides": {"metadata": LABEL}}}
    labelled = {**roles, "worker": {"replicas": 2, **LABEL}}
    parts = {"backend": backend}
    reason = "it gives the job to a queue of Kueue, and in the environment dev Volcano admits jobs"
    assert found("TF-PLC-2", OPEN, **parts, roles=roles, **LABEL) == {AT_LABEL: reason}
    assert found("TF-PLC-2", OPEN, **parts, roles=labelled) == {f"roles.worker.{AT_LABEL}": reason}
    assert found("TF-PLC-2", OPEN, **parts, roles=patched).keys() == {f"roles.worker.pod_overrides.metadata.{AT_LABEL}"}
    patch = {"job": {"metadata": LABEL}}
    problems = job_problems(experiment(**parts, roles=roles, manifest_overrides=patch), OPEN)
    assert [problem.path for problem in problems] == [f"manifest_overrides.job.metadata.{AT_LABEL}"]


L40S = {"resource": "nvidia.com/gpu", "per_node": 4, "nodes": 4, "node_selector": {"pool": "l40s"}}
TAINT = {"key": "gpu", "operator": "Equal", "value": "l40s", "effect": "NoSchedule"}
TEAM = {"key": "team", "operator": "Exists"}
MARKED = environment(
    accelerators={"l40s": {**L40S, "tolerations": [TAINT]}}, node_selector={"zone": "a"}, tolerations=[TEAM]
)
GPU = {"accelerators": {"l40s": 1}}


def test_node_selectors_of_the_environment_and_the_kind() -> None:
    roles = {"worker": {"replicas": 1, **GPU}}
    assert found("TF-PLC-3", MARKED, roles=roles) == {}
    assert found("TF-PLC-3", MARKED, roles=roles, node_selector={"disk": "ssd"}) == {}
    assert found("TF-PLC-3", MARKED, node_selector={"zone": "b"}) == {
        "node_selector.zone": "the node selector of the environment dev is a, and the pods have b"
    }
    assert found("TF-PLC-3", MARKED, roles={"worker": {**GPU, "node_selector": {"pool": "cpu"}}}) == {
        "roles.worker.node_selector.pool": "the node selector of the accelerator l40s is l40s, and the pods have cpu"
    }


@pytest.mark.parametrize(
    ("selector", "missing"),
    [({"zone": None}, 1), ({"zone": "b"}, 1), ({"pool": None}, 1), (None, 2), ({"disk": "ssd"}, 0)],
)
def test_node_selectors_in_patches(selector: object, missing: int) -> None:
    patch = {"spec": {"nodeSelector": selector}}
    assert (by_role("TF-PLC-3", MARKED, patch, **GPU) != {}) is (missing > 0)
    roles = {"worker": {"replicas": 1, **GPU}}
    assert (by_job("TF-PLC-3", MARKED, patch, roles=roles) != {}) is (missing > 0)


def test_node_selectors_of_others() -> None:
    spec: dict[str, Any] = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    assert raw("TF-PLC-3", MARKED, {}, pod(spec)).keys() == {"spec.nodeSelector.zone", "spec.nodeSelector.pool"}
    assert raw("TF-PLC-3", MARKED, {}, pod({**spec, "nodeSelector": {"zone": "a", "pool": "l40s"}})) == {}
    assert raw("TF-PLC-3", MARKED, {}, pod({"nodeSelector": {"zone": "a"}})) == {}


def test_a_kind_may_narrow_the_label_of_the_environment() -> None:
    kinds = {"l40s": {**L40S, "node_selector": {"zone": "b"}}}
    narrowed = environment(accelerators=kinds, node_selector={"zone": "a"})
    assert found("TF-PLC-3", narrowed, roles={"worker": GPU}) == {}


def test_tolerations_of_the_environment_and_the_kind_stay() -> None:
    roles = {"worker": {"replicas": 1, **GPU, "tolerations": [{"key": "spot", "operator": "Exists"}]}}
    assert found("TF-PLC-4", MARKED, roles=roles) == {}
    for given, reasons in (
        ([TAINT, TEAM], set()),
        ([{"key": "gpu", "operator": "Exists"}, TEAM], set()),
        ([{**TAINT, "operator": "", "effect": ""}, TEAM], set()),
        ([TEAM], {"the pods lack the toleration of the accelerator l40s (gpu, Equal, l40s, NoSchedule)"}),
        ([TAINT], {"the pods lack the toleration of the environment dev (team, Exists)"}),
        (
            [{**TAINT, "value": "a800"}, TEAM],
            {"the pods lack the toleration of the accelerator l40s (gpu, Equal, l40s, NoSchedule)"},
        ),
        (
            [{**TAINT, "effect": "NoExecute"}, TEAM],
            {"the pods lack the toleration of the accelerator l40s (gpu, Equal, l40s, NoSchedule)"},
        ),
    ):
        patch = {"spec": {"tolerations": given}}
        assert set(by_role("TF-PLC-4", MARKED, patch, **GPU).values()) == reasons
        assert set(by_job("TF-PLC-4", MARKED, patch, roles={"worker": {"replicas": 1, **GPU}}).values()) == reasons
    assert raw("TF-PLC-4", MARKED, {}, pod({"tolerations": [TEAM]})) == {}
    assert raw("TF-PLC-4", MARKED, {}, pod({})) != {}


EVERY = {"operator": "Exists"}
NO_KEY = "the toleration has no key, so the pods may land on every node, also on those that are taken out of use"


@pytest.mark.parametrize("given", [EVERY, {**EVERY, "effect": "NoSchedule"}, {**EVERY, "key": ""}])
def test_no_toleration_of_every_taint(given: dict[str, Any]) -> None:
    patch = {"spec": {"tolerations": [given]}}
    for judge in (by_role, by_job):
        assert set(judge("TF-PLC-5", OPEN, patch).values()) == {NO_KEY}
    assert raw("TF-PLC-5", OPEN, {}, pod({"tolerations": [given]})) == {"spec.tolerations[0]": NO_KEY}


def test_tolerations_that_the_environment_opens() -> None:
    closed = environment(tolerations=[TEAM], limits={"tolerations": ["spot"]})
    assert found("TF-PLC-5", closed, tolerations=[{"key": "spot", "operator": "Exists"}]) == {}
    assert found("TF-PLC-5", closed, tolerations=[{"key": "team", "value": "x"}]) == {}
    assert found("TF-PLC-5", closed, tolerations=[{"key": "master", "operator": "Exists"}]) == {
        "tolerations[0]": "the environment dev does not allow this toleration (allowed: spot, team, Exists)"
    }
    patch = {"spec": {"tolerations": [TEAM, {"key": "master", "operator": "Exists"}]}}
    for judge in (by_role, by_job):
        assert judge("TF-PLC-5", closed, patch) != {}
        assert judge("TF-PLC-5", OPEN, patch) == {}
