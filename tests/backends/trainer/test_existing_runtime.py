"""Jobs on a runtime of somebody else's: what the TrainJob says, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.trainer.samples import (
    MPI,
    MPI_APART,
    MPI_ROLES,
    ON_MPI,
    TORCH,
    on,
    plan_on,
    replicated,
    runtime,
    told_on,
    with_jobs,
    with_pods,
    with_spec,
)
from tests.support.rendering import plan_job
from tests.support.samples import environment, reasons
from trainform.backends.backend import BACKENDS
from trainform.backends.trainer.existing_runtime import check_runtime
from trainform.errors import InputError
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

FULL: dict[str, Any] = {
    "roles": {"worker": {"replicas": 2, "accelerators": {"l40s": 4},
            "tolerations": [{"key": "gpu", "operator": "Exists"}]}},
    "storage": {"data": {"claim": "data", "mount": "/mnt"}},
    "shared_memory": "1Gi",
    "service_account": "trainer",
    "image_pull_secrets": ["registry"],
    "run_as": {"user": 1000, "home": "/home/me"},
    "network": {"rdma": True},
}  # fmt: skip


def job(planned: Plan) -> dict[str, Any]:
    found: dict[str, Any] = next(manifest.body for manifest in job_manifests(planned) if manifest.key == "job")["spec"]
    return found


def patches(planned: Plan) -> dict[str, dict[str, Any]]:
    """What changes in the pods, by replicated job."""
    (patch,) = job(planned)["runtimePatches"]
    assert patch["manager"] == "trainform.dev/trainform"
    spec = patch["trainingRuntimeSpec"]["template"]["spec"]
    return {item["name"]: item["template"]["spec"]["template"] for item in spec["replicatedJobs"]}


@pytest.mark.parametrize("content", [TORCH, None])
def test_only_the_train_job_is_rendered(content: dict[str, Any] | None) -> None:
    planned = plan_on(content)
    assert [manifest.key for manifest in job_manifests(planned)] == ["launch-script", "job", "deployed"]
    spec = job(planned)
    assert spec["runtimeRef"] == {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "ClusterTrainingRuntime",
        "name": "shared",
    }
    assert BACKENDS["trainer"].crds(planned)[:2] == (
        "trainjobs.trainer.kubeflow.org",
        "clustertrainingruntimes.trainer.kubeflow.org",
    )


def test_the_spec_of_the_train_job() -> None:
    trainer = job(plan_on(TORCH, **FULL, env={"PET_NNODES": "9"}))["trainer"]
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (2, 4)
    assert trainer["image"] == "registry.example.com/ai/pytorch-training:2.8"
    assert trainer["command"][-2:] == ["/bin/sh", "/etc/trainform/launch.sh"]
    assert "PET_NNODES=$(TRAINFORM_KEPT_PET_NNODES)" in trainer["command"]
    assert trainer["args"] == ["python", "/app/train.py"]
    assert trainer["resourcesPerNode"]["limits"] == {"nvidia.com/gpu": "4", "rdma/hca": "1"}
    names = [entry["name"] for entry in trainer["env"]]
    assert "TRAINFORM_KEPT_PET_NNODES" in names
    assert not any(name.startswith("PET_") for name in names), "its webhook refuses these"


def test_the_train_jobs_patch_of_the_pods() -> None:
    planned = plan_on(TORCH, **FULL)
    found = patches(planned)["node"]
    assert found["metadata"]["labels"]["trainform.dev/revision"] == planned.revision
    spec = found["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["data", "shared-memory", "launch"]
    assert spec["nodeSelector"] == {"pool": "l40s"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert spec["serviceAccountName"] == "trainer"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["securityContext"]["runAsUser"] == 1000
    (main,) = spec["containers"]
    assert main["name"] == "node"
    assert main["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert [mount["mountPath"] for mount in main["volumeMounts"]] == ["/mnt", "/dev/shm", ("/etc/trainform")]  # noqa: S108
    assert set(spec) == {
        "volumes", "nodeSelector", "tolerations", "serviceAccountName", "imagePullSecrets", "securityContext",
        "containers",
    }  # fmt: skip
    assert set(main) == {"name", "volumeMounts", "securityContext"}, "a patch may say no more of `node`"


def test_the_queue_is_set_for_the_pod_group() -> None:
    (patch,) = job(plan_on(TORCH, queue="night"))["runtimePatches"]
    assert patch["trainingRuntimeSpec"]["template"]["metadata"]["annotations"] == {
        "scheduling.volcano.sh/queue-name": "night"
    }
    kueue = environment(admission="kueue", queues={})
    without = with_pods(with_spec(TORCH, {"podGroupPolicy": None}), {"schedulerName": None})
    (patch,) = job(plan_job(on(without), kueue))["runtimePatches"]
    assert "metadata" not in patch["trainingRuntimeSpec"]["template"]


def test_addresses_are_under_the_jobs_name() -> None:
    """Trainer's own Service; there is none of ours."""
    planned = plan_on(TORCH)
    assert planned.rendezvous.address == f"{planned.job}-node-0-0.{planned.job}"
    pods, _ = BACKENDS["trainer"].pods(planned, job_manifests(planned))
    assert [f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for pod in pods] == [
        pod.address for pod in planned.pods()
    ]


def test_mpi_on_a_runtime_with_sshd_of_its_own() -> None:
    planned = plan_on(MPI, **ON_MPI)
    spec = job(planned)
    assert (spec["trainer"]["numNodes"], spec["trainer"]["numProcPerNode"]) == (4, 1)
    assert [*planned.files] == ["launch.sh", "run.sh", "message.awk", "wait.sh"], "no identity and no hostfile of ours"
    assert planned.ssh is None
    env = {entry["name"]: entry.get("value") for entry in spec["trainer"]["env"]}
    assert env["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile", "Trainer sets none for Open MPI 5"
    assert not any(name.startswith("OMPI_MCA_") for name in env), "its webhook refuses these"
    assert "containers" in patches(planned)["launcher"]["spec"]
    assert "spec" not in patches(planned)["node"], "they run what the runtime says"


def test_the_controllers_split_is_the_plans() -> None:
    planned = plan_on(MPI, **ON_MPI)
    pods, config_maps = BACKENDS["trainer"].pods(planned, job_manifests(planned))
    assert sorted(pod["metadata"]["name"] for pod in pods) == sorted(pod.name for pod in planned.pods())
    hosts = [
        f"{planned.job}-{name}.{planned.job} slots=1\n" for name in ("node-0-0", "node-0-1", "node-0-2", "launcher-0-0")
    ]
    assert config_maps == {f"{planned.job}-mpi-hostfile": {"hostfile": "".join(hosts)}}


TWO = {"worker": {}, "evaluator": {"ranked": False, "command": ["evaluate"]}}
UNRANKED = {"launcher": {"ranked": False}, "worker": {"replicas": 3}}
GPU = {"containers": {"node": {"resources": {"limits": {"nvidia.com/gpu": 8}}}}}


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        (
            {"launcher": {"deepspeed": {"script": "x"}}},
            "launcher",
            "trainform runs only torchrun, accelerate, command, mpi",
        ),
        (
            {"roles": {"worker": {"working_dir": "/app"}}},
            "roles.worker.working_dir",
            "a TrainJob cannot set this field",
        ),
        ({"launcher": {"tensorflow": {"command": ["x"]}}}, "launcher", "trainform runs only torchrun"),
        ({"roles": TWO}, "roles.evaluator", "an existing runtime has no pods for the role, only for node"),
        ({"roles": {"head": {}, "worker": {}}}, "roles.worker", "has no pods for the role"),
        (
            {**ON_MPI, "roles": {**MPI_ROLES, "watcher": {"ranked": False, "command": ["watch"]}}},
            "roles.watcher",
            "only for launcher and node",
        ),
        (
            {"roles": {"worker": {"init": [{"name": "fetch", "command": ["fetch"]}]}}},
            "roles.worker.init",
            "a TrainJob cannot set this field",
        ),
        (
            {"prepare": [{"name": "fetch", "command": ["fetch"]}]},
            "roles.worker.init",
            "a TrainJob cannot set this field",
        ),
        (
            {"roles": {"worker": {"pod_overrides": {"spec": {"enableServiceLinks": False}}}}},
            "roles.worker.pod_overrides.spec.enableServiceLinks",
            "a TrainJob cannot set this field",
        ),
        ({"restart": "on-failure"}, "restart", "the existing runtime decides about restarts"),
        ({"restart": "all-when-evicted"}, "restart", "the existing runtime decides about restarts"),
        ({"network": {"host": True}}, "network.host", "a TrainJob cannot set this field"),
        ({"network": {"topology": {"highest_tier": 1}}}, "network.topology", "a TrainJob cannot set this field"),
        ({"priority_class": "high"}, "priority_class", "a TrainJob cannot set this field"),
        ({"image_pull_policy": "Always"}, "image_pull_policy", "a TrainJob cannot set this field"),
    ],
)
def test_fields_that_a_train_job_cannot_set(parts: dict[str, Any], path: str, reason: str) -> None:
    found = reasons(backend="trainer", runtime={"name": "shared"}, **parts)
    assert reason in found[path]


@pytest.mark.parametrize(
    ("content", "parts", "reason"),
    [
        (with_jobs(MPI, {"node": None}), ON_MPI, "has no replicated job `node`, the one for the pods of worker"),
        (with_jobs(MPI_APART, {"launcher": None}), {**ON_MPI, "roles": UNRANKED}, "has no replicated job `launcher`"),
        (with_jobs(TORCH, {"node": {"template": {"metadata": None}}}), {}, "trainer` on none, not on node alone"),
        (with_pods(TORCH, {"containers": {"node": {"name": "main"}}}), {}, "node has no container `node`"),
        (
            with_spec(TORCH, {"template": {"spec": {"ttlSecondsAfterFinished": 60}}}),
            {},
            "ttlSecondsAfterFinished is set, and Trainer makes a failed job's JobSet again",
        ),
        (
            {**TORCH, "kind": "TrainingRuntime"},
            {},
            "kind is TrainingRuntime, and the experiment names ClusterTrainingRuntime",
        ),
        ({**TORCH, "metadata": {"name": "other"}}, {}, "metadata.name is other, and the experiment names shared"),
        ({**TORCH, "spec": {"template": {}}}, {}, "does not have the fields of Trainer's API"),
        (
            with_spec(TORCH, {"mlPolicy": {"torch": None, "jax": {}}}),
            {},
            "mlPolicy is jax, and the launcher is command",
        ),
        (with_spec(MPI, {"mlPolicy": {"mpi": None}}), ON_MPI, "mlPolicy has no policy, and the launcher is mpi"),
        (TORCH, ON_MPI, "mlPolicy is torch, and the launcher is mpi"),
        (MPI, {**ON_MPI, "roles": UNRANKED}, "runLauncherAsNode is true, and the role launcher is unranked"),
        (MPI_APART, ON_MPI, "runLauncherAsNode is false, and the role launcher is ranked"),
        (
            MPI,
            {**ON_MPI, "run_as": {"user": 1000, "home": "/home/me"}},
            "sshAuthMountPath is /home/mpiuser/.ssh, and ssh of the pods' user reads its files from /home/me/.ssh",
        ),
        (
            runtime({"torch": {}}, replicated("dataset-initializer", False), replicated("node", True)),
            {},
            "has dataset-initializer, whose pods are in no role",
        ),
        (
            runtime({"torch": {}}, replicated("worker", True)),
            {},
            "has no replicated job `node`, the one for the pods of worker",
        ),
        (
            runtime({"mpi": {"runLauncherAsNode": True}}, replicated("node", True), replicated("launcher", False)),
            ON_MPI,
            "on node, not on launcher alone",
        ),
        (
            with_spec(TORCH, {"template": {"spec": {"network": {"subdomain": "mine"}}}}),
            {},
            "template.spec.network.subdomain is mine",
        ),
        (
            with_spec(TORCH, {"podGroupPolicy": None}),
            {},
            "podGroupPolicy has no `volcano`, and in this environment Volcano admits jobs",
        ),
        (
            with_pods(TORCH, {"schedulerName": None}),
            {},
            "node has no schedulerName, so its pods are outside of the gang",
        ),
        (
            with_pods(MPI, {"schedulerName": "default-scheduler"}),
            ON_MPI,
            "node has the schedulerName default-scheduler",
        ),
        (with_pods(TORCH, {"hostNetwork": True}), {}, "uses the host network"),
        (
            with_pods(TORCH, GPU),
            {},
            "gives each pod nvidia.com/gpu: 8, which a TrainJob cannot change, and the role worker has 0",
        ),
        (
            with_pods(MPI_APART, GPU),
            {**ON_MPI, "roles": UNRANKED},
            "replicatedJobs.node gives each pod nvidia.com/gpu: 8",
        ),
        (
            MPI_APART,
            {**ON_MPI, "roles": {**UNRANKED, "worker": {"cpu": 4}}},
            "gives each pod cpu: 0, which a TrainJob cannot change, and the role worker has 4",
        ),
        (
            with_pods(MPI_APART, {"containers": {"node": {"resources": {"limits": {"cpu": 4}}}}}),
            {**ON_MPI, "roles": {**UNRANKED, "worker": {"cpu": {"request": 4}}}},
            "gives each pod the limit cpu: 4, which a TrainJob cannot change, and the role worker has 0",
        ),
        (
            MPI,
            {**ON_MPI, "roles": {"launcher": {"cpu": 4}, "worker": {}}},
            "gives each pod cpu: 4, which a TrainJob cannot change, and the role worker has 0",
        ),
        (
            MPI_APART,
            {**ON_MPI, "roles": UNRANKED, "env": {"NCCL_DEBUG": "INFO"}},
            "does not get these variables of the role worker from a TrainJob: NCCL_DEBUG",
        ),
        (
            MPI,
            {**ON_MPI, "roles": {"launcher": {}, "worker": {"env": {"A": "1"}}}},
            "does not get these variables of the role worker from a TrainJob: A",
        ),
        (
            with_pods(MPI, {"containers": {"node": {"image": "other"}}}),
            ON_MPI,
            "runs other, and a TrainJob changes only the launcher's image",
        ),
    ],
)
def test_problems_of_the_runtimes_file(content: dict[str, Any], parts: dict[str, Any], reason: str) -> None:
    found = told_on(content, **parts)
    assert any(reason in text and text.startswith("runtime.file") for text in found), found


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (with_pods(TORCH, GPU), {"roles": {"worker": {"accelerators": {"l40s": 4}}}}),
        (
            with_pods(MPI_APART, {"containers": {"node": {"resources": {"limits": {"cpu": "4000m"}}}}}),
            {**ON_MPI, "roles": {**UNRANKED, "worker": {"cpu": 4}}},
        ),
        (
            with_spec(MPI, {"mlPolicy": {"mpi": {"sshAuthMountPath": "/home/me/.ssh"}}}),
            {**ON_MPI, "run_as": {"user": 1000, "home": "/home/me/"}},
        ),
        (
            with_pods(MPI_APART, {"containers": {"node": {"resources": {"requests": {"cpu": 4}}}}}),
            {**ON_MPI, "roles": {**UNRANKED, "worker": {"cpu": {"request": 4}}}},
        ),
        (with_spec(TORCH, {"mlPolicy": None}), {}),
        (MPI, {**ON_MPI, "env": {"NCCL_DEBUG": "INFO"}}),
    ],
)
def test_valid_files_of_runtimes(content: dict[str, Any], parts: dict[str, Any]) -> None:
    assert told_on(content, **parts) == []


def test_the_clusters_runtime_is_checked_by_the_same_rules() -> None:
    planned = plan_on(None, **ON_MPI)
    assert planned.runtime is not None
    assert check_runtime(MPI, planned, planned.runtime) == []
    (finding,) = check_runtime(with_jobs(MPI, {"node": None}), planned, planned.runtime)
    assert "has no replicated job `node`" in finding.reason


def test_pods_of_a_runtime_that_only_the_cluster_has() -> None:
    planned = plan_on(None)
    with pytest.raises(InputError, match="rehearse --from-cluster"):
        BACKENDS["trainer"].pods(planned, job_manifests(planned))


def test_limits_check_the_experiments_requests() -> None:
    (template,) = BACKENDS["trainer"].templates(planned := plan_on(TORCH, **FULL), job_manifests(planned))
    assert (template.role, template.replicas) == ("worker", 2)
    assert template.pod_request("nvidia.com/gpu") == 4
