"""The pods that KubeDL makes of its jobs. `tests/engine` holds them against the real ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.backends.kubedl.test_backend import HOST, POOL, TENSORFLOW, on_it
from tests.support.replica_jobs import pod_env
from tests.support.samples import job
from trainform.backends.backend import BACKENDS
from trainform.backends.kubedl.controller import controller_pods
from trainform.job.render import job_manifests

CASES: dict[str, dict[str, Any]] = {
    "pytorch": {"roles": POOL},
    "pytorch on the host network": {"roles": POOL, **HOST},
    "tensorflow": TENSORFLOW,
    "tensorflow on the host network": {**TENSORFLOW, **HOST},
    "tensorflow, one pod": {**TENSORFLOW, "roles": {"worker": {}}},
}


def made(**parts: Any) -> list[dict[str, Any]]:
    plan = on_it(**parts)
    return BACKENDS["kubedl"].pods(plan, job_manifests(plan))[0]


def ports(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pod["spec"]["containers"][0].get("ports", [])
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_plan_knows_the_appended_variables(case: str) -> None:
    plan = on_it(**CASES[case])
    body = job(plan)
    field = next(name for name in body["spec"] if name.endswith("ReplicaSpecs"))
    found = set()
    for pod in controller_pods(body):
        kind = pod["metadata"]["labels"]["replica-type"]
        template = next(spec for name, spec in body["spec"][field].items() if name.lower() == kind)["template"]
        before = len(template["spec"]["containers"][0]["env"])
        found |= {entry["name"] for entry in pod["spec"]["containers"][0]["env"][before:]}
    assert found == BACKENDS["kubedl"].conventions(plan).appended


def test_a_gang_for_each_role() -> None:
    found = made(**TENSORFLOW)
    groups = {pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in found}
    job_name = found[0]["metadata"]["labels"]["job-name"]
    assert groups == {f"{job_name}-ps", f"{job_name}-worker"}


def test_a_pytorch_job() -> None:
    master, worker, *_ = made(roles=POOL)
    assert (pod_env(master)["MASTER_ADDR"], pod_env(worker)["MASTER_ADDR"]) == ("localhost", master["metadata"]["name"])
    assert (pod_env(master)["RANK"], pod_env(worker)["RANK"], pod_env(worker)["WORLD_SIZE"]) == ("0", "1", "4")
    assert master["metadata"]["labels"]["job-role"] == "master"
    assert "job-role" not in worker["metadata"]["labels"]
    assert ports(worker) == [], "KubeDL takes a port of the Master for granted alone"
    assert ports(master)[0] == {"name": "pytorchjob-port", "containerPort": 29500, "protocol": "TCP"}


def test_a_pytorch_job_on_the_host_network() -> None:
    """The Master opens the drawn port, its workers call the Service's."""
    master, worker, *_ = made(roles=POOL, **HOST)
    drawn = ports(master)[0]["hostPort"]
    assert (pod_env(master)["MASTER_PORT"], pod_env(worker)["MASTER_PORT"]) == (str(drawn), "29500")
    assert ports(master)[0]["containerPort"] == drawn != 29500
    assert "hostPort" in ports(worker)[0]
    assert (worker["spec"]["hostNetwork"], worker["spec"]["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_tf_config() -> None:
    for parts in (TENSORFLOW, {**TENSORFLOW, **HOST}):
        found = made(**parts)
        config = json.loads(pod_env(found[3])["TF_CONFIG"])
        assert config["task"] == {"type": "worker", "index": 1}
        numbers = {kind: [int(host.rpartition(":")[2]) for host in hosts] for kind, hosts in config["cluster"].items()}
        own = ports(found[3])[0]["containerPort"]
        assert numbers == {"ps": [2222, 2222], "worker": [2222, own, 2222]}
        assert (own == 2222) is ("network" not in parts)
    assert "TF_CONFIG" not in pod_env(made(**{**TENSORFLOW, "roles": {"worker": {}}})[0])


def test_drawn_ports_differ() -> None:
    found = [port["hostPort"] for pod in made(**TENSORFLOW, **HOST) for port in ports(pod)]
    assert len(set(found)) == len(found) == 5


def test_messages_and_restarts() -> None:
    roles = {"master": {}, "worker": {"pod_overrides": {"spec": {"restartPolicy": "ExitCode"}}}}
    found = made(roles=roles, restart="on-failure")
    assert [pod["spec"]["restartPolicy"] for pod in found] == ["OnFailure", "Never"]
    assert {pod["spec"]["containers"][0]["terminationMessagePolicy"] for pod in found} == {"FallbackToLogsOnError"}
