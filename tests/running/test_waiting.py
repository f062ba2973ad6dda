"""Why a job waits: the table of reasons over the objects of a job and the facts of its cluster."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs_of_previews import BERT, GPU, NAMESPACE, NODES, live_node, live_queue, workers
from tests.running.waiting_jobs import (
    EMPTY,
    NOW,
    OF_KUEUE,
    RESERVED,
    UNUSED,
    codes,
    condition,
    event,
    facts,
    gang,
    identified,
    kueue,
    made,
    no_facts,
    placed,
    pods_of,
    snapshot,
    unplaced,
    workload,
)
from tests.support.repository import ROOT
from trainform.cluster.facts import Holder, LiveQuota
from trainform.running.facts import UNREAD
from trainform.running.waiting import CODES, reasons

JOB = made()
FULL = [live_node(f"node-{index}", {BERT: 8}) for index in range(4)]
NIGHT = (live_queue("night"),)


def only(given: Any, known: Any = UNREAD) -> Any:
    """The one reason; fails where there are more."""
    found = reasons(given, known)
    assert [reason.code for reason in found] == [found[0].code]
    return found[0]


# --- queues, quotas and nodes


def test_nodes_that_other_jobs_hold_are_named_with_amounts_and_holders() -> None:
    known = facts(*FULL, queues=(*NIGHT, live_queue("day", bert_77aa01=32)), priorities={BERT: 100})
    reason = only(snapshot(JOB, pods=[unplaced(pod, "0/4 nodes are available") for pod in pods_of(JOB)]), known)
    assert (reason.code, reason.object, reason.never) == ("nodes-full", "", False)
    assert (reason.resource, reason.needed, reason.free, reason.largest) == ("a800", "32", "0", "0")
    assert reason.text == (
        "a pod of worker needs 8 a800, and no node has more than 0 now (0 of 4 pods fit, the largest free node has 0)"
    )
    assert reason.holders == (Holder(BERT, "32", "day", 100),)


def test_room_that_belongs_to_the_queue_and_that_another_queue_uses() -> None:
    """Night and day have 16 of 32 a800 each."""
    job, day = made(**workers(2)), live_queue("day", bert_77aa01=32)
    reason = only(snapshot(job), facts(*FULL, queues=(*NIGHT, day)))
    assert (reason.code, reason.holders) == ("queue-borrowed", (Holder(BERT, "32", "day"),))
    kept = structs.replace(day, reclaimable=False)
    assert codes(snapshot(job), facts(*FULL, queues=(*NIGHT, kept))) == ["nodes-full"]


def test_a_gang_of_which_some_pods_have_no_place() -> None:
    busy = (*NODES[:3], live_node("node-3", {BERT: 5}))
    reason = only(snapshot(JOB), facts(*busy, queues=NIGHT))
    assert (reason.code, reason.needed, reason.free, reason.largest) == ("gang-short", "32", "27", "8")
    assert reason.text == (
        "the nodes have room for 27 a800 now, and the job needs 32 a800 (3 of 4 pods fit, the largest free node has 8)"
    )
    assert reason.holders == (Holder(BERT, "5"),)


@pytest.mark.parametrize(
    ("parts", "object_", "text"),
    [
        ({"nodes": NODES[:3]}, "", "the nodes have room for 24 a800, and the job needs 32 a800"),
        ({"queues": (live_queue("night", {GPU: "16"}),)}, "Queue/night",
         "the queue night may hold 16 a800, and the job needs 32 a800"),
        ({"quotas": {NAMESPACE: (LiveQuota(NAMESPACE, "team", {f"requests.{GPU}": "16"}, holders={}),)}},
         "ResourceQuota/team",
         "the ResourceQuota team of the namespace ai-namespace may hold 16 a800, and the job needs 32 a800"),
    ],
)  # fmt: skip
def test_pods_that_never_fit(parts: dict[str, Any], object_: str, text: str) -> None:
    nodes = parts.pop("nodes", NODES)
    reason = only(snapshot(JOB), facts(*nodes, **{"queues": NIGHT, **parts}))
    assert (reason.code, reason.never, reason.object, reason.text) == ("never-fits", True, object_, text)


def test_what_never_fits_comes_first() -> None:
    small = (live_queue("night", {GPU: "32"}, bert_77aa01=8),)
    assert codes(snapshot(JOB), facts(*NODES[:3], queues=small)) == ["never-fits", "queue-full"]


def test_after_a_drain_a_job_waits_for_the_nodes_that_are_cordoned() -> None:
    pods = pods_of(JOB)
    drained = snapshot(JOB, pods=[*(placed(pod, f"node-{index}") for index, pod in enumerate(pods[:3])), pods[3]])
    own = {f"{NAMESPACE}/{JOB.plan.job}": 8}
    nodes = [live_node(f"node-{index}", own) for index in range(3)]
    reason = only(drained, facts(*nodes, structs.replace(NODES[3], open=False), queues=NIGHT))
    assert (reason.code, reason.never) == ("gang-short", False)
    assert reason.text == (
        "the nodes have room for 24 a800, and the job needs 32 a800 (cordoned nodes not counted: 1)"
        " (3 of 4 pods fit, the largest free node has 8)"
    )


def test_a_queue_with_too_little_left() -> None:
    reason = only(snapshot(JOB), facts(*NODES, queues=(live_queue("night", {GPU: "32"}, bert_77aa01=8),)))
    assert (reason.code, reason.object, reason.needed, reason.free) == ("queue-full", "Queue/night", "32", "24")
    assert reason.holders == (Holder(BERT, "8", "night"),)
    assert "set `queue`" in reason.fix


def test_a_quota_with_too_little_left() -> None:
    quota = LiveQuota(NAMESPACE, "team", {f"requests.{GPU}": "32"}, holders={f"{NAMESPACE}/bert": {GPU: "8"}})
    reason = only(snapshot(JOB), facts(*NODES, queues=NIGHT, quotas={NAMESPACE: (quota,)}))
    assert (reason.code, reason.object, reason.free) == ("quota", "ResourceQuota/team", "24")


def test_nodes_that_do_not_admit_the_pods() -> None:
    taint = {"key": "pool", "value": "x", "effect": "NoSchedule"}
    reason = only(snapshot(JOB), facts(live_node("node-0", taints=(taint,)), queues=NIGHT))
    assert (reason.code, reason.never) == ("no-node", True)
    assert reason.text == "the pods of worker do not tolerate the taint pool=x:NoSchedule"


def test_a_queue_that_does_not_exist() -> None:
    missing = snapshot(JOB, queue=None)
    reason = only(missing)
    assert (reason.code, reason.object, reason.text) == (
        "queue-missing", "Queue/night", "the Queue night does not exist",
    )  # fmt: skip
    assert "set `queue`" in reason.fix
    assert codes(structs.replace(missing, not_read={"queue": "this account has no permission"})) == []


def test_a_queue_that_is_closed() -> None:
    closed = {"metadata": {"name": "night"}, "status": {"state": "Closed"}}
    reason = only(snapshot(JOB, queue=closed), facts(*NODES, queues=NIGHT))
    assert (reason.code, reason.text) == ("queue-closed", "the queue night is Closed, and starts no jobs")


def test_the_job_counts_as_not_there_yet_and_pods_that_have_a_node_lack_nothing() -> None:
    own = f"{NAMESPACE}/{JOB.plan.job}"
    nodes = [live_node(f"node-{index}", {own: 8}) for index in range(4)]
    pods = pods_of(JOB)
    some = [placed(pods[0], "node-0"), *pods[1:]]
    assert codes(snapshot(JOB, pods=some), facts(*nodes, queues=NIGHT)) == []
    assert codes(snapshot(JOB, pods=[placed(pod) for pod in pods]), facts(*FULL, queues=NIGHT)) == []


# --- the objects' own reasons, where nodes and queues may not be read

OVERUSED = "resource in cluster is overused: overused baidu.com/a800_80g_cgpu"


def test_without_nodes_and_queues_the_scheduler_is_quoted() -> None:
    known = no_facts(nodes="this account has no permission to list nodes")
    message = "0/4 nodes are unavailable: 4 Insufficient baidu.com/a800_80g_cgpu."
    pods = [unplaced(pod, message) for pod in pods_of(JOB)]
    reason = only(snapshot(JOB, pods=pods), known)
    assert (reason.code, reason.text) == (
        "scheduler", f"the scheduler does not place 4 of 4 pods: {message.removesuffix('.')}",
    )  # fmt: skip
    group = gang(JOB)
    said = [
        event(group, "Unschedulable", text)
        for text in (OVERUSED, "0/0 tasks in gang unschedulable: pod group is not ready")
    ]
    overused = only(snapshot(JOB, gang=None, events=said), known)
    assert overused.text == f"the scheduler does not start the gang: {OVERUSED}"
    later = event(group, "Scheduled", "pod group is ready", NOW)
    assert codes(snapshot(JOB, events=[*said, later]), known) == []


def test_a_controller_that_does_not_run() -> None:
    job = identified(snapshot(JOB).job, "job")  # type: ignore[arg-type]
    silent = snapshot(JOB, job={**job, "status": {"state": {"lastTransitionTime": None}}}, gang=None)
    reason = only(silent, facts(*NODES, queues=NIGHT))
    assert (reason.code, reason.object) == ("silent", "Deployment/volcano-controllers")
    assert reason.text == "the controller volcano-system/volcano-controllers has done nothing with the job"
    assert codes(structs.replace(silent, read_at="2026-11-27T14:00:20Z")) == []


def test_without_the_job_object_its_pods_and_its_record_count() -> None:
    """The role `view` does not cover jobs of every operator."""
    hidden = {"job": "this account has no permission to read the job", "gang": "this account has no permission"}
    pods = [unplaced(pod, "0/4 nodes are unavailable") for pod in pods_of(JOB)]
    unread = snapshot(JOB, job=None, gang=None, pods=pods, not_read=hidden)
    assert codes(unread, no_facts(nodes="forbidden")) == ["scheduler"]
    assert codes(unread, facts(*FULL, queues=NIGHT)) == ["nodes-full"]


# --- what the pods need

SECRET: dict[str, Any] = {"env": {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}}}


@pytest.mark.parametrize("message", ['secret "hf" not found', "couldn't find key token in Secret ai-namespace/hf"])
def test_the_kubelet_tells_which_secret_is_missing(message: str) -> None:
    job = made(**SECRET)
    pods = [placed(pod, reason="CreateContainerConfigError", message=message) for pod in pods_of(job)]
    reason = only(snapshot(job, pods=pods))
    name = pods[0]["metadata"]["name"]
    assert (reason.code, reason.object) == ("object-missing", f"Pod/{name}")
    assert reason.text == f"the pod {name} (and 3 more) does not start: {message}"


@pytest.mark.parametrize(
    ("message", "code"),
    [('secret "wandb" not found', "object-missing"), ("mount failed: exit status 32", "container-refused")],
)
def test_a_mount_that_failed_counts_until_a_later_step(message: str, code: str) -> None:
    volumes = {"keys": {"secret": {"secretName": "wandb"}}}
    job = made(roles={"worker": {"replicas": 1, "pod_overrides": {"spec": {"volumes": volumes}}}})
    (pod,) = pods_of(job)
    pod = placed(pod, reason="ContainerCreating")
    failed = event(pod, "FailedMount", f'MountVolume.SetUp failed for volume "keys" : {message}')
    given, known = snapshot(job, pods=[pod], events=[failed]), facts(*NODES, queues=NIGHT)
    assert only(given, known).text.endswith(message)
    assert only(given, known).code == code
    runs = {**pod, "status": {**pod["status"], "containerStatuses": [{"state": {"running": {}}}]}}
    assert codes(structs.replace(given, pods=[runs]), known) == []
    pulls = placed(pod, reason="ErrImagePull", message="not found")
    assert codes(structs.replace(given, pods=[pulls]), known) == ["image"], "mounts come first"


def test_an_image_that_cannot_be_pulled() -> None:
    message = 'Back-off pulling image "registry.example.com/ai/pytorch-training:2.8": ErrImagePull: not found'
    pods = [placed(pod, reason="ImagePullBackOff", message=message) for pod in pods_of(JOB)]
    reason = only(snapshot(JOB, pods=pods))
    assert (reason.code, reason.text) == (
        "image", f"the pod {pods[0]['metadata']['name']} (and 3 more) does not start: {message}",
    )  # fmt: skip


def test_a_container_that_the_node_refuses() -> None:
    message = "container has runAsNonRoot and image will run as root"
    pods = [placed(pod, reason="CreateContainerConfigError", message=message) for pod in pods_of(JOB)]
    assert only(snapshot(JOB, pods=pods)).code == "container-refused"


def test_claims_without_a_volume() -> None:
    job = made(storage={"runs": {"size": "2Ti", "class": "fast", "mount": "/runs"}})
    name = "sdxl-lora-runs"

    def claim(phase: str, **annotations: str) -> dict[str, Any]:
        spec = {"resources": {"requests": {"storage": "2Ti"}}, "storageClassName": "cephfs-ssd"}
        return {"metadata": {"name": name, "annotations": annotations}, "spec": spec, "status": {"phase": phase}}

    known, pods = facts(*NODES, queues=NIGHT), pods_of(job)
    said = [unplaced(pod, "pod has unbound immediate PersistentVolumeClaims.") for pod in pods]
    assert codes(snapshot(job, claims=[claim("Bound")]), known) == []
    assert codes(snapshot(job, claims=[claim("Pending")]), known) == [], "its class may wait for the first pod"
    unbound = only(snapshot(job, claims=[claim("Pending")], pods=said), known)
    assert (unbound.code, unbound.object) == ("claim-unbound", f"PersistentVolumeClaim/{name}")
    assert unbound.text == "the claim sdxl-lora-runs is Pending, without a volume"
    chosen = {"volume.kubernetes.io/selected-node": "node-1"}
    assert codes(snapshot(job, claims=[claim("Pending", **chosen)]), known) == ["claim-unbound"]
    assert only(snapshot(job, claims=[claim("Lost")]), known).text.endswith("is Lost, without a volume")


# --- what others refuse

DENIED = 'Error creating: admission webhook "validate.policy.example.com" denied the request: label team is missing'
QUOTA = (
    'Error creating: pods "sdxl-lora-worker-3" is forbidden: exceeded quota: team, '
    "requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=24, limited: requests.nvidia.com/gpu=24"
)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (DENIED, "denied"),
        (QUOTA, "quota"),
        ('pods "a" is forbidden: violates PodSecurity "restricted:latest"', "denied"),
    ],
)
def test_pods_that_cannot_be_created(message: str, code: str) -> None:
    given = snapshot(JOB)
    given = structs.replace(given, events=[event(given.job, "FailedCreate", message)])  # type: ignore[arg-type]
    reason = only(given, facts(*NODES, queues=NIGHT))
    assert reason.code == code
    assert reason.text == f"the API server refuses the pods: {message}"


def test_volcano_writes_the_answer_of_the_api_server_as_a_structure() -> None:
    answer = 'pods \\"a\\" is forbidden: no team'
    status = f'&errors.StatusError{{ErrStatus:v1.Status{{Status:"Failure", Message:"{answer}", Reason:"Forbidden"}}}}'
    given = snapshot(JOB)
    failed = event(given.job, "FailedCreate", f"Error creating pods: [failed to create pod a, err: {status}]")  # type: ignore[arg-type]
    reason = only(structs.replace(given, events=[failed]), facts(*NODES, queues=NIGHT))
    assert reason.text == 'the API server refuses the pods: pods "a" is forbidden: no team'


def test_a_refusal_is_over_when_pods_were_created_after_it() -> None:
    given = snapshot(JOB, pods=pods_of(JOB)[:2])
    old, new = (event(given.job, "FailedCreate", DENIED, at) for at in ("2026-11-27T14:00:01Z", NOW))  # type: ignore[arg-type]
    known = facts(*NODES, queues=NIGHT)
    assert codes(structs.replace(given, events=[old]), known) == []
    assert codes(structs.replace(given, events=[old, new]), known) == ["denied"]


def test_the_quota_of_the_arithmetic_is_named_once() -> None:
    given = snapshot(JOB)
    given = structs.replace(given, events=[event(given.job, "FailedCreate", QUOTA)])  # type: ignore[arg-type]
    held = LiveQuota(NAMESPACE, "team", {f"requests.{GPU}": "40"}, holders={f"{NAMESPACE}/bert": {GPU: "16"}})
    reason = only(given, facts(*NODES, queues=NIGHT, quotas={NAMESPACE: (held,)}))
    assert (reason.object, reason.free) == ("ResourceQuota/team", "24")


# --- Kueue


def test_kueue_is_quoted_with_the_position() -> None:
    given = snapshot(OF_KUEUE, gang=workload(OF_KUEUE, RESERVED), queue=EMPTY)
    unknown = f"Kueue has not admitted the job (position in the queue: unknown): {UNUSED}"
    assert only(given).text == unknown
    assert only(given, facts(*NODES, kueue=kueue(), position=2)).text == unknown.replace("unknown", "3", 1)
    full = reasons(given, facts(*NODES, kueue=kueue(bert={GPU: "8"})))
    assert [reason.code for reason in full] == ["queue-full", "kueue"]
    assert (full[0].object, full[0].holders) == ("ClusterQueue/research", (Holder("team-b/bert", "8", "research"),))
    admitted = (condition("QuotaReserved", "True", "QuotaReserved", ""), condition("Admitted", "True", "Admitted", ""))
    assert codes(structs.replace(given, gang=workload(OF_KUEUE, *admitted)), facts(*NODES, kueue=kueue())) == []


def test_an_admission_check_that_is_not_ready() -> None:
    gang = workload(OF_KUEUE, condition("QuotaReserved", "True", "QuotaReserved", ""))
    gang["status"]["admissionChecks"] = [{"name": "provision", "state": "Pending", "message": "no capacity in zone b"}]
    reason = only(snapshot(OF_KUEUE, gang=gang, queue=EMPTY))
    assert (reason.code, reason.text) == ("kueue", "the admission check provision is Pending: no capacity in zone b")


def test_a_local_queue_that_is_not_active_or_missing() -> None:
    inactive = condition("Active", "False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    queue = {"metadata": {"name": "night"}, "status": {"conditions": [inactive]}}
    assert codes(snapshot(OF_KUEUE, gang=workload(OF_KUEUE, RESERVED), queue=queue)) == ["queue-closed", "kueue"]
    assert codes(snapshot(OF_KUEUE, gang=workload(OF_KUEUE, RESERVED), queue=None)) == ["queue-missing", "kueue"]


def test_a_job_without_a_workload() -> None:
    reason = only(snapshot(OF_KUEUE, gang=None, queue=EMPTY), facts(*NODES, kueue=kueue()))
    assert (reason.code, reason.object) == ("silent", "Deployment/kueue-controller-manager")
    assert "has created no Workload for the job" in reason.text
    assert codes(snapshot(OF_KUEUE, gang=None, queue=EMPTY, read_at="2026-11-27T14:00:20Z")) == []
    assert codes(snapshot(OF_KUEUE, gang=None, queue=EMPTY, not_read={"gang": "forbidden"})) == []


# --- the table


def test_a_job_that_is_gone_waits_for_nothing() -> None:
    assert reasons(snapshot(JOB, job=None), facts(*FULL)) == ()


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "how-to" / "why-a-job-waits.md").read_text()
    rows = [f"| `{code}` | {meaning} |" for code, (meaning, _) in CODES.items()]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_every_reason_has_a_fix() -> None:
    found = reasons(snapshot(JOB), facts(*NODES[:2], queues=(live_queue("night", {GPU: "8"}),)))
    assert found
    assert all(reason.code in CODES and reason.fix for reason in found)
