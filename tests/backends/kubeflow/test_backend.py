"""The jobs of training-operator v1 as it takes them."""

from __future__ import annotations

from typing import Any

from tests.support.replica_jobs import main
from tests.support.samples import environment, job, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

BACKEND: dict[str, Any] = {"backend": "kubeflow"}
POOL: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}


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


V1 = environment(mpi_job="v1")


def on_it(**parts: Any) -> Plan:
    return plan(**{"cluster": V1, **BACKEND, **parts})


def spec(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = job(on_it(**parts))["spec"]
    return found


def problems_on(**parts: Any) -> dict[str, str]:
    return reasons(**{"cluster": V1, **BACKEND, **parts})


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
