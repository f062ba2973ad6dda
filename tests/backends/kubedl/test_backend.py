"""The jobs of KubeDL as it takes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.replica_jobs import main
from tests.support.samples import job, plan, reasons
from trainform.plan.model import Plan

BACKEND: dict[str, Any] = {"backend": "kubedl"}
POOL: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "train.py"]}},
    "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}},
}
HOST: dict[str, Any] = {"network": {"host": True}}


def on_it(**parts: Any) -> Plan:
    return plan(**{**BACKEND, **parts})


def spec(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = job(on_it(**parts))["spec"]
    return found


def problems_on(**parts: Any) -> dict[str, str]:
    return reasons(**{**BACKEND, **parts})


def env(replicas: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in main(replicas)["env"]}


def test_ports_are_drawn_by_the_operator() -> None:
    """The plan does not set the operator's variables, since the plan's values would win."""
    made = on_it(roles=POOL, **HOST)
    for replicas in job(made)["spec"]["pytorchReplicaSpecs"].values():
        assert not [name for name in env(replicas) if name.endswith(("MASTER_ADDR", "MASTER_PORT", "_RENDEZVOUS_PORT"))]
        assert [port for port in main(replicas).get("ports", []) if "hostPort" in port] == []
        assert main(replicas)["command"][:2] == ["env", "WORLD_SIZE=$(TRAINFORM_KEPT_WORLD_SIZE)"]
    assert (made.rendezvous.address, made.rendezvous.port) == (f"{made.job}-master-0", 29500), "what peers call"
    assert any(note.startswith("network.host: ") and "draws a host port" in note for note in made.notes)
    assert not any("needs its own node" in note for note in on_it(**TENSORFLOW, **HOST).notes)


def test_tf_config_on_the_host_network_is_the_operators() -> None:
    for network, rendered in (({}, True), ({"host": True}, False), ({"host": True, "ports": "per-replica"}, False)):
        made = on_it(**TENSORFLOW, network=network)
        assert ("tf_config.json" in made.files) is rendered
        assert ("TF_CONFIG" in made.files["launch.sh"]) is rendered
        words = main(job(made)["spec"]["tfReplicaSpecs"]["PS"])["command"]
        assert words[: len(words) - 4] == (["env", "-u", "TF_CONFIG"] if rendered else [])
    planned = on_it(**TENSORFLOW, env={"TF_CONFIG": "{}"})
    assert main(job(planned)["spec"]["tfReplicaSpecs"]["PS"])["command"][:2] == [
        "env",
        "TF_CONFIG=$(TRAINFORM_KEPT_TF_CONFIG)",
    ], "the user's wins"


def test_the_port_of_the_services() -> None:
    """Any number, since no pod opens it on a node."""
    made = on_it(roles=POOL, network={"host": True, "port": 2345})
    assert made.rendezvous.port == 2345
    assert main(job(made)["spec"]["pytorchReplicaSpecs"]["Master"])["ports"][0]["containerPort"] == 2345


def test_when_a_tensorflow_job_is_complete() -> None:
    assert spec(**TENSORFLOW)["successPolicy"] == "AllWorkers"
    with_chief = {**TENSORFLOW, "roles": {"chief": {}, "worker": {"replicas": 2}}}
    assert "successPolicy" not in spec(**with_chief), "with it KubeDL would wait for the workers too"


def test_a_pytorch_job_needs_a_master() -> None:
    found = problems_on(roles={"worker": {"replicas": 3}})
    assert list(found) == ["roles.worker.replicas"]
    assert found["roles.worker.replicas"].endswith("which must have 1 replica")
    assert problems_on(roles={"worker": {}}) == {}
    assert problems_on(**TENSORFLOW) == {}


def test_an_evaluator_is_never_made() -> None:
    roles = {**TENSORFLOW["roles"], "evaluator": {}}
    assert problems_on(**{**TENSORFLOW, "roles": roles}) == {
        "roles.evaluator": "the role is an evaluator, for which KubeDL never makes pods"
    }


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"launcher": {"deepspeed": {"script": "a.py"}}}, "launcher.deepspeed"),
        ({"launcher": {"mpi": {"command": ["a"]}}}, "launcher.mpi"),
        (
            {
                "launcher": {"torchrun": {"script": "a.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}},
                "roles": {"worker": {"replicas": 2}},
            },
            "launcher.torchrun.elastic",
        ),
        ({"ssh": {}}, "ssh"),
        ({"network": {"addresses": "service"}}, "network.addresses"),
        ({"network": {"topology": {"highest_tier": 1}}}, "network.topology"),
        ({"policies": []}, "policies"),
        ({"roles": {**POOL, "worker": {"policies": []}}}, "roles.worker.policies"),
        ({"roles": {**POOL, "worker": {"replicas": 3, "min_available": 1}}}, "roles.worker.min_available"),
        ({"roles": {**POOL, "extra": {"ranked": False, "command": ["a"]}}}, "roles.extra.ranked"),
        ({"roles": {**POOL, "worker": {"labels": {"replica-index": "7"}}}}, "roles.worker.labels.replica-index"),
        ({"annotations": {"kubedl.io/network-mode": "host"}}, "annotations.kubedl.io/network-mode"),
        ({"restart": "all-when-evicted"}, "restart"),
    ],
)
def test_unsupported_fields(parts: dict[str, Any], path: str) -> None:
    assert list(problems_on(**{"roles": POOL, **parts})) == [path]


@pytest.mark.parametrize("key", ["kubedl.io/enable-elastic-training", "pai.ai/enable-error-monitoring"])
def test_annotations_with_which_kubedl_makes_other_pods_are_refused(key: str) -> None:
    """The first makes `restartPolicy: OnFailure` of every pod, and both give pods a finalizer."""
    asked: dict[str, Any] = {"backend": "kubedl", "roles": {"master": {"replicas": 1}, "worker": {"replicas": 1}}}
    patch = {"job": {"metadata": {"annotations": {key: "true"}}}}
    assert [*reasons(**asked, manifest_overrides=patch)] == [f"manifest_overrides.job.metadata.annotations.{key}"]
    assert [*reasons(**asked, annotations={key: "true"})] == [f"annotations.{key}"]


ENDLESS = "restart: KubeDL never ends a PyTorchJob with workers for its container restarts"


@pytest.mark.parametrize(
    ("parts", "noted"),
    [
        ({"restart": "2 times"}, True),
        ({"restart": "on-failure"}, True),
        ({}, False),
        ({"restart": "2 times", "roles": {"master": {"replicas": 1}}}, False),
        (
            {
                "restart": "2 times",
                "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
                "roles": {"worker": {"replicas": 2}},
            },
            False,
        ),
    ],
)
def test_restarts_that_never_end_a_job_are_noted(parts: dict[str, Any], noted: bool) -> None:
    made = plan(**{"backend": "kubedl", "roles": POOL, **parts})
    assert any(note.startswith(ENDLESS) for note in made.notes) is noted
