"""JobSets: groups of pods as replicated jobs, and the words of `restart` as policies of Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, job, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.backends.jobset.spec import ENDLESS
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

JOBSET: dict[str, Any] = {"backend": "jobset"}
KUEUE = environment(admission="kueue", queues={})
WATCHER: dict[str, Any] = {"ranked": False, "command": ["python", "watch.py"]}
TENSORFLOW: dict[str, Any] = {
    **JOBSET,
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}},
}


def replicated(made: Plan) -> dict[str, dict[str, Any]]:
    """The specs of the Jobs by group."""
    return {each["name"]: each["template"]["spec"] for each in job(made)["spec"]["replicatedJobs"]}


def test_a_value_of_the_user_for_the_index_wins() -> None:
    made = plan(**JOBSET, env={"JOB_COMPLETION_INDEX": "7"})
    container = replicated(made)["worker"]["template"]["spec"]["containers"][0]
    assert container["command"][:2] == ["env", "JOB_COMPLETION_INDEX=$(TRAINFORM_KEPT_JOB_COMPLETION_INDEX)"]


RESTARTS: list[tuple[dict[str, Any], str, int, dict[str, Any]]] = [
    ({}, "Never", 0, {"maxRestarts": 0, "restartStrategy": "Recreate"}),
    ({"restart": "on-failure"}, "OnFailure", 3, {"maxRestarts": 0, "restartStrategy": "Recreate"}),
    ({"restart": "5 times"}, "OnFailure", 6, {"maxRestarts": 0, "restartStrategy": "Recreate"}),
    ({"restart": "all-when-evicted"}, "Never", 0, {"maxRestarts": 2, "restartStrategy": "Recreate"}),
    ({"restart": "all-when-evicted", "max_retry": 5}, "Never", 0, {"maxRestarts": 4, "restartStrategy": "Recreate"}),
]


@pytest.mark.parametrize(("parts", "pods_policy", "backoff", "failure"), RESTARTS)
def test_restart_settings(parts: dict[str, Any], pods_policy: str, backoff: int, failure: dict[str, Any]) -> None:
    made = plan(**JOBSET, **parts)
    worker = replicated(made)["worker"]
    assert worker["template"]["spec"]["restartPolicy"] == pods_policy
    assert worker["backoffLimit"] == backoff
    assert job(made)["spec"]["failurePolicy"] == failure


def test_one_role_may_end_the_job_while_another_restarts_it() -> None:
    roles = {"master": {"restart": "never"}, "worker": {"replicas": 2, "restart": "all-when-evicted"}}
    rules = job(plan(**JOBSET, roles=roles))["spec"]["failurePolicy"]["rules"]
    assert rules == [{"name": "final", "action": "FailJobSet", "targetReplicatedJobs": ["master"]}]


@pytest.mark.parametrize(
    ("extra", "job_wide", "limit"),
    [
        ({}, {}, ENDLESS),
        ({"restart": "on-failure"}, {}, ENDLESS),
        ({"restart": "never"}, {}, 0),
        ({"restart": "3 times"}, {}, 4),
        ({}, {"restart": "3 times"}, ENDLESS),
    ],
)
@pytest.mark.parametrize("backend", ["jobset", "trainer"])
def test_an_extra_with_its_own_limit_of_restarts(
    backend: str, extra: dict[str, Any], job_wide: dict[str, Any], limit: int
) -> None:
    made = plan(backend=backend, roles={"worker": {}, "fetch": {**WATCHER, **extra}}, **job_wide)
    assert backoff_limits(made)["fetch"] == limit


@pytest.mark.parametrize(
    ("status", "restart", "limit"),
    [("Complete", {}, 0), ("Complete", {"restart": "on-failure"}, 3), ("Ready", {}, ENDLESS)],
)
@pytest.mark.parametrize("backend", ["jobset", "trainer"])
def test_an_extra_for_whose_success_others_wait(backend: str, status: str, restart: dict[str, Any], limit: int) -> None:
    """Otherwise it would fail again and again, and hold the quota of the training, which never starts."""
    after = {"dependsOn": [{"name": "fetch", "status": status}]}
    patches: dict[str, dict[str, Any]] = {
        "jobset": {"job": {"spec": {"replicatedJobs": {"worker": after}}}},
        "trainer": {"runtime": {"spec": {"template": {"spec": {"replicatedJobs": {"node": after}}}}}},
    }
    roles = {"fetch": {**WATCHER, **restart}, "worker": {}}
    made = plan(cluster=KUEUE, backend=backend, queue="research", roles=roles, manifest_overrides=patches[backend])
    assert backoff_limits(made)["fetch"] == limit


def backoff_limits(made: Plan) -> dict[str, int]:
    """The limit of each replicated job, of the JobSet or of Trainer's runtime."""
    spec = next(each.body["spec"] for each in job_manifests(made) if each.key in ("runtime", "job"))
    jobs = spec.get("template", {}).get("spec", spec)["replicatedJobs"]
    return {each["name"]: each["template"]["spec"]["backoffLimit"] for each in jobs}


def test_all_workers_end_the_job_where_each_has_a_template_of_its_own() -> None:
    made = plan(**TENSORFLOW, network={"host": True, "ports": "per-replica"})
    assert list(replicated(made)) == ["ps-0", "ps-1", "worker-0", "worker-1", "worker-2"]
    assert job(made)["spec"]["successPolicy"] == {
        "operator": "All",
        "targetReplicatedJobs": ["worker-0", "worker-1", "worker-2"],
    }
    assert job(plan(**TENSORFLOW))["spec"]["successPolicy"]["targetReplicatedJobs"] == ["worker"]


def test_a_gang_of_volcano() -> None:
    made = plan(
        **JOBSET,
        roles={"worker": {"replicas": 4, "min_available": 3}},
        queue="night",
        network={"topology": {"mode": "hard", "highest_tier": 2}},
    )
    group = next(manifest for manifest in job_manifests(made) if manifest.key == "pod-group")
    assert group.body["metadata"]["name"] == made.job
    assert group.body["spec"] == {
        "minMember": 3, "queue": "night", "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
    }  # fmt: skip
    template = replicated(made)["worker"]["template"]
    assert template["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": made.job}
    assert template["spec"]["schedulerName"] == "volcano"


def test_pods_outside_of_the_gang_take_the_place_of_none_in_it() -> None:
    """Volcano counts the pods of a PodGroup alike: without numbers of its parts, four workers of five pods would do."""
    extra = {"replicas": 1, "ranked": False, "command": ["python", "watch.py"]}
    workers = {"master": {"replicas": 1}, "worker": {"replicas": 3}}
    outside = plan(**JOBSET, roles={**workers, "watcher": {**extra, "min_available": 0}})
    assert _gang(outside) == {"minMember": 4, "minTaskMember": {"master": 1, "worker": 3}, "queue": "default"}
    for name, spec in replicated(outside).items():
        assert spec["template"]["metadata"]["annotations"]["volcano.sh/task-spec"] == name
    inside = plan(**JOBSET, roles={**workers, "watcher": extra})
    assert _gang(inside) == {"minMember": 5, "queue": "default"}
    assert "volcano.sh/task-spec" not in replicated(inside)["worker"]["template"]["metadata"]["annotations"]


def test_the_part_of_a_gang_is_no_annotation_of_the_user() -> None:
    roles = {"worker": {"replicas": 2, "annotations": {"volcano.sh/task-spec": "mine"}}}
    reason = "the key is set by trainform itself"
    assert reasons(**JOBSET, roles=roles) == {"roles.worker.annotations.volcano.sh/task-spec": reason}


def _gang(made: Plan) -> dict[str, Any]:
    group = next(manifest for manifest in job_manifests(made) if manifest.key == "pod-group")
    return dict(group.body["spec"])


def test_a_queue_of_kueue() -> None:
    made = plan(cluster=KUEUE, **JOBSET, queue="research")
    assert job(made)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert [manifest.key for manifest in job_manifests(made)] == ["service", "launch-script", "job", "deployed"]
    assert "schedulerName" not in replicated(made)["worker"]["template"]["spec"]


def test_fields_that_kueue_does_not_support() -> None:
    assert reasons(KUEUE, **JOBSET) == {}
    assert reasons(KUEUE) == {
        "backend": ("the environment has `admission: kueue`, and Kueue has no integration for the jobs of this backend")
    }
    found = reasons(
        KUEUE,
        **JOBSET,
        queue={"weight": 2},
        network={"topology": {"mode": "hard", "highest_tier": 2}},
        roles={"worker": {"replicas": 4, "min_available": 3}},
    )
    assert found == {
        "queue": "the experiment declares a queue of Volcano, and in this environment Kueue admits jobs",
        "network.topology": "the field is for Volcano, and in this environment Kueue admits jobs",
        "roles.worker.min_available": (
            "the value lets a part of the pods start, and Kueue admits all pods of a job or none"
        ),
    }


@pytest.mark.parametrize("backend", ["jobset", "trainer"])
def test_kueue_leaves_no_role_out_of_its_gang(backend: str) -> None:
    extra = {"ranked": False, "command": ["python", "watch.py"]}
    reason = "the value lets a part of the pods start, and Kueue admits all pods of a job or none"
    for least, found in ((0, {"roles.watcher.min_available": reason}), (2, {})):
        roles = {"worker": {"replicas": 2}, "watcher": {**extra, "replicas": 2, "min_available": least}}
        assert reasons(KUEUE, backend=backend, roles=roles) == found


def test_kueue_starts_no_part_of_an_elastic_job() -> None:
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    found = reasons(KUEUE, **JOBSET, launcher=elastic, roles={"worker": {"replicas": 4}})
    assert [*found] == ["launcher.torchrun.elastic.min_nodes"]


def test_names_leave_room_for_the_random_end_of_pod_names() -> None:
    """57 characters are left of 63."""
    fits = "a" * (57 - len("-123456-worker-0-0"))
    assert reasons(**JOBSET, name=fits, roles={"worker": {"replicas": 1}}) == {}
    (reason,) = reasons(**JOBSET, name=f"{fits}a", roles={"worker": {"replicas": 1}}).values()
    assert "58 characters, and JobSet allows 57" in reason


def test_limits_see_how_many_pods_the_gang_needs() -> None:
    """Else the job would be too large for nodes on which its gang starts."""
    roles = {
        "worker": {"replicas": 3},
        "watcher": {"ranked": False, "command": ["sh"], "replicas": 2, "min_available": 0},
    }
    made = plan(**JOBSET, roles=roles)
    found = BACKENDS["jobset"].templates(made, job_manifests(made))
    assert [(template.replicas, template.min_available) for template in found] == [(3, 3), (2, 0)]
