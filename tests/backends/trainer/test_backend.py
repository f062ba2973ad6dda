"""Kubeflow Trainer: a TrainingRuntime with all that the pods are, and a TrainJob that counts nodes and processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, environment, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

KUEUE = environment(admission="kueue", queues={})
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["./train"], "role": "launcher"}}}
APART: dict[str, Any] = {
    **MPI,
    "roles": {"launcher": {"ranked": False, "cpu": 2}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}},
}
AS_NODE: dict[str, Any] = {
    **MPI,
    "roles": {"launcher": {"accelerators": {"a800": 8}}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}},
}
HOST = {"host": True}


def made(**parts: Any) -> Plan:
    return plan(backend="trainer", **parts)


def body(planned: Plan, key: str) -> dict[str, Any]:
    return next(manifest.body for manifest in job_manifests(planned) if manifest.key == key)


def runtime(planned: Plan) -> dict[str, Any]:
    found: dict[str, Any] = body(planned, "runtime")["spec"]
    return found


def jobs(planned: Plan) -> dict[str, dict[str, Any]]:
    """Templates of the replicated jobs, by name."""
    return {job["name"]: job["template"] for job in runtime(planned)["template"]["spec"]["replicatedJobs"]}


def container(planned: Plan, group: str) -> dict[str, Any]:
    found: dict[str, Any] = jobs(planned)[group]["spec"]["template"]["spec"]["containers"][0]
    return found


def problems_on(**parts: Any) -> dict[str, str]:
    return reasons(backend="trainer", **parts)


def test_the_process_sees_the_plans_rendezvous() -> None:
    """Trainer writes an address under the job's name, and port 29500, whatever the runtime says."""
    planned = made(network={"port": 4000}, env={"PET_MASTER_ADDR": "mine"})
    assert container(planned, "node")["command"] == [
        "env", "PET_MASTER_ADDR=$(MASTER_ADDR)", "PET_MASTER_PORT=$(MASTER_PORT)",
        "env", "PET_MASTER_ADDR=$(TRAINFORM_KEPT_PET_MASTER_ADDR)",
        "/bin/sh", "/etc/trainform/run.sh", "/bin/sh", "/etc/trainform/launch.sh",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "policy"),
    [
        ({"launcher": {"torchrun": {"script": "train.py"}}}, {"torch": {}}),
        (
            {"launcher": {"accelerate": {"script": "train.py"}}, "roles": {"worker": {"accelerators": {"a800": 8}}}},
            {"torch": {}},
        ),
        ({"roles": WITH_EXTRAS}, {}),
        ({"network": HOST}, {}),
        ({"launcher": {"deepspeed": {"script": "train.py"}}, "roles": {"worker": {}}}, {}),
        ({"launcher": {"tensorflow": {"command": ["python"]}}}, {}),
    ],
)
def test_the_torch_policy_is_used_only_if_it_agrees_with_the_plan(
    parts: dict[str, Any], policy: dict[str, Any]
) -> None:
    """With several ranked roles it would count one of them; on the host network it would take a port of its own."""
    found = dict(runtime(made(**parts))["mlPolicy"])
    assert found.pop("numNodes") >= 1
    assert found == policy


def test_replicas_with_templates_of_their_own() -> None:
    planned = made(network={**HOST, "ports": "per-replica"})
    assert [*jobs(planned)] == ["node-0", "node-1"]
    assert [name for name, template in jobs(planned).items() if "metadata" in template] == ["node-0"]
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": 1}


def test_a_paused_role_is_left_out() -> None:
    """Trainer would make one pod of it."""
    paused = {"watcher": {"replicas": 0, "ranked": False, "command": ["watch"]}}
    planned = made(roles={"worker": {"replicas": 2}, **paused}, restart="all-when-evicted")
    assert [*jobs(planned)] == ["node"]
    assert "rules" not in runtime(planned)["template"]["spec"]["failurePolicy"], "a rule may not name it either"


@pytest.mark.parametrize(("workers", "nodes"), [(0, 1), (1, 2), (3, 4)])
def test_a_launcher_that_computes_is_one_of_the_nodes(workers: int, nodes: int) -> None:
    roles = {"launcher": AS_NODE["roles"]["launcher"]}
    roles |= {"worker": {"replicas": workers, "accelerators": {"a800": 8}}} if workers else {}
    planned = made(**MPI, roles=roles)
    assert runtime(planned)["mlPolicy"]["mpi"]["runLauncherAsNode"] is True
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": nodes, "numProcPerNode": 8}
    assert sum(template["spec"]["parallelism"] for template in jobs(planned).values()) == nodes


def test_volcanos_gang_and_queue() -> None:
    topology = {"highest_tier": 2, "mode": "soft"}
    spec = runtime(made(queue="night", network={"topology": topology}))
    assert spec["podGroupPolicy"] == {"volcano": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}}
    assert spec["template"]["metadata"] == {"annotations": {"scheduling.volcano.sh/queue-name": "night"}}
    assert (
        spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["schedulerName"]
        == "volcano"
    )


def test_kueues_queue() -> None:
    planned = made(cluster=KUEUE)
    assert body(planned, "job")["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    spec = runtime(planned)
    assert "podGroupPolicy" not in spec
    assert "metadata" not in spec["template"]
    assert "schedulerName" not in spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


ELASTIC = {"launcher": {"torchrun": {"script": "train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}}
SECOND = {"head": {}, "worker": {"replicas": 2}}


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        (
            {"roles": {"worker": {"replicas": 2, "min_available": 1}}},
            "roles.worker.min_available",
            "gang always has all of them",
        ),
        (ELASTIC, "launcher.torchrun.elastic.min_nodes", "gang always has all of them"),
        ({"network": {"topology": {"highest_tier_name": "rack"}}}, "network.topology.highest_tier_name", "by number"),
        ({"policies": [{"event": "PodFailed", "action": "RestartJob"}]}, "policies", "Trainer has none"),
        (
            {"roles": {"master": {}, "node": {"replicas": 2}}},
            "roles.node",
            "Trainer gives this name to the pods of master",
        ),
        ({**MPI, "roles": {"launcher": {"ranked": False}, **SECOND}}, "roles.worker", "the role head is that already"),
        (
            {**MPI, "roles": {"launcher": {}, "worker": {"accelerators": {"a800": 8}}}},
            "roles",
            "one number for all nodes",
        ),
        (
            {**MPI, "roles": {"launcher": {}, "node": {"ranked": False, "command": ["x"]}}},
            "roles.node",
            "Trainer gives this name to pods with a rank",
        ),
        ({**APART, "network": {**HOST, "ports": "per-replica"}}, "network.ports", "share one"),
        ({"name": "a" * 45}, "roles.worker", "JobSet allows 57"),
        (
            {"manifest_overrides": {"runtime": {"spec": {"template": None}}}},
            "manifest_overrides.runtime.spec.template",
            "the patch removes a part that the plan owns",
        ),
    ],
)
def test_problems_of_the_backend(parts: dict[str, Any], path: str, reason: str) -> None:
    found = problems_on(**parts)
    assert reason in found[path]


def test_an_elastic_job_whose_gang_is_all_of_it() -> None:
    elastic = {"torchrun": {"script": "train.py", "elastic": {"min_nodes": 2, "max_nodes": 4}}}
    planned = made(launcher=elastic)
    assert planned.min_available == 2
    assert any("Trainer has a fixed number of pods" in note for note in planned.notes)


def test_a_patch_that_changes_none_of_that() -> None:
    patch = {
        "spec": {
            "template": {"spec": {"replicatedJobs": {"node": {"template": {"spec": {"activeDeadlineSeconds": 60}}}}}}
        }
    }
    planned = made(**AS_NODE, manifest_overrides={"runtime": patch, "job": {"spec": {"activeDeadlineSeconds": 90}}})
    assert jobs(planned)["node"]["spec"]["activeDeadlineSeconds"] == 60
    assert planned.revision != made(**AS_NODE).revision


def test_custom_resource_definitions() -> None:
    assert BACKENDS["trainer"].crds(made()) == (
        "trainjobs.trainer.kubeflow.org",
        "trainingruntimes.trainer.kubeflow.org",
        "jobsets.jobset.x-k8s.io",
        "podgroups.scheduling.volcano.sh",
    )
    assert BACKENDS["trainer"].crds(made(cluster=KUEUE))[-1] == "localqueues.kueue.x-k8s.io"


@pytest.mark.parametrize("launcher", [{"torchrun": {"script": "a.py"}}, {"mpi": {"command": ["a"], "role": "nobody"}}])
def test_a_job_without_pods_or_without_its_launching_role_is_reported(launcher: dict[str, Any]) -> None:
    found = reasons(backend="trainer", launcher=launcher, roles={"master": {"replicas": 0}})
    assert found["roles.master.replicas"] == "the ranked role must have at least one pod"
    assert ("launcher.mpi.role" in found) == ("mpi" in launcher)


def test_a_job_that_failed_would_begin_again_if_its_pods_were_deleted() -> None:
    reason = (
        "Trainer makes a failed job's JobSet again when it is deleted (kubeflow/trainer#3737), so that it would "
        "train for ever"
    )
    assert reasons(backend="trainer", ttl="12h") == {"ttl": reason}
