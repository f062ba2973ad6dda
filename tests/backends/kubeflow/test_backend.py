"""The jobs of training-operator v1 as it takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replica_jobs import main
from tests.support.samples import environment, job, plan, reasons
from trainform.backends.table import BACKENDS
from trainform.job.objects import job_manifests
from trainform.plan import Plan

BACKEND: dict[str, Any] = {"backend": "kubeflow"}
POOL: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
TORCHRUN: dict[str, Any] = {"torchrun": {"script": "/app/train.py"}}
ELASTIC: dict[str, Any] = {
    "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8},
            "max_restarts": 3}},
    "roles": {"worker": {"replicas": 4}},
}  # fmt: skip
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 3}, "evaluator": {}},
}
MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2, "accelerators": {"a800": 8}}},
}
# A launcher that computes too, as the operator can do it.
NODE: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"]}},
    "roles": {"first": {"accelerators": {"a800": 8}}, "rest": {"replicas": 2, "accelerators": {"a800": 8}}},
}
QUEUE = "scheduling.volcano.sh/queue-name"


def on_it(**parts: Any) -> Plan:
    return plan(**{**BACKEND, **parts})


def spec(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = job(on_it(**parts))["spec"]
    return found


def problems_on(**parts: Any) -> dict[str, str]:
    return reasons(**{**BACKEND, **parts})


def case_3() -> dict[str, Any]:
    """Published practice: four nodes of eight, by a script of the user's own."""
    return {
        **BACKEND,
        "name": "pytorch-multinode-job",
        "image": "registry.example.com/ai/pytorch-training:latest",
        "launcher": {"command": ["/bin/bash", "-c", "/app/scripts/multi_train_run.sh"]},
        "roles": {
            "master": {"accelerators": {"a800": 8}, "env": {"MASTER": "1"}},
            "worker": {"replicas": 3, "accelerators": {"a800": 8}},
        },
        "network": {"host": True, "rdma": True},
        "storage": {"models": {"claim": "cloud-ai-test-pvc-1", "mount": "/mnt/"}},
        "shared_memory": "20G",
        "annotations": {"aijob.cce.baidubce.com/bccl.tracehang.enabled": "true"},
        "env": {
            "TRAIN_DATA_PATH": "/mnt/data",
            "MODEL_PATH": "/mnt/model",
            "OUTPUT_PATH": "/mnt/output",
            "NCCL_DEBUG": "INFO",
            "NCCL_IB_DISABLE": "0",
            "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        },
    }


def expected_replicas(made: Plan, role: str, offset: int, further: list[dict[str, str]]) -> dict[str, Any]:
    port = made.rendezvous.own_port
    kept = {"MASTER_ADDR": f"{made.job}-master-0", "MASTER_PORT": str(port), "WORLD_SIZE": "4"}
    plan_env = {
        "NUM_PROCESSES": "32", "NPROC_PER_NODE": "8", "TRAINFORM_RANK_OFFSET": str(offset),
        "TRAINFORM_WAIT_SECONDS": "600",
        "TRAIN_DATA_PATH": "/mnt/data", "MODEL_PATH": "/mnt/model", "OUTPUT_PATH": "/mnt/output", "NCCL_DEBUG": "INFO",
        "NCCL_IB_DISABLE": "0", "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    }  # fmt: skip
    index = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}}
    resources = {"baidu.com/a800_80g_cgpu": "8", "rdma/hca": "1"}
    container = {
        "name": "pytorch",
        "image": "registry.example.com/ai/pytorch-training:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "env",
            *(f"{name}=$(TRAINFORM_KEPT_{name})" for name in kept),
            "/bin/sh",
            "/etc/trainform/launch.sh",
        ],
        "args": ["/bin/bash", "-c", "/app/scripts/multi_train_run.sh"],
        "env": [
            *({"name": f"TRAINFORM_KEPT_{name}", "value": value} for name, value in kept.items()),
            *({"name": name, "value": value} for name, value in plan_env.items()),
            *further,
            {"name": "TRAINFORM_REPLICA_INDEX", "valueFrom": index},
        ],
        "ports": [{"name": "pytorchjob-port", "containerPort": port, "hostPort": port, "protocol": "TCP"}],
        "resources": {"requests": resources, "limits": resources},
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "volumeMounts": [
            {"name": "models", "mountPath": "/mnt/"},
            {"name": ("shared-memory"), "mountPath": "/dev/shm"},  # noqa: S108 - POSIX shared memory, not a temporary file
            {"name": "launch", "mountPath": "/etc/trainform", "readOnly": True},
        ],
    }
    labels = {
        "app.kubernetes.io/managed-by": "trainform",
        "app.kubernetes.io/name": "pytorch-multinode-job",
        "app.kubernetes.io/component": role,
        "trainform.dev/revision": made.revision,
    }
    return {
        "replicas": {"master": 1, "worker": 3}[role],
        "restartPolicy": "Never",
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "schedulerName": "volcano",
                "hostNetwork": True,
                "dnsPolicy": "ClusterFirstWithHostNet",
                "containers": [container],
                "volumes": [
                    {"name": "models", "persistentVolumeClaim": {"claimName": "cloud-ai-test-pvc-1"}},
                    {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "20G"}},
                    {"name": "launch", "configMap": {"name": f"{made.job}-launch", "defaultMode": 0o555}},
                ],
            },
        },
    }


def test_the_reference() -> None:
    """Case 3 of the published ones: the original's values, with the plan's launch script around its command."""
    made = plan(cluster=environment(claims={"cloud-ai-test-pvc-1": {"size": "1Ti"}}), **case_3())
    opened = {"name": "TRAINFORM_RENDEZVOUS_PORT", "value": str(made.rendezvous.own_port)}
    assert job(made) == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": made.job,
            "namespace": "ai-namespace",
            "labels": {
                "app.kubernetes.io/managed-by": "trainform",
                "app.kubernetes.io/name": "pytorch-multinode-job",
                "trainform.dev/environment": "dev",
                "trainform.dev/revision": made.revision,
            },
            "annotations": {
                "aijob.cce.baidubce.com/bccl.tracehang.enabled": "true",
                QUEUE: "default",
                "pulumi.com/patchFieldManager": "trainform",
            },
        },
        "spec": {
            "nprocPerNode": "8",
            "runPolicy": {
                "cleanPodPolicy": "Running",
                "schedulingPolicy": {"minAvailable": 4, "queue": "default"},
            },
            "pytorchReplicaSpecs": {
                "Master": expected_replicas(made, "master", 0, [{"name": "MASTER", "value": "1"}, opened]),
                "Worker": expected_replicas(made, "worker", 1, []),
            },
        },
    }


@pytest.mark.parametrize(
    ("roles", "types"),
    [
        (POOL, {"Master": 1, "Worker": 3}),
        ({"head": {}, "body": {"replicas": 2}}, {"Master": 1, "Worker": 2}),
        ({"worker": {}}, {"Master": 1}),
        ({"master": {"replicas": 4}}, {"Worker": 4}),
    ],
)
@pytest.mark.parametrize(
    "launcher",
    [TORCHRUN, {"accelerate": {"script": "/app/train.py"}}, {"command": ["python"]}],
    ids=lambda each: next(iter(each)),
)
def test_masters_and_workers(roles: dict[str, Any], types: dict[str, int], launcher: dict[str, Any]) -> None:
    accelerated = {name: {**role, "accelerators": {"a800": 8}} for name, role in roles.items()}
    found = spec(roles=accelerated, launcher=launcher)["pytorchReplicaSpecs"]
    assert {name: replicas["replicas"] for name, replicas in found.items()} == types


def test_the_pod_that_launches_is_master() -> None:
    """Its end is the job's."""
    apart = {"deepspeed": {"script": "/code/train.py", "role": "head"}}
    found = spec(launcher=apart, roles={"node": {"replicas": 2}, "head": {"ranked": False}})["pytorchReplicaSpecs"]
    assert {name: replicas["replicas"] for name, replicas in found.items()} == {"Worker": 2, "Master": 1}


def test_processes_per_node() -> None:
    def number(**parts: Any) -> Any:
        return spec(**parts).get("nprocPerNode")

    assert number(roles=POOL) == "1"
    assert number(launcher={"torchrun": {"script": "a.py", "processes_per_node": 3}}) == "3"
    assert number(env={"NPROC_PER_NODE": "5"}) == "5", "the user's"
    for unknown in ("auto", "", "²", {"field": "status.podIP"}):
        assert number(env={"NPROC_PER_NODE": unknown}) is None, "the operator takes `auto`"
    mixed = {"master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 2, "accelerators": {"a800": 4}}}
    assert number(roles=mixed) is None


def test_elastic_jobs() -> None:
    found = spec(**ELASTIC)
    assert found["elasticPolicy"] == {"minReplicas": 2, "maxReplicas": 8, "rdzvBackend": "c10d", "maxRestarts": 3}
    assert found["pytorchReplicaSpecs"].keys() == {"Worker"}
    assert found["runPolicy"]["schedulingPolicy"]["minAvailable"] == 2
    assert found["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] == "OnFailure"
    alone = {**ELASTIC, "launcher": {"torchrun": {"script": "a.py", "elastic": {"min_nodes": 1, "max_nodes": 2}}}}
    assert spec(**{**alone, "roles": {"worker": {}}})["pytorchReplicaSpecs"].keys() == {"Worker"}, "no Master"


def test_tensorflow() -> None:
    found = spec(**TENSORFLOW)
    assert found["successPolicy"] == "AllWorkers"
    specs = found["tfReplicaSpecs"]
    assert {name: replicas["replicas"] for name, replicas in specs.items()} == {
        "Chief": 1, "PS": 2, "Worker": 3, "Evaluator": 1,
    }  # fmt: skip
    assert {main(replicas)["name"] for replicas in specs.values()} == {"tensorflow"}
    assert main(specs["PS"])["ports"] == [{"name": "tfjob-port", "containerPort": 2222, "protocol": "TCP"}]
    for replicas in specs.values():
        assert main(replicas)["command"] == ["env", "-u", "TF_CONFIG", "/bin/sh", "/etc/trainform/launch.sh"]
    alone = spec(**{**TENSORFLOW, "roles": {"worker": {}}})["tfReplicaSpecs"]["Worker"]
    assert main(alone)["command"] == ["/bin/sh", "/etc/trainform/launch.sh"], "the operator gives none either"


def test_the_users_tf_config_wins() -> None:
    found = main(spec(**TENSORFLOW, env={"TF_CONFIG": "{}"})["tfReplicaSpecs"]["PS"])
    assert found["command"][:2] == ["env", "TF_CONFIG=$(TRAINFORM_KEPT_TF_CONFIG)"]
    assert {"name": "TRAINFORM_KEPT_TF_CONFIG", "value": "{}"} in found["env"]


def test_on_the_host_network_every_pod_declares_the_port() -> None:
    """Else the operator declares 23456 or 2222, the same one in every job of a node."""
    made = on_it(roles=POOL, network={"host": True})
    expected = {"containerPort": made.rendezvous.own_port, "hostPort": made.rendezvous.own_port, "protocol": "TCP"}
    for replicas in job(made)["spec"]["pytorchReplicaSpecs"].values():
        assert main(replicas)["ports"] == [{"name": "pytorchjob-port", **expected}]
    tensorflow = spec(**TENSORFLOW, network={"host": True})["tfReplicaSpecs"]
    assert all(main(replicas)["ports"][0]["hostPort"] != 2222 for replicas in tensorflow.values())
    assert "ports" not in main(spec(roles=POOL)["pytorchReplicaSpecs"]["Worker"]), "a pod of its own has all ports"


def test_mpi_without_ssh() -> None:
    made = on_it(**MPI)
    found = job(made)["spec"]
    assert (found["slotsPerWorker"], found["mainContainer"]) == (8, "mpi")
    assert (made.ssh, made.hosts) == (None, ())
    assert {manifest.key for manifest in job_manifests(made)} == {"launch-script", "job", "deployed"}
    assert made.files.keys() == {"launch.sh", "serve.sh"}
    assert "ssh" not in made.files["serve.sh"]
    assert "wait" not in made.files["launch.sh"]
    launcher = {entry["name"]: entry.get("value") for entry in main(found["mpiReplicaSpecs"]["Launcher"])["env"]}
    assert launcher["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert launcher["PRTE_MCA_plm_ssh_agent"] == "/etc/mpi/kubexec.sh"
    assert launcher["OMPI_MCA_plm_rsh_no_tree_spawn"] == launcher["PRTE_MCA_plm_ssh_no_tree_spawn"] == "1"
    assert not {"MASTER_ADDR", "MASTER_PORT", "OMPI_MCA_orte_default_hostfile"} & launcher.keys()
    assert [note for note in made.notes if note.startswith("launcher.mpi")]
    assert [pod.name for pod in made.pods()] == [f"{made.job}-launcher", f"{made.job}-worker-0", f"{made.job}-worker-1"]


def test_a_step_in_the_master_alone() -> None:
    step = {"name": "data", "command": ["fetch"]}
    expected = "prepare[0]: workers of a PyTorchJob wait 200 s at most for the name of the Master"
    noted = [
        note for note in on_it(roles=POOL, prepare=[{**step, "roles": ["master"]}]).notes if note.startswith(expected)
    ]
    assert len(noted) == 1
    assert not [note for note in on_it(roles=POOL, prepare=[step]).notes if note.startswith(expected)]


def test_restarts() -> None:
    def policies(**parts: Any) -> tuple[dict[str, str], Any]:
        found = spec(roles=POOL, **parts)
        restarts = {name: each["restartPolicy"] for name, each in found["pytorchReplicaSpecs"].items()}
        return restarts, found["runPolicy"].get("backoffLimit")

    assert policies() == ({"Master": "Never", "Worker": "Never"}, None)
    assert policies(restart="on-failure") == ({"Master": "OnFailure", "Worker": "OnFailure"}, 3)
    assert policies(restart="5 times")[1] == 6, "the number at which the operator gives up"
    one = {"master": {}, "worker": {"replicas": 3, "restart": "2 times"}}
    found = spec(roles=one)
    assert found["pytorchReplicaSpecs"]["Master"]["restartPolicy"] == "Never"
    assert found["runPolicy"]["backoffLimit"] == 3
    for replicas in found["pytorchReplicaSpecs"].values():
        assert "restartPolicy" not in replicas["template"]["spec"], "the operator would warn and overwrite it"


def test_the_operators_own_restart_policy() -> None:
    roles = {**POOL, "worker": {"replicas": 3, "pod_overrides": {"spec": {"restartPolicy": "ExitCode"}}}}
    found = spec(roles=roles)["pytorchReplicaSpecs"]
    assert (found["Master"]["restartPolicy"], found["Worker"]["restartPolicy"]) == ("Never", "ExitCode")


def test_custom_resource_definitions() -> None:
    assert BACKENDS["kubeflow"].crds(on_it(roles=POOL)) == (
        "pytorchjobs.kubeflow.org",
        "podgroups.scheduling.volcano.sh",
    )
    assert BACKENDS["kubeflow"].crds(on_it(**TENSORFLOW))[0] == "tfjobs.kubeflow.org"
    assert BACKENDS["kubeflow"].crds(on_it(**MPI))[0] == "mpijobs.kubeflow.org"


def test_a_priority_class() -> None:
    cluster = environment(priority_classes={"urgent": {"value": 1000}})
    body = job(plan(cluster=cluster, **BACKEND, roles=POOL, priority_class="urgent"))
    assert body["spec"]["runPolicy"]["schedulingPolicy"]["priorityClass"] == "urgent"
    assert body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["priorityClassName"] == "urgent"


def test_ssh_takes_a_pods_name_as_it_is() -> None:
    """The operator's Service has the pod's name; ours, which would follow it, is not there."""
    made = on_it(launcher={"deepspeed": {"script": "a.py"}}, roles=POOL)
    manifests = {manifest.key: manifest.body for manifest in job_manifests(made)}
    assert "service" not in manifests
    assert "Host sdxl-lora-* !*.* !sdxl-lora-*\n" in manifests["ssh"]["stringData"]["config"]
    assert [host.address for host in made.hosts][:2] == [f"{made.job}-master-0", f"{made.job}-worker-0"]
    assert "subdomain" not in job(made)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]


def test_services_of_our_own() -> None:
    """They select by the operator's index."""
    made = on_it(roles=POOL, network={"host": True, "addresses": "service"})
    services = [manifest.body for manifest in job_manifests(made) if manifest.body["kind"] == "Service"]
    (first,) = services
    assert first["spec"]["selector"]["training.kubeflow.org/replica-index"] == "0"
    assert made.rendezvous.address == "sdxl-lora-master-0"


def test_references_to_what_the_operator_overwrites() -> None:
    """`$(WORLD_SIZE)` in the user's words would else be the operator's number of processes."""
    words = ["a", "--nodes=$(WORLD_SIZE)", "$(RANK)", "$$(WORLD_SIZE)", "$(HOME)/$(MASTER_ADDR):$(MASTER_PORT)"]
    init = [{"name": "fetch", "command": ["b", "$(WORLD_SIZE)"], "env": {"SIZE": "$(WORLD_SIZE)"}}]
    roles = {"master": {"init": init, "env": {"NODES": "$(WORLD_SIZE)", "OWN": "$(NODES)"}}, "worker": {"replicas": 3}}
    made = spec(launcher={"command": words}, roles=roles)["pytorchReplicaSpecs"]["Master"]
    kept = "TRAINFORM_KEPT_"
    assert main(made)["args"] == [
        "a", f"--nodes=$({kept}WORLD_SIZE)", "$(RANK)", "$$(WORLD_SIZE)",
        f"$(HOME)/$({kept}MASTER_ADDR):$({kept}MASTER_PORT)",
    ]  # fmt: skip
    assert {"name": "NODES", "value": f"$({kept}WORLD_SIZE)"} in main(made)["env"]
    assert {"name": "OWN", "value": "$(NODES)"} in main(made)["env"]
    (first,) = made["template"]["spec"]["initContainers"]
    assert first["command"][-2:] == ["b", f"$({kept}WORLD_SIZE)"]
    assert {"name": "SIZE", "value": f"$({kept}WORLD_SIZE)"} in first["env"]


def test_a_container_without_ports_has_none() -> None:
    """An empty list would show as a change: the server leaves it out."""
    assert "ports" not in main(spec(**MPI)["mpiReplicaSpecs"]["Launcher"])
