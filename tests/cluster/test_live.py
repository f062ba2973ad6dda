"""Facts of a live cluster, read from a server that answers as an API server does, and what cannot be read."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.live_cluster import JOB, OTHER, PLENTY, asked, cluster, config_map
from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import GPU, NAMESPACE, group, node, pod, queue, volcano_job
from tests.support.websites import WEB_PAGE, website
from trainform.cluster.facts import NO_HOLDERS, LiveKueue
from trainform.cluster.live import LiveReads

NO_KUEUE = LiveKueue({}, ())


def test_a_running_job_with_its_pods(read: Any) -> None:
    (job,) = read(cluster(), jobs=[asked()]).jobs
    assert (job.name, job.phase) == (JOB, "running")
    assert (job.started, job.pods) == ("2026-11-22T09:05:00Z", {"running": 1})


def test_another_revision_of_the_experiment_is_another_job(read: Any) -> None:
    older = pod("sdxl-lora-000000", 0, "Pending", on=None, experiment="sdxl-lora")
    (job,) = read(cluster(older), jobs=[asked()]).jobs
    assert job.pods == {"running": 1}


def test_the_phase_is_that_of_the_pods(read: Any) -> None:
    """Volcano's controller reports Running as soon as enough pods were made, and the scheduler has no room."""
    waiting = pod(JOB, 0, "Pending", None, experiment="sdxl-lora")
    (job,) = read(ApiObjects([volcano_job(JOB), waiting]), jobs=[asked()]).jobs
    assert (job.phase, job.pods) == ("queued", {"waiting": 1})
    unread = ApiObjects([volcano_job(JOB), waiting], forbidden=frozenset({"pods", "*/pods"}))
    assert read(unread, jobs=[asked()]).jobs[0].phase == "unknown"


def test_queues_with_what_is_held_in_them(read: Any) -> None:
    pending = pod("late-123456", 0, "Pending", on=None)
    ended = pod("done-123456", 0, "Succeeded")
    facts = read(cluster(pending, ended))
    found, night = facts.queues
    assert (found.name, found.weight, found.capability) == ("default", 2, {GPU: "64"})
    each = {GPU: "8", "cpu": "8", "memory": "64Gi", "pods": "1"}
    assert found.holders == {f"{NAMESPACE}/{JOB}": each, f"team-b/{OTHER}": each}
    assert found.reclaimable
    assert (night.name, night.parent, night.holders) == ("night", "root", {})


def test_nodes_with_what_their_pods_ask_for(read: Any) -> None:
    daemon = pod("exporter", 0, on="node-1", accelerators=0)
    daemon["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "exporter", "controller": True}]
    facts = read(cluster(node("node-9", unschedulable=True), daemon))
    first, second, cordoned = facts.nodes
    assert [each.open for each in facts.nodes] == [True, True, False]
    assert (cordoned.name, cordoned.requested, cordoned.allocatable[GPU]) == ("node-9", {}, "8")
    assert (first.name, first.requested[GPU], set(first.holders)) == ("node-0", "8", {f"{NAMESPACE}/{JOB}"})
    assert second.requested == {GPU: "8", "cpu": "16", "memory": "128Gi", "pods": "2"}
    assert set(second.holders) == {f"team-b/{OTHER}"}
    assert second.allocatable["memory"] == "1Ti"


def test_quotas_of_the_namespaces(read: Any) -> None:
    def of_namespace(
        kind: str, name: str, spec: dict[str, Any], namespace: str = NAMESPACE, **more: Any
    ) -> dict[str, Any]:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec, **more}

    hard = {f"requests.{GPU}": "32"}
    objects = cluster(
        of_namespace("ResourceQuota", "team", {"hard": hard}),
        of_namespace("ResourceQuota", "best-effort", {"hard": {"pods": "4"}, "scopes": ["BestEffort"]}),
        of_namespace("ResourceQuota", "elsewhere", {"hard": hard}, "team-b"),
        pod("waits-123456", 0, "Pending", on=None),
        pod("done-123456", 0, "Succeeded"),
    )
    facts = read(objects)
    scoped, team = facts.quotas[NAMESPACE]
    assert (scoped.name, scoped.scoped, team.scoped) == ("best-effort", True, False)
    assert (team.name, team.hard) == ("team", hard)
    assert {job: amounts[GPU] for job, amounts in team.holders.items()} == {
        f"{NAMESPACE}/{JOB}": "8",
        f"{NAMESPACE}/waits-123456": "8",
    }
    assert set(facts.quotas) == {NAMESPACE}
    objects.forbidden = frozenset({"resourcequotas"})
    facts = read(objects)
    what = f"resource quotas of {NAMESPACE}"
    assert (facts.quotas, facts.not_read) == ({}, {what: f"this account has no permission to list {what}"})
    objects.forbidden = frozenset({"*/pods"})
    assert [each.holders for each in read(objects).quotas[NAMESPACE]] == [None, None]


def test_the_queues_of_kueue(read: Any) -> None:
    def of_kueue(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
        metadata = {"name": name, **more.pop("metadata", {})}
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec, **more}

    def workload(job: str, finished: str) -> dict[str, Any]:
        owner = {"name": job, "kind": "JobSet", "controller": True}
        used = [{"name": name, "resourceUsage": {GPU: "8"}} for name in ("master", "worker")]
        status = {
            "admission": {"clusterQueue": "research", "podSetAssignments": used},
            "conditions": [{"type": "Finished", "status": finished}],
        }
        metadata = {"namespace": NAMESPACE, "ownerReferences": [owner]}
        return of_kueue("Workload", f"jobset-{job}", {"queueName": "team"}, metadata=metadata, status=status)

    flavors = [
        {"name": "fast", "resources": [{"name": GPU, "nominalQuota": 16, "borrowingLimit": "8", "lendingLimit": "4"}]},
        {"name": "slow", "resources": [{"name": GPU, "nominalQuota": "8", "borrowingLimit": "0"},
                {"name": "cpu", "nominalQuota": "0"}]},
    ]  # fmt: skip
    stopped = {"clusterQueue": "research", "stopPolicy": "Hold"}
    spec = {
        "cohortName": "all",
        "stopPolicy": "None",
        "resourceGroups": [{"coveredResources": [GPU, "cpu"], "flavors": flavors}],
    }
    objects = cluster(
        of_kueue("LocalQueue", "team", {"clusterQueue": "research"}, metadata={"namespace": NAMESPACE}),
        of_kueue("LocalQueue", "night", stopped, metadata={"namespace": NAMESPACE}),
        of_kueue("ClusterQueue", "research", spec),
        of_kueue("ClusterQueue", "alone", {"cohortName": "flat", "stopPolicy": "HoldAndDrain"}),
        of_kueue("Cohort", "all", {"parentName": "company"}),
        of_kueue("Cohort", "flat", {}),
        of_kueue("ClusterQueue", "below", {"cohortName": "company"}),
        workload("bert-77aa01", "False"),
        workload("mnist-0a1b2c", "True"),
    )
    assert read(objects).kueue == NO_KUEUE
    found = read(objects, kueue=True).kueue
    alone, below, research = found.cluster_queues
    assert below.nested, "the cohort all lends to it"
    assert found.local_queues == {f"{NAMESPACE}/team": "research", f"{NAMESPACE}/night": "research"}
    assert found.stopped == {f"{NAMESPACE}/night": "Hold"}
    assert (alone.stopped, research.stopped) == ("HoldAndDrain", "")
    assert (alone.nested, alone.nominal, research.nested, research.cohort) == (False, {}, True, "all")
    assert research.nominal == {GPU: "24", "cpu": "0"}
    assert research.holders == {f"{NAMESPACE}/bert-77aa01": {GPU: "16"}}
    objects.forbidden = frozenset({"cohorts"})
    facts = read(objects, kueue=True)
    assert (facts.kueue, facts.not_read) == (NO_KUEUE, {"cohorts": "this account has no permission to list cohorts"})


# --- objects


def service(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "sdxl-lora", "namespace": NAMESPACE},
        "spec": spec,
    }


def test_an_object_that_is_gone_is_missing(read: Any) -> None:
    gone = asked("sdxl-lora-0ff1ce")
    facts = read(cluster(), jobs=[gone], objects=[gone, service(clusterIP="None")])
    assert facts.jobs == ()
    assert facts.missing == ("Job/sdxl-lora-0ff1ce", "Service/sdxl-lora")
    assert facts.drift == ()


def test_a_field_that_somebody_changed_is_drift_with_its_manager(read: Any) -> None:
    edited = queue("share", weight=4)
    fields: dict[str, Any] = {"f:spec": {"f:weight": {}}}
    edited["metadata"]["managedFields"] = [
        {"manager": "pulumi-kubernetes", "operation": "Apply", "time": "2026-11-22T09:00:00Z",
            "fieldsV1": {"f:spec": {"f:reclaimable": {}}}},
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-22T14:02:07Z", "fieldsV1": fields},
        {"manager": "vc-controller-manager", "operation": "Update", "time": "2026-11-22T15:00:00Z",
            "fieldsV1": {"f:status": {}}},
    ]  # fmt: skip
    applied = queue("share", weight=1)
    applied["metadata"]["namespace"] = NAMESPACE  # the provider fills it in
    del applied["status"]
    (drift,) = read(cluster(edited), objects=[applied]).drift
    assert (drift.kind, drift.name, drift.path, drift.applied, drift.live) == ("Queue", "share", "spec.weight", 1, 4)
    assert (drift.manager, drift.written) == ("kubectl-edit", "2026-11-22T14:02:07Z")


def test_the_data_of_a_secret_is_never_asked_for(read: Any) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh", "namespace": NAMESPACE}}
    objects = cluster({**secret, "data": {"id_ed25519": "aHVudGVyMg=="}})
    facts = read(objects, objects=[{**secret, "stringData": {"id_ed25519": "0ther"}}])
    assert facts.drift == ()


def test_what_this_account_may_not_read_is_said(read: Any) -> None:
    objects = cluster()
    objects.forbidden = frozenset({"nodes", "*/pods", "configmaps"})
    wanted = {"jobs": [asked()], "objects": [config_map()]}
    facts = read(objects, **wanted)
    assert facts.nodes is None
    assert facts.drift is None
    assert [each.phase for each in facts.jobs] == ["running"]
    assert facts.queues[0].holders == {}
    assert facts.not_read == {
        "nodes": "this account has no permission to list nodes",
        "what other jobs hold": "this account has no permission to list pods",
        "objects": (
            "1 of 1 objects could not be read: this account has no permission to read ConfigMap/sdxl-lora-deployed"
        ),
    }


def test_without_pod_groups_nobody_knows_who_is_in_a_queue(read: Any) -> None:
    objects = cluster()
    objects.forbidden = frozenset({"podgroups"})
    facts = read(objects)
    assert facts.queues[0].holders == {}
    assert facts.not_read == {NO_HOLDERS: "this account has no permission to list pod groups"}


def test_a_cluster_without_volcano_has_no_queues(read: Any) -> None:
    def answer(path: str) -> Any:
        return (404, "text/plain", b"404 page not found\n") if "volcano" in path else cluster()(path)

    facts = read(answer, jobs=[asked()])
    assert facts.queues == ()
    assert facts.missing == (f"Job/{JOB}",)
    assert facts.not_read == {}


def test_what_is_late_is_not_waited_for(read: Any) -> None:
    objects = cluster()
    objects.slow = {"nodes": 6.0, f"jobs/{JOB}": 6.0}
    begin = time.monotonic()
    facts = read(objects, seconds=2.0, jobs=[asked()])
    assert facts.nodes is None
    assert facts.jobs is None
    assert facts.not_read == {"nodes": "no answer within 2 s", f"Job/{JOB}": "no answer within 2 s"}
    assert facts.queues
    assert time.monotonic() - begin < 2.0 + 6.0  # the server itself ends when its answers have


def test_lists_are_read_before_it_is_known_what_to_ask_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As while the engine works: they have its time, and those that are late then have theirs."""
    objects = cluster()
    objects.slow = {"nodes": 1.0, "queues": 8.0}
    with website(objects) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with LiveReads(None, NAMESPACE, 2.0) as reads:
            until = time.monotonic() + PLENTY
            while len(objects.asked) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            assert sorted(path.partition("?")[0].rpartition("/")[2] for path in objects.asked) == [
                "nodes", "podgroups", "pods", "queues",
            ]  # fmt: skip
            time.sleep(1.5)
            facts = reads.facts([asked()])
    assert facts.nodes
    assert facts.jobs
    assert facts.not_read == {"queues": "no answer within 2 s"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(WEB_PAGE, "does not answer as a Kubernetes API"), ((401, "application/json", b"{}"), "refuses the credentials")],
)
def test_a_server_that_is_no_cluster_is_one_reason(read: Any, answer: Any, reason: str) -> None:
    facts = read(answer, jobs=[asked()], objects=[asked()])
    assert (facts.jobs, facts.queues, facts.nodes, facts.drift, facts.missing) == (None, None, None, None, ())
    assert list(facts.not_read) == ["cluster"]
    assert reason in facts.not_read["cluster"]


def test_an_unreachable_cluster_is_one_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(tmp_path / "kubeconfig", monkeypatch, "http://me:s3cret@127.0.0.1:1", {"token": "t0ken"})
    with LiveReads(None, NAMESPACE) as reads:
        facts = reads.facts([asked()])
    assert list(facts.not_read) == ["cluster"]
    assert "Connection refused" in facts.not_read["cluster"]
    assert "s3cret" not in facts.not_read["cluster"]


@pytest.mark.parametrize("version", ["../../x", "v1/../x", "V 1", ""])
def test_a_version_that_is_none_is_not_asked_for(read: Any, version: str) -> None:
    objects = cluster()
    facts = read(objects, objects=[{"apiVersion": version, "kind": "Job", "metadata": {"name": "a/../b"}}])
    assert "is not an API version" in facts.not_read["objects"]
    assert not any("x" in path.split("?")[0] for path in objects.asked)


OWED = 30.0
PROGRAM = """
import sys, time
from trainform.cluster.live import LiveReads
begin = time.monotonic()
with LiveReads(None, "ai-namespace", 0.5) as reads:
    print(reads.facts().not_read, flush=True)
assert time.monotonic() - begin < 10
"""


def test_the_process_ends_while_a_server_still_owes_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = ApiObjects(slow=dict.fromkeys(("nodes", "pods", "queues", "podgroups"), OWED))
    with website(objects) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - begin < OWED
    assert "no answer within 0.5 s" in done.stdout


def test_of_a_thousand_pods_little_is_kept(read: Any) -> None:
    pods = [pod(JOB, index, on=f"node-{index // 8}", accelerators=1, experiment="sdxl-lora") for index in range(1024)]
    for each in pods:  # as large as real ones
        each["metadata"]["annotations"]["filler"] = "x" * 8000
    objects = ApiObjects(
        [
            *(node(f"node-{index}") for index in range(128)),
            queue("default"),
            volcano_job(JOB),
            group(f"{JOB}-uid", "default"),
            *pods,
        ]
    )
    tracemalloc.start()
    facts = read(objects, jobs=[asked()])
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts.jobs[0].pods == {"running": 1024}
    assert facts.queues[0].holders[f"{NAMESPACE}/{JOB}"][GPU] == "1024"
    assert kept < 20 << 20
