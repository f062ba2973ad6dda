"""Objects of a job besides its pods: claims, jobs, priorities, queues, the end of jobs, Services."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, fitting
from trainform.backends.backend import BACKENDS
from trainform.spec.environment import Environment

ASKED = limited(severity={"TF-DATA-1": "error"})
REASON = "ranked pods write to the claim, and `pulumi destroy` deletes it with its data"
WATCHED = {"worker": {"replicas": 2}, "watcher": {"replicas": 1, "ranked": False, "command": ["watch"]}}


def output(**fields: Any) -> dict[str, Any]:
    return {"storage": {"output": {"size": "1Gi", "mount": "/mnt/output", **fields}}, "roles": WATCHED}


def test_a_claim_that_is_not_kept() -> None:
    assert found("TF-DATA-1", ASKED, **output()) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", ASKED, **output(keep=False)) == {"storage.output.keep": REASON}
    assert found("TF-DATA-1", limited(), **output()) == {}, "off by default"


@pytest.mark.parametrize("fields", [{"keep": True}, {"read_only": True}, {"roles": ["watcher"]}, {"roles": []}])
def test_a_claim_that_is_kept_or_not_written(fields: dict[str, Any]) -> None:
    assert found("TF-DATA-1", ASKED, **output(**fields)) == {}


def test_a_claim_of_another_program() -> None:
    storage = {"output": {"claim": "shared", "mount": "/mnt/output"}}
    assert found("TF-DATA-1", ASKED, storage=storage, roles=WATCHED) == {}


def test_volumes_of_others() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    volume = {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}
    mounted = [{"volumeMounts": [{"name": "x"}]}]
    assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": [volume]})) == {"keep": REASON}
    closed = {**volume, "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    assert raw("TF-DATA-1", ASKED, claim, pod({"containers": mounted, "volumes": [closed]})) == {}


CLAIM = {"size": "1Ti", "class": "fast", "mount": "/runs"}


def claim(spec: dict[str, Any]) -> dict[str, str]:
    overrides = {"claim-runs": {"spec": spec}}
    return found("TF-DATA-2", limited(), storage={"runs": CLAIM}, manifest_overrides=overrides)


def test_an_unknown_class_is_reported_once() -> None:
    told = job_problems(experiment(storage={"runs": {**CLAIM, "class": "fats"}}), limited())
    assert [problem.path for problem in told] == ["storage.runs.class"]


def test_new_claims_are_of_the_classes_of_the_environment() -> None:
    told = "the environment dev does not offer this storage class (it offers: cephfs-ssd)"
    path = "manifest_overrides.claim-runs.spec.storageClassName"
    assert found("TF-DATA-2", limited(), storage={"runs": CLAIM}) == {}
    assert claim({"storageClassName": "gold"}) == {path: told}
    assert claim({"storageClassName": ""}) == {path: told}, "a claim without a class is bound to any volume without one"
    assert claim({"storageClassName": None}) == claim({"storageClassName": "cephfs-ssd"}) == {}
    assert claim({"resources": {"requests": {"storage": "2Ti"}}, "volumeMode": "Filesystem"}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("volumeName", "pv-of-others"),
        ("dataSource", {"kind": "PersistentVolumeClaim", "name": "of-others"}),
        ("dataSourceRef", {"kind": "PersistentVolumeClaim", "name": "of-others", "namespace": "others"}),
        ("selector", {"matchLabels": {"team": "others"}}),
        ("volumeAttributesClassName", "gold"),
    ],
)
def test_new_claims_are_bound_to_nothing(field: str, value: Any) -> None:
    assert claim({field: value}).keys() == {f"manifest_overrides.claim-runs.spec.{field}"}
    assert claim({field: None}) == {}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {field: value}}
    assert raw("TF-DATA-2", limited(), body).keys() == {f"spec.{field}"}


def test_claims_that_others_make() -> None:
    size = {"requests": {"storage": "1Ti"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "gold", "resources": size}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    place = "spec.volumes.scratch.ephemeral.volumeClaimTemplate.spec.storageClassName"
    assert raw("TF-DATA-2", limited(), {}, pod({"volumes": [volume]})).keys() == {place}
    stateful = {"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}]}}
    assert raw("TF-DATA-2", limited(), stateful) != {}
    volcano = {"kind": "Job", "spec": {"volumes": [{"mountPath": "/data", "volumeClaim": spec}]}}
    assert raw("TF-DATA-2", limited(), volcano) != {}
    volcano = {"kind": "Job", "spec": {"volumes": [{"mountPath": "/data", "volumeClaimName": "data"}]}}
    assert raw("TF-DATA-2", limited(), volcano) == {}


REGISTRY = limited(registries=["registry.example.com"])


def kubedl(spec: dict[str, Any] | None = None, **annotations: str) -> dict[str, Any]:
    names = {f"kubedl.io/{key.replace('_', '-')}-config": value for key, value in annotations.items()}
    return {"kind": "PyTorchJob", "metadata": {"annotations": names}, "spec": {} if spec is None else spec}


@pytest.mark.parametrize(
    "spec",
    [
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}},
        {"template": {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}},
    ],
)
def test_a_job_is_for_the_operator(spec: dict[str, Any]) -> None:
    body = {"kind": "JobSet", "spec": spec}
    (place,) = raw("TF-JOB-1", limited(), body)
    assert place.endswith("managedBy")
    assert raw("TF-JOB-1", limited(job_managers=["kueue.x-k8s.io/multikueue"]), body) == {}
    assert (
        raw("TF-JOB-1", limited(), {"kind": "JobSet", "spec": {"managedBy": "jobset.sigs.k8s.io/jobset-controller"}})
        == {}
    )


def test_caches_of_kubedl() -> None:
    body = kubedl({"cacheBackend": {"name": "data", "mountPath": "/data"}})
    assert raw("TF-JOB-1", limited(), body).keys() == {"spec.cacheBackend"}
    assert raw("TF-JOB-1", limited(cache_backends=True), body) == {}


def test_containers_and_models_of_kubedl() -> None:
    """Their images, variables and volumes are judged by no other rule."""
    model = kubedl({"modelVersion": {"imageRepo": "docker.io/a/b", "storage": {"localStorage": {"path": "/models"}}}})
    assert raw("TF-JOB-1", limited(cache_backends=True), model).keys() == {"spec.modelVersion"}
    assert raw("TF-JOB-1", limited(), kubedl(git_sync="{}", tensorboard="{}")).keys() == {
        "metadata.annotations.kubedl.io/git-sync-config",
        "metadata.annotations.kubedl.io/tensorboard-config",
    }


def test_a_gang_without_a_queue_waits_in_the_default_one() -> None:
    member = pod({}, {"annotations": {"scheduling.k8s.io/group-name": "gang"}})
    night = limited(queues=["night"])
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {"queue": "night"}}, member) == {}
    assert raw("TF-QUE-1", night, {"kind": "PodGroup", "spec": {}}, member).keys() == {"spec.queue"}


LISTED = limited(priority_classes=["low"])
CLASS_REFUSED = "the environment dev does not allow this priority class (allowed: low)"


@pytest.mark.parametrize("backend", BACKENDS)
def test_priority_classes_by_field(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-PRI-1", LISTED, priority_class="low", **parts) == {}
    assert found("TF-PRI-1", LISTED, priority_class="high", **parts) == {"priority_class": CLASS_REFUSED}
    assert found("TF-PRI-1", LISTED, **parts) == {}, "pods without a class have the lowest priority"


def test_what_no_list_leaves_open() -> None:
    own = environment(priority_classes={"low": {"value": 1}})
    assert found("TF-PRI-1", own, priority_class="low") == found("TF-PRI-1", limited(), priority_class="high") == {}
    assert found("TF-PRI-1", own, priority_class="high") == {"priority_class": CLASS_REFUSED}
    assert found("TF-PRI-1", limited(), priority_class="system-node-critical") == {
        "priority_class": "the environment dev does not allow this priority class (allowed: any but system-…)"
    }
    assert found("TF-PRI-1", limited(priority_classes=[]), priority_class="low") != {}


def test_priority_classes_in_patches() -> None:
    for judge in (by_role, by_job):
        assert set(judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "high"}}).values()) == {CLASS_REFUSED}
        assert judge("TF-PRI-1", LISTED, {"spec": {"priorityClassName": "low"}}) == {}
    job = {"job": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, manifest_overrides=job) == {
        "manifest_overrides.job.spec.priorityClassName": CLASS_REFUSED
    }
    group = {"pod-group": {"spec": {"priorityClassName": "high"}}}
    assert found("TF-PRI-1", LISTED, backend="jobset", manifest_overrides=group) == {
        "manifest_overrides.pod-group.spec.priorityClassName": CLASS_REFUSED
    }


def test_a_priority_as_a_number() -> None:
    reason = "the pods set a priority as a number, which only a priority class may give"
    for judge in (by_role, by_job):
        assert set(judge("TF-PRI-1", limited(), {"spec": {"priority": 0}}).values()) == {reason}
        assert judge("TF-PRI-1", limited(), {"spec": {"priority": None}}) == {}
    assert raw("TF-PRI-1", limited(), {}, pod({"priority": 2_000_000_000})) == {"spec.priority": reason}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("batch.volcano.sh/v1alpha1", "Job", {"priorityClassName": "high"}),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", {"priorityClassName": "high"}),
        ("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"schedulingPolicy": {"priorityClass": "high"}}}),
        ("training.kubedl.io/v1alpha1", "PyTorchJob", {"schedulingPolicy": {"priorityClassName": "high"}}),
    ],
)
def test_priority_classes_in_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind, "spec": spec}
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {CLASS_REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}


def test_the_label_of_a_workload() -> None:
    body = {"kind": "JobSet", "metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}
    assert set(raw("TF-PRI-1", LISTED, body).values()) == {CLASS_REFUSED}
    assert raw("TF-PRI-1", limited(priority_classes=["high"]), body) == {}


NIGHT = limited(queues=["night"])
QUEUE_REFUSED = "the environment dev does not allow this queue (allowed: night)"
ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_queues_that_experiments_may_name(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-QUE-1", NIGHT, queue="night", **parts) == {}
    assert found("TF-QUE-1", NIGHT, queue="default", **parts) == {"queue": QUEUE_REFUSED}
    assert found("TF-QUE-1", limited(), queue="default", **parts) == {}


@pytest.mark.parametrize("backend", [name for name, each in BACKENDS.items() if "kueue" in each.ADMISSIONS])
def test_local_queues(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    team = environment(admission="kueue", queues={}, limits={"queues": ["team"]})
    assert found("TF-QUE-1", team, queue="team", **parts) == {}
    assert found("TF-QUE-1", team, queue="other", **parts).keys() == {"queue"}


def test_queues_in_patches_of_pods() -> None:
    patch = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "default"}}}
    assert by_role("TF-QUE-1", limited(queues=["default"]), patch) == {}
    found_in_pods = found("TF-QUE-1", NIGHT, queue="night", roles={"worker": {"pod_overrides": patch}})
    place = "roles.worker.pod_overrides.metadata.annotations.scheduling.volcano.sh/queue-name"
    assert found_in_pods == {place: QUEUE_REFUSED}


def test_the_own_queue_of_an_experiment_may_be_named() -> None:
    assert found("TF-QUE-1", NIGHT, queue={"weight": 1}) == {}
    assert found("TF-QUE-1", limited(queues=["night"], own_queues=False), queue={"weight": 1}).keys() == {"queue"}


JOBS: list[tuple[str, str, dict[str, Any]]] = [
    ("batch.volcano.sh/v1alpha1", "Job", {"queue": "{}"}),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", {"queue": "{}"}),
    ("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"schedulingPolicy": {"queue": "{}"}}}),
    ("kubeflow.org/v1", "MPIJob", {"runPolicy": {"schedulingPolicy": {"queue": "{}"}}}),
    ("training.kubedl.io/v1alpha1", "TFJob", {"schedulingPolicy": {"queue": "{}"}}),
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
        {"template": {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": "{}"}}}}),
]  # fmt: skip


def named(spec: Any, queue: str) -> Any:
    """The spec with the queue in its place."""
    return {key: named(value, queue) for key, value in spec.items()} if isinstance(spec, dict) else queue


@pytest.mark.parametrize(("version", "kind", "spec"), JOBS)
def test_queues_in_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    def judge(where: Environment, spec: Any) -> set[str]:
        body = {"apiVersion": version, "kind": kind, "spec": spec}
        return set(raw("TF-QUE-1", where, body, *([] if kind == "PodGroup" else [pod({})])).values())

    assert judge(NIGHT, named(spec, "night")) == judge(limited(), named(spec, "day")) == set()
    assert judge(NIGHT, named(spec, "day")) == {QUEUE_REFUSED}
    empties: list[Any] = [{}, named(spec, "")]
    for empty in empties:
        assert judge(NIGHT, empty) == {QUEUE_REFUSED}, "it is in the queue default"
    assert judge(limited(own_queues=False), named(spec, "default")) == set()
    assert judge(limited(own_queues=False), named(spec, "day")) != set()


def test_queues_of_other_pods() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job"}
    for key, refused in (
        ({"annotations": {"scheduling.volcano.sh/queue-name": "night"}}, False),
        ({"annotations": {"scheduling.volcano.sh/queue-name": "day"}}, True),
        ({"annotations": {"scheduling.k8s.io/group-name": "gang"}}, False),
        ({}, True),
        (None, True),
    ):
        assert (raw("TF-QUE-1", NIGHT, job, pod({}, key)) != {}) is refused


def own(
    where: Environment, patch: dict[str, Any] | None = None, code: str = "TF-QUE-2", **queue: Any
) -> dict[str, str]:
    overrides = {} if patch is None else {"manifest_overrides": {"queue": {"spec": patch}}}
    return found(code, where, queue={"weight": 1, **queue}, **overrides)


def test_own_queues() -> None:
    assert own(limited()) == {}
    assert own(limited(own_queues=False)) == {
        "queue": "the environment dev does not let experiments bring queues of their own"
    }


def test_the_weight_of_an_own_queue() -> None:
    at_most = limited(max_queue_weight=4)
    assert own(at_most, weight=4) == own(limited(), weight=9) == own(at_most, {"weight": 4}) == {}
    reason = "the weight is more than the environment dev allows (4)"
    assert own(at_most, weight=5) == {"queue.weight": reason}
    assert own(at_most, {"weight": 5}) == {"manifest_overrides.queue.spec.weight": reason}


QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}


def test_queues_of_others() -> None:
    body = {**QUEUE, "metadata": {"name": "mine"}, "spec": {"weight": 5}}
    assert raw("TF-QUE-2", limited(max_queue_weight=4), body).keys() == {"spec.weight"}
    assert raw("TF-QUE-2", limited(own_queues=False), body).keys() == {"metadata.name"}
    assert raw("TF-QUE-2", limited(max_queue_weight=5), body) == {}


def test_the_queues_of_the_environment_are_its_own() -> None:
    body = {**QUEUE, "metadata": {"name": "night"}}
    assert raw("TF-QUE-2", limited(own_queues=False), body) == {}, "the environment's stack makes it"
    assert raw("TF-QUE-2", limited(), body, pod({})).keys() == {"metadata.name"}


DELETED = limited(severity={"TF-RUN-1": "error"})
DAY = limited(max_run_time="1d")
LONGER = "the pods may run longer than the environment dev allows (1d)"
STAYS = "the job stays after its end, and the environment dev requires that it is deleted"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_is_deleted_after_its_end(backend: str) -> None:
    parts = {"backend": backend, "roles": ROLES}
    assert found("TF-RUN-1", DELETED, ttl="1h", **parts) == {}
    assert found("TF-RUN-1", DELETED, **parts) == {"ttl": STAYS}
    assert found("TF-RUN-1", limited(), **parts) == {}, "off by default"


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"ttlSecondsAfterFinished": 0}),
        ("kubeflow.org/v1", "TFJob", {"runPolicy": {"ttlSecondsAfterFinished": 0}}),
        ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", {"template": {"spec": {"ttlSecondsAfterFinished": 0}}}),
    ],
)
def test_jobs_of_others(version: str, kind: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind}
    assert raw("TF-RUN-1", DELETED, {**body, "spec": spec}, pod({})) == {}
    assert set(raw("TF-RUN-1", DELETED, {**body, "spec": {}}, pod({})).values()) == {STAYS}
    assert raw("TF-RUN-1", DELETED, {"apiVersion": "v1", "kind": "Service"}) == {}


@pytest.mark.parametrize(("deadline", "refused"), [(86_400, False), (86_401, True), (None, True)])
def test_run_time(deadline: int | None, refused: bool) -> None:
    patch = {"spec": {"activeDeadlineSeconds": deadline}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", DAY, patch).values()) == ({LONGER} if refused else set())
        assert judge("TF-RUN-2", limited(), patch) == {}
    assert (raw("TF-RUN-2", DAY, {}, pod({"activeDeadlineSeconds": deadline})) != {}) is refused
    assert raw("TF-RUN-2", DAY, {}, pod({"activeDeadlineSeconds": "10"})) != {}


@pytest.mark.parametrize(
    ("grace", "deadline", "refused"),
    [
        (30, 86_400, False),
        (0, 86_400, False),
        (None, 86_400, False),
        (630, 85_800, False),
        (630, 85_801, True),
        (86_400, 30, False),
        (86_400, 31, True),
    ],
)
def test_the_time_to_end_counts_as_run_time(grace: int | None, deadline: int, refused: bool) -> None:
    patch = {"spec": {"activeDeadlineSeconds": deadline, "terminationGracePeriodSeconds": grace}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", DAY, patch).values()) == ({LONGER} if refused else set())
        assert judge("TF-RUN-2", limited(), patch) == {}


@pytest.mark.parametrize(
    ("limits", "longest"),
    [({}, 86_400), ({"max_run_time": "30d"}, 86_400), ({"max_run_time": "1h"}, 3600), ({"max_run_time": "10s"}, 30)],
)
def test_the_time_to_end_is_bounded_everywhere(limits: dict[str, str], longest: int) -> None:
    reason = f"the pods may take longer to end than the environment dev allows ({longest} s)"
    patch = {"spec": {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": longest + 1}}
    for judge in (by_role, by_job):
        assert set(judge("TF-RUN-2", limited(**limits), patch).values()) == {reason}
    patch = {"spec": {"activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": longest}}
    assert by_role("TF-RUN-2", limited(**limits), patch) == {}


def test_a_grace_period_that_is_too_long_is_refused_at_its_field() -> None:
    roles = {"worker": {"replicas": 2, "grace_period": "25h"}}
    reason = "the pods may take longer to end than the environment dev allows (86400 s)"
    assert found("TF-RUN-2", limited(), roles=roles) == {"roles.worker.grace_period": reason}
    roles["worker"]["grace_period"] = "86400s"
    assert found("TF-RUN-2", limited(), roles=roles) == {}


def test_run_time_without_a_field() -> None:
    assert found("TF-RUN-2", DAY) == {"max_run_time": LONGER}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_field_satisfies_the_limit(backend: str) -> None:
    """The field satisfies the limit for jobs and for pods. A long time to end counts too."""
    roles = fitting(backend, ROLES)
    for time, found_ in (("24h", {}), ("25h", {"max_run_time": LONGER})):
        assert found("TF-RUN-2", DAY, backend=backend, roles=roles, max_run_time=time) == found_
    late = {name: {**role, "grace_period": "90s"} for name, role in roles.items()}
    parts = {"backend": backend, "roles": late}
    times: list[tuple[dict[str, Any], str]] = [
        ({}, "write `max_run_time: 86340s` or less"),
        ({"max_run_time": "24h"}, "write `max_run_time: 86340s` or less, or 86340 in a patch"),
    ]
    for field, fix in times:
        problems = job_problems(experiment(**parts, **field), DAY)
        assert {(problem.path, problem.fix) for problem in problems} == {("max_run_time", fix)}
    assert found("TF-RUN-2", DAY, **parts, max_run_time="86340s") == {}


@pytest.mark.parametrize(
    ("backend", "spec"),
    [
        (
            "jobset",
            {"replicatedJobs": {name: {"template": {"spec": {"activeDeadlineSeconds": 86_400}}} for name in ROLES}},
        ),
        ("kubeflow", {"runPolicy": {"activeDeadlineSeconds": 86_400}}),
        ("kubedl", {"activeDeadlineSeconds": 86_400}),
        ("trainer", {"activeDeadlineSeconds": 86_400}),
    ],
)
def test_run_time_of_a_job(backend: str, spec: dict[str, Any]) -> None:
    patch = {"job": {"spec": spec}}
    assert found("TF-RUN-2", DAY, backend=backend, roles=ROLES, manifest_overrides=patch) == {}
    shorter = limited(max_run_time="1h")
    assert len(found("TF-RUN-2", shorter, backend=backend, roles=ROLES, manifest_overrides=patch)) > 0


def service(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "board"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "where", "type_"),
    [
        ({"type": "NodePort"}, "spec.type", "NodePort"),
        ({"type": "LoadBalancer"}, "spec.type", "LoadBalancer"),
        ({"externalIPs": ["192.0.2.1"]}, "spec.externalIPs", "LoadBalancer"),
        ({"loadBalancerIP": "192.0.2.1"}, "spec.loadBalancerIP", "LoadBalancer"),
        ({"externalName": "example.com"}, "spec.externalName", "ExternalName"),
    ],
)
def test_services(spec: dict[str, Any], where: str, type_: str) -> None:
    opened = limited(service_types=["ClusterIP", type_])
    assert raw("TF-NET-2", limited(), service(spec)).keys() == {where}
    assert raw("TF-NET-2", opened, service(spec)) == {}
    patch = {"service": {"spec": spec}}
    assert found("TF-NET-2", limited(), manifest_overrides=patch).keys() == {f"manifest_overrides.service.{where}"}
    assert found("TF-NET-2", opened, manifest_overrides=patch) == {}


@pytest.mark.parametrize("spec", [{}, {"type": "ClusterIP"}, {"externalIPs": []}])
def test_usual_services(spec: Any) -> None:
    assert raw("TF-NET-2", limited(), service(spec)) == {}
    assert raw("TF-NET-2", limited(service_types=["NodePort"]), service(spec)).keys() == {"spec.type"}
