"""The Job and the Queue as Volcano takes them."""

from __future__ import annotations

from typing import Any

from tests.support.samples import WITH_EXTRAS, environment, job, plan, reasons
from trainform.job.objects import job_manifests


def test_defaults_of_the_webhook_are_rendered() -> None:
    """An object that leaves one out could never be updated again: the webhook compares literally."""
    spec = job(plan(network={"host": True}, roles=WITH_EXTRAS))["spec"]
    assert (spec["schedulerName"], spec["queue"], spec["minAvailable"], spec["maxRetry"]) == (
        "volcano",
        "default",
        8,
        3,
    )
    for task in spec["tasks"]:
        assert (task["minAvailable"], task["maxRetry"]) == (task["replicas"], 3)
        assert task["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def queue(**request: Any) -> dict[str, Any]:
    (found,) = [manifest.body for manifest in job_manifests(plan(queue=request)) if manifest.key.startswith("queue-")]
    return found


def test_own_queues() -> None:
    body = queue(weight=2, capability={"a800": 16, "cpu": 128}, deserved={"a800": 8}, guarantee={"a800": 4})
    assert body["metadata"]["name"] == "sdxl-lora"
    assert body["metadata"]["annotations"]["pulumi.com/waitFor"] == "jsonpath={.status.state}=Open"
    assert body["spec"] == {
        "weight": 2, "reclaimable": True, "parent": "root",
        "capability": {"baidu.com/a800_80g_cgpu": "16", "cpu": "128"},
        "deserved": {"baidu.com/a800_80g_cgpu": "8"},
        "guarantee": {"resource": {"baidu.com/a800_80g_cgpu": "4"}},
    }  # fmt: skip
    assert queue(name="vision.own", reclaimable=False, priority=0)["spec"] == {
        "weight": 1,
        "reclaimable": False,
        "parent": "root",
    }
    assert queue(priority=7)["spec"]["priority"] == 7


def test_keys_that_the_controller_overwrites_are_refused() -> None:
    roles = {
        "chief-worker": {"replicas": 1, "labels": {"volcano.sh/task-index": "7"}, "env": {"VC_CHIEF_WORKER_NUM": "1"}},
        "worker": {"replicas": 1, "annotations": {"scheduling.k8s.io/group-name": "mine"}},
    }
    assert reasons(roles=roles, env={"VC_CHIEF_WORKER_HOSTS": "a,b", "VC_OTHER_NUM": "1"}) == {
        "roles.chief-worker.labels.volcano.sh/task-index": "the key is set by the operator itself",
        "roles.worker.annotations.scheduling.k8s.io/group-name": "the key is set by the operator itself",
    }


def test_names_reach_their_limit() -> None:
    """63 characters for the longest pod name, and so for everything that is derived from the job's name."""
    fits: dict[str, Any] = {"name": "x" * 40, "roles": {"r" * 10: {"replicas": 1000}}}  # 40 + 7 + 11 + 4
    assert reasons(environment(accelerators={}), **fits) == {}
    assert len(max((pod.name for pod in plan(**fits).pods()), key=len)) == 62
    too_long = f"the pod name {'x' * 40}-000000-rrrrrrrrrr-10000 has 64 characters; a hostname has at most 63"
    assert reasons(**{**fits, "roles": {"r" * 10: {"replicas": 10_001}}})["roles.rrrrrrrrrr"] == too_long
    longest = plan(name="x" * 52, roles={"r": {"replicas": 10}})
    assert len(f"{longest.job}-svc") == 63, "the svc plugin names a volume so"
