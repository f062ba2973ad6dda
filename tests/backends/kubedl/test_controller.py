"""The pods that KubeDL makes of its jobs. `tests/engine` holds them against the real ones."""

from __future__ import annotations

import json
from typing import Any

from tests.backends.kubedl.test_backend import HOST, POOL, TENSORFLOW, on_it
from tests.support.replica_jobs import pod_env
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests


def made(**parts: Any) -> list[dict[str, Any]]:
    plan = on_it(**parts)
    return BACKENDS["kubedl"].pods(plan, job_manifests(plan))[0]


def ports(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pod["spec"]["containers"][0].get("ports", [])
    return found


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
