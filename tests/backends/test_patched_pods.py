"""Merge patches of what the plan was worked out from: the pods and objects stay the planned ones, or the patch is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from lightkube.models import core_v1
from pydantic import ValidationError

from tests.support import app_wrapper
from tests.support.generated_patches import Way, patch_at, ways
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment
from trainform.backends.pod_differences import CONTAINER_FIELDS, POD_FIELDS
from trainform.backends.table import BACKENDS
from trainform.manifests.manifest import Manifest, override_key
from trainform.objects import draft_plan, job_manifests
from trainform.plan.model import Plan
from trainform.spec.environment import Environment

CLUSTER = environment(
    limits={"host_network": True, "pod_security": "privileged"}, priority_classes={"urgent": {"value": 1}}
)
POOL: dict[str, Any] = {"master": {"replicas": 1, "accelerators": {"a800": 8}}, "worker": {"replicas": 2}}
SSH: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
NODE: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {}, "worker": {"replicas": 2}},
}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 2}},
}
RICH: dict[str, Any] = {
    "roles": POOL,
    "storage": {"runs": {"size": "2Ti", "mount": "/mnt/output"}},
    "queue": {"weight": 2},
    "shared_memory": "20Gi",
    "priority_class": "urgent",
    "prepare": [{"name": "fetch", "command": ["fetch"]}],
}
HOST = {"network": {"host": True}, "roles": POOL}
EACH_ITS_OWN = {**TENSORFLOW, "network": {"host": True, "ports": "per-replica"}}
BEHIND = {"roles": POOL, "network": {"addresses": "service"}}
# The operators that take each of the experiments.
JOBS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    (RICH, (*BACKENDS, app_wrapper.NAME)),
    (HOST, tuple(BACKENDS)),
    (TENSORFLOW, tuple(BACKENDS)),
    (SSH, ("volcano", "jobset", "trainer", "kubeflow")),
    (NODE, ("volcano", "jobset", "trainer")),
    (EACH_ITS_OWN, ("volcano", "jobset", "trainer")),
    (BEHIND, ("volcano", "jobset", "trainer", "kubeflow")),
]
EVERYWHERE = [(parts, backend) for parts, backends in JOBS for backend in backends]

# What a patch may change of what is rendered, by the end of its place: the plan says nothing of it, or reads it again after the patch, or the
# environment's rules judge it in what is rendered.
OPEN = {
    "fsGroup", "image", "imagePullPolicy", "imagePullSecrets", "nodeSelector", "priorityClassName", "requests", "runAsUser",
    "securityContext", "serviceAccountName", "tolerations",  # of pods
    "activeDeadlineSeconds", "cleanPodPolicy", "groupName", "minSuccess", "operator", "restartStrategy", "successPolicy",
    "startupPolicyOrder", "suspend", "targetReplicatedJobs",  # of jobs
    "runs", "storageClassName",  # of claims: a review says what becomes of data
}  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, "mine", 7, True, False, [], ["mine"], {}, "Always", "OnFailure"]
)


@dataclasses.dataclass(frozen=True)
class Planned:
    """What an experiment becomes, with a revision that does not depend on it."""

    plan: Plan
    manifests: list[Manifest]

    @classmethod
    def of(cls, backend: str, cluster: Environment = CLUSTER, **parts: Any) -> Planned:
        plan = draft_plan(experiment(backend=backend, **parts), cluster)
        return cls(plan, job_manifests(plan))

    def objects(self) -> dict[str, Any]:
        """The objects, and the pods that the operator makes of them."""
        pods, config_maps = BACKENDS[self.plan.backend].pods(self.plan, self.manifests)
        made = {f"pod {pod['metadata']['name']}": pod for pod in pods}
        return (
            {override_key(each): without_pods(each.body) for each in self.manifests}
            | made
            | {"config maps": config_maps}
        )


def without_pods(value: Any) -> Any:
    """The object without its pod templates, of which the operator makes pods."""
    if isinstance(value, list):
        return [without_pods(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_pods(item)
        for key, item in value.items()
        if not (isinstance(item, dict) and isinstance(item.get("spec"), dict) and "containers" in item["spec"])
    }


def leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Every value that is no mapping, with its place; items of lists by their names."""
    inner = list(ways(value)) if isinstance(value, dict | list) else []
    below = [step for step in inner if len(step) == 1]
    if not below:
        yield way, value
    for (key,) in below:
        item = value[key] if isinstance(value, dict) else next(each for each in value if each["name"] == key)
        yield from leaves(item, (*way, key))


def is_open(way: Way) -> bool:
    return not OPEN.isdisjoint(way) or way[:2] == ("queue", "spec")


@pytest.mark.parametrize(("parts", "backend"), EVERYWHERE)
def test_a_patch_of_what_is_rendered_is_refused_or_changes_nothing_of_the_plan(
    parts: dict[str, Any], backend: str
) -> None:
    with app_wrapper.registered():
        assert job_problems(experiment(backend=backend, **parts), CLUSTER) == []
        planned = Planned.of(backend, **parts)
        before = planned.objects()
        bodies = {override_key(each): each.body for each in planned.manifests}
        places = [(key, *way) for key, body in bodies.items() for way in ways(body)]
        counts = {True: 0, False: 0}

        @settings(max_examples=60, deadline=None)
        @given(st.sampled_from(places), VALUES)
        def check(place: Way, value: Any) -> None:
            try:
                patched = experiment(backend=backend, **parts, manifest_overrides=patch_at(place, value))
            except ValidationError:
                return
            problems = job_problems(patched, CLUSTER)
            counts[bool(problems)] += 1
            note(f"{place}: {value}: {[problem.path for problem in problems]}")
            if not problems:
                after = Planned.of(backend, **parts, manifest_overrides=patch_at(place, value)).objects()
                assert changed(before, after) == set()

        check()
        assert counts[True] > 0


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[Way]:
    """The places of the plan's that are otherwise."""
    assert before.keys() == after.keys()
    found = dict(leaves(after))
    return {
        way
        for way, value in leaves(before)
        if not is_open(way) and way[-1] != "trainform.dev/overrides" and (way not in found or found[way] != value)
    }


ROLE = "roles.worker.pod_overrides"


GPU = "baidu.com/a800_80g_cgpu"


def of_role(spec: dict[str, Any]) -> dict[str, Any]:
    role = {"replicas": 2, "accelerators": {"a800": 2}, "cpu": 4}
    return {"roles": {**POOL, "worker": {**role, "pod_overrides": {"spec": spec}}}}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"schedulerName": "default-scheduler"}, "spec.schedulerName"),
        ({"nodeName": "node-1"}, "spec.nodeName"),
        ({"restartPolicy": "Always"}, "spec.restartPolicy"),
        ({"hostNetwork": True}, "spec.hostNetwork"),
        ({"dnsPolicy": "Default"}, "spec.dnsPolicy"),
        ({"schedulingGates": [{"name": "example.com/wait"}]}, "spec.schedulingGates"),
        ({"readinessGates": [{"conditionType": "example.com/wait"}]}, "spec.readinessGates"),
        ({"volumes": []}, "spec.volumes"),
        ({"volumes": {"launch": {"configMap": {"name": "mine"}}}}, "spec.volumes.launch"),
        ({"containers": {"main": {"command": ["sleep"]}}}, "spec.containers.main.command"),
        ({"containers": {"main": {"args": None}}}, "spec.containers.main.args"),
        ({"containers": {"main": {"env": []}}}, "spec.containers.main.env"),
        ({"containers": {"main": {"volumeMounts": []}}}, "spec.containers.main.volumeMounts"),
        ({"containers": {"main": {"env": {"NPROC_PER_NODE": {"value": "8"}}}}}, "spec.containers.main.env.NPROC_PER_NODE"),
        ({"containers": {"main": {"env": {"TRAINFORM_RANK_OFFSET": None}}}}, "spec.containers.main.env.TRAINFORM_RANK_OFFSET"),
        ({"containers": {"main": {"resources": {"limits": {GPU: 4}, "requests": {GPU: 4}}}}}, f"spec.containers.main.resources.limits.{GPU}"),
        ({"containers": {"main": {"resources": {"limits": {"cpu": 8}}}}}, "spec.containers.main.resources.limits.cpu"),
        ({"containers": {"main": {"resources": None}}}, "spec.containers.main.resources"),
        ({"containers": {"log": {"image": "log", "resources": {"limits": {GPU: 1}}}}}, f"spec.containers.log.resources.limits.{GPU}"),
        ({"containers": {"main": None}}, "spec.containers.main"),
        ({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["sdxl-lora-000000-master-0"]}]}, "spec.hostAliases"),
    ],
    ids=str,
)  # fmt: skip
def test_a_role_keeps_what_the_plan_says_of_its_pods(backend: str, spec: dict[str, Any], where: str) -> None:
    made = experiment(backend=backend, **of_role(spec))
    if "hostAliases" in spec and backend in ("jobset", "trainer"):
        return  # its pods have other names
    found = {problem.path for problem in job_problems(made, environment(limits={"host_network": True}))}
    assert found == {f"{ROLE}.{where}"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "spec",
    [
        {"terminationGracePeriodSeconds": 120, "enableServiceLinks": False},
        {"containers": {"main": {"env": {"HF_HOME": {"value": "/cache"}}}}},
        {"containers": {"main": {"volumeMounts": {"cache": {"mountPath": "/cache"}}}}, "volumes": {"cache": {"emptyDir": {}}}},
        {"containers": {"main": {"ports": [{"name": "metrics", "containerPort": 9090}]}}},
        {"containers": {"main": {"resources": {"requests": {"cpu": 1}, "limits": {"cpu": "4000m", "ephemeral-storage": "1Gi"}}}}},
        {"initContainers": [{"name": "compile", "image": "registry.example.com/ai/compile:1", "command": ["compile"], "resources": {"limits": {GPU: 2}}}]},
        {"containers": {"log": {"image": "registry.example.com/ai/log:1", "args": ["--follow"]}}},
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["storage.example.com"]}]},
        {"restartPolicy": "Never", "schedulerName": "volcano", "dnsPolicy": "ClusterFirst"},
    ],
    ids=str,
)  # fmt: skip
def test_what_the_plan_says_nothing_of_is_a_patchs(backend: str, spec: dict[str, Any]) -> None:
    assert job_problems(experiment(backend=backend, **of_role(spec)), environment()) == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_the_name_of_a_pod(backend: str, field: str) -> None:
    """JobSet sets both itself, whatever the template says."""
    found = [
        problem.path for problem in job_problems(experiment(backend=backend, **of_role({field: "mine"})), environment())
    ]
    assert found == ([] if backend in ("jobset", "trainer") else [f"{ROLE}.spec.{field}"])


OF_JOBS: list[tuple[str, dict[str, Any], str, dict[str, Any], str]] = [
    ("volcano", RICH, "job", {"spec": {"plugins": None}}, "spec.plugins"),
    ("volcano", RICH, "job", {"spec": {"plugins": {"svc": []}}}, "spec.plugins.svc"),
    *(("volcano", RICH, "job", {"spec": {"plugins": {name: []}}}, f"spec.plugins.{name}") for name in ("pytorch", "tensorflow", "mpi", "ssh", "env")),
    ("volcano", RICH, "job", {"spec": {"schedulerName": "other"}}, "spec.schedulerName"),
    ("volcano", RICH, "job", {"spec": {"maxRetry": 9}}, "spec.maxRetry"),
    ("volcano", RICH, "job", {"spec": {"policies": [{"event": "PodFailed", "action": "RestartJob"}], "ttlSecondsAfterFinished": 5}}, "spec.ttlSecondsAfterFinished"),
    ("volcano", RICH, "job", {"spec": {"tasks": {"worker": {"dependsOn": {"name": ["master"]}}}}}, "spec.tasks.worker.dependsOn"),
    ("volcano", RICH, "job", {"spec": {"tasks": {"worker": {"template": {"spec": {"hostname": "mine"}}}}}}, "spec.tasks.worker.template.spec.hostname"),
    ("volcano", RICH, "job", {"spec": {"tasks": {"worker": {"template": {"spec": {"nodeName": "node-1"}}}}}}, "spec.tasks.worker.template.spec.nodeName"),
    ("volcano", RICH, "job", {"spec": {"tasks": {"worker": {"template": {"metadata": {"labels": {"trainform.dev/revision": "1f3a9c"}}}}}}},
     "spec.tasks.worker.template.metadata.labels.trainform.dev/revision"),
    ("volcano", RICH, "service", {"spec": {"type": "ExternalName"}}, "spec.type"),
    ("volcano", RICH, "service", {"spec": {"clusterIP": None}}, "spec.clusterIP"),
    ("volcano", RICH, "service", {"spec": {"publishNotReadyAddresses": False}}, "spec.publishNotReadyAddresses"),
    ("volcano", BEHIND, "service-master-0", {"spec": {"type": "ExternalName"}}, "spec.type"),
    ("volcano", RICH, "launch-script", {"data": {"launch.sh": "exec true"}}, "data.launch.sh"),
    ("volcano", RICH, "launch-script", {"immutable": None}, "immutable"),
    ("volcano", RICH, "claim-runs", {"spec": {"volumeMode": "Block"}}, "spec.volumeMode"),
    ("jobset", RICH, "pod-group", {"spec": {"minTaskMember": {"worker": 9}}}, "spec.minTaskMember"),
    ("jobset", RICH, "job", {"spec": {"network": {"enableDNSHostnames": False}}}, "spec.network.enableDNSHostnames"),
    ("jobset", RICH, "job", {"spec": {"failurePolicy": {"maxRestarts": 4}}}, "spec.failurePolicy.maxRestarts"),
    ("jobset", RICH, "job", {"spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"}}}, "spec.startupPolicy.startupPolicyOrder"),
    ("jobset", RICH, "job", {"spec": {"replicatedJobs": {"worker": {"template": {"spec": {"completionMode": "NonIndexed"}}}}}},
     "spec.replicatedJobs.worker.template.spec.completionMode"),
    ("trainer", SSH, "runtime", {"spec": {"mlPolicy": {"mpi": {"runLauncherAsNode": True}}}}, "spec.mlPolicy.mpi.runLauncherAsNode"),
    ("trainer", NODE, "runtime", {"spec": {"mlPolicy": {"mpi": {"runLauncherAsNode": False}}}}, "spec.mlPolicy.mpi.runLauncherAsNode"),
    ("trainer", NODE, "runtime", {"spec": {"mlPolicy": {"mpi": {"numProcPerNode": 4}}}}, "spec.mlPolicy.mpi.numProcPerNode"),
    ("trainer", RICH, "runtime", {"spec": {"mlPolicy": {"torch": {}}}}, "spec.mlPolicy.torch"),
    ("trainer", NODE, "job", {"spec": {"trainer": {"command": ["sleep"]}}}, "spec.trainer.command"),
    ("trainer", NODE, "job", {"spec": {"trainer": {"env": [{"name": "NPROC_PER_NODE", "value": "3"}]}}}, "spec.trainer.env"),
    ("trainer", NODE, "job", {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}, "spec.managedBy"),
    ("kubeflow", SSH, "job", {"spec": {"slotsPerWorker": 4}}, "spec.slotsPerWorker"),
    ("kubeflow", SSH, "job", {"spec": {"mainContainer": "log"}}, "spec.mainContainer"),
    ("kubeflow", RICH, "job", {"spec": {"elasticPolicy": {}}}, "spec.elasticPolicy"),
    ("kubeflow", RICH, "job", {"spec": {"pytorchReplicaSpecs": {"Worker": {"restartPolicy": "Always"}}}}, "spec.pytorchReplicaSpecs.Worker.restartPolicy"),
    ("kubeflow", RICH, "job", {"spec": {"runPolicy": {"backoffLimit": 1}}}, "spec.runPolicy.backoffLimit"),
    ("kubedl", TENSORFLOW, "job", {"spec": {"tfReplicaSpecs": {"Worker": {"dependOn": []}}}}, "spec.tfReplicaSpecs.Worker.dependOn"),
    ("kubedl", RICH, "job", {"spec": {"cronPolicy": {"schedule": "* * * * *"}}}, "spec.cronPolicy"),
    ("kubedl", RICH, "job", {"metadata": {"annotations": {"kubedl.io/tensorboard-config": "{}"}}}, "metadata.annotations.kubedl.io/tensorboard-config"),
]  # fmt: skip


@pytest.mark.parametrize(("backend", "parts", "key", "patch", "where"), OF_JOBS, ids=str)
def test_objects_are_the_planned_ones(
    backend: str, parts: dict[str, Any], key: str, patch: dict[str, Any], where: str
) -> None:
    made = experiment(backend=backend, **parts, manifest_overrides={key: patch})
    found = {problem.path for problem in job_problems(made, CLUSTER)}
    assert found - {f"manifest_overrides.{key}"} == {f"manifest_overrides.{key}.{where}"}  # the rules name the patch


# Fields of pods and containers of which the plan says nothing, each judged by the environment's rules or by nobody.
UNSAID = {
    "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "dnsConfig", "enableServiceLinks",
    "ephemeralContainers", "evictionResponders", "hostIPC", "hostPID", "hostUsers", "imagePullSecrets", "nodeSelector",
    "os", "overhead", "preemptionPolicy", "priority", "priorityClassName", "resourceClaims", "resources",
    "runtimeClassName", "securityContext", "serviceAccount", "serviceAccountName", "shareProcessNamespace",
    "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints",
}  # fmt: skip
COMPARED = {"containers", "initContainers", "hostAliases", "volumes"}
UNSAID_OF_CONTAINERS = {
    "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "readinessProbe", "resizePolicy", "securityContext",
    "startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty",
    "volumeDevices", "workingDir",
}  # fmt: skip
COMPARED_OF_CONTAINERS = {"name", "env", "ports", "resources", "volumeMounts"}


def test_every_field_of_a_pod_is_the_plans_or_a_patchs() -> None:
    """A field that is new in Kubernetes must be thought of here."""
    assert POD_FIELDS.keys() | UNSAID | COMPARED == core_v1.PodSpec.__annotations__.keys()
    assert not POD_FIELDS.keys() & UNSAID
    assert (
        CONTAINER_FIELDS.keys() | UNSAID_OF_CONTAINERS | COMPARED_OF_CONTAINERS
        == core_v1.Container.__annotations__.keys()
    )


def test_a_patch_is_refused_at_the_part_that_does_it_wherever_that_shows() -> None:
    """Each part alone is fine or not, and what one of them changes shows in pods of another role."""
    port = {"containers": {"main": {"ports": {"rendezvous": {"containerPort": 4000}}, "tty": True}}}
    roles = {
        **POOL,
        "master": {"pod_overrides": {"spec": port}},
        "worker": {"pod_overrides": {"spec": {"hostname": "a"}}},
    }
    found = {problem.path for problem in job_problems(experiment(backend="kubeflow", roles=roles), environment())}
    assert found == {
        "roles.master.pod_overrides.spec.containers.main.ports.rendezvous.containerPort",
        "roles.worker.pod_overrides.spec.hostname",
    }
    trainer = {"image": "registry.example.com/a:1", "command": ["sleep"], "resourcesPerNode": {"limits": {"cpu": 1}}}
    patch = {"job": {"spec": {"trainer": trainer, "suspend": True}}}
    (problem,) = job_problems(experiment(backend="trainer", manifest_overrides=patch), environment())
    assert problem.path == "manifest_overrides.job.spec.trainer.command"


@pytest.mark.parametrize(
    ("patch", "reason", "fix"),
    [
        ({"env": [{"name": "HF_HOME", "value": "/cache"}]}, "the patch removes the variable MASTER_ADDR of the role worker, and the plan needs it", "write a mapping of names there, such as `env: {NAME: …}`"),
        ({"env": {"MASTER_ADDR": None}}, "the patch removes the variable MASTER_ADDR of the role worker, and the plan needs it", "remove it, or write it in `env`"),
        ({"env": {"MASTER_ADDR": {"value": "a"}}}, "the patch decides the variable MASTER_ADDR of the role worker, and the plan does that", "remove it, or write it in `env`"),
        ({"volumeMounts": [{"name": "launch", "mountPath": "/mine"}]}, "the patch removes a part that the plan needs", "write a mapping of names there, such as `volumeMounts: {NAME: …}`"),
        ({"volumeMounts": {"launch": {"mountPath": "/mine"}}}, "the patch removes a part that the plan needs", "remove it"),
    ],
    ids=str,
)  # fmt: skip
def test_a_list_that_takes_the_place_of_the_plans(patch: dict[str, Any], reason: str, fix: str) -> None:
    (problem,) = job_problems(experiment(**of_role({"containers": {"main": patch}})), environment())
    assert problem.reason.startswith(reason)
    assert problem.fix.startswith(fix)


def test_what_a_patch_of_one_role_changes_in_pods_of_another() -> None:
    """With a GPU the launcher of an MPIJob is a node of its own, in the hostfile of the operator."""
    gpu = {"spec": {"containers": {"main": {"resources": {"limits": {"example.com/gpu": 1}}}}}}
    parts = {**SSH, "roles": {"launcher": {"ranked": False, "pod_overrides": gpu}, "worker": {"replicas": 2}}}
    found = job_problems(
        experiment(backend="kubeflow", **parts), environment(limits={"resources": ["example.com/gpu"]})
    )
    (problem,) = (each for each in found if not each.code)
    assert problem.path == "roles.launcher.pod_overrides.spec.containers.main.resources"
    assert problem.reason == "with the patch the operator makes another hostfile than the planned one"


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_an_operators_own_restart_policy(backend: str) -> None:
    assert job_problems(experiment(backend=backend, **of_role({"restartPolicy": "ExitCode"})), environment()) == []
    (problem,) = job_problems(experiment(backend=backend, **of_role({"restartPolicy": "OnFailure"})), environment())
    assert problem.path == f"{ROLE}.spec.restartPolicy"


def test_no_value_of_a_variable_is_shown() -> None:
    spec = {"containers": {"main": {"env": {"MASTER_ADDR": {"value": "hunter2"}}, "args": ["hunter2"]}}}
    problems = job_problems(experiment(**of_role(spec)), environment())
    assert len(problems) == 2
    assert "hunter2" not in "".join(map(str, problems))


def test_a_named_runtime_that_only_the_cluster_has() -> None:
    parts: dict[str, Any] = {
        "backend": "trainer",
        "runtime": {"name": "shared", "kind": "ClusterTrainingRuntime"},
        "roles": {"node": {"replicas": 2}},
    }
    for field, refused in (("command", True), ("env", True), ("image", False)):
        value = {"command": ["sleep"], "env": [{"name": "A", "value": "b"}], "image": "registry.example.com/a:1"}[field]
        patch = {"job": {"spec": {"trainer": {field: value}}}}
        found = {problem.path for problem in job_problems(experiment(**parts, manifest_overrides=patch), environment())}
        assert bool(found) is refused
        assert all(path.startswith(f"manifest_overrides.job.spec.trainer.{field}") for path in found)


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer"])
@pytest.mark.parametrize(
    "spec", [{"restartPolicy": "Always"}, {"schedulerName": "mine"}, {"containers": {"main": {"command": ["mine"]}}}]
)
def test_a_patch_of_a_role_that_has_no_pods(spec: dict[str, Any], backend: str) -> None:
    """Its template is in the object, and `replicas` may change in place."""
    extra = {"replicas": 0, "ranked": False, "command": ["python", "watch.py"], "pod_overrides": {"spec": spec}}
    (problem,) = job_problems(experiment(backend=backend, roles={**POOL, "watcher": extra}), CLUSTER)
    assert problem.path.startswith("roles.watcher.pod_overrides.spec.")


def test_a_patch_of_an_object_whose_role_has_no_pods() -> None:
    roles = {**POOL, "watcher": {"replicas": 0, "ranked": False, "command": ["python", "watch.py"]}}
    pods = {"template": {"spec": {"restartPolicy": "Always"}}}
    for backend, spec in {
        "volcano": {"tasks": {"watcher": pods}},
        "jobset": {"replicatedJobs": {"watcher": {"template": {"spec": pods}}}},
    }.items():
        made = experiment(backend=backend, roles=roles, manifest_overrides={"job": {"spec": spec}})
        (problem,) = job_problems(made, CLUSTER)
        assert problem.path.endswith(
            "watcher.template.spec.restartPolicy"
            if backend == "volcano"
            else "template.spec.template.spec.restartPolicy"
        )
