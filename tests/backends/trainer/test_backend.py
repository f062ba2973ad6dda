"""Kubeflow Trainer: a TrainingRuntime with all that the pods are, and a TrainJob that counts nodes and processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, environment, plan, reasons
from trainform.backends.table import BACKENDS
from trainform.job.objects import job_manifests
from trainform.plan import Plan

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
KUEUE = environment(admission="kueue", queues={})
MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["./train"], "role": "launcher"}}}
APART: dict[str, Any] = {
    **MPI,
    "roles": {
        "launcher": {"ranked": False, "cpu": 2},
        "worker": {"replicas": 3, "accelerators": {"a800": 8}},
    },
}
AS_NODE: dict[str, Any] = {
    **MPI,
    "roles": {
        "launcher": {"accelerators": {"a800": 8}},
        "worker": {"replicas": 3, "accelerators": {"a800": 8}},
    },
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


def test_the_job_and_its_runtime_carry_the_revision() -> None:
    planned = made()
    train_job, of_job = body(planned, "job"), body(planned, "runtime")
    assert train_job["metadata"]["name"] == of_job["metadata"]["name"] == planned.job
    assert train_job["spec"] == {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": planned.job},
        "trainer": {"numNodes": 2, "numProcPerNode": 1},
    }
    assert [manifest.key for manifest in job_manifests(planned)][-3:-1] == ["runtime", "job"], "the webhook asks for it"


def test_one_ranked_role_is_node_under_the_torch_policy() -> None:
    planned = made(roles={"worker": {"replicas": 4, "accelerators": {"a800": 8}}})
    assert runtime(planned)["mlPolicy"] == {"numNodes": 4, "torch": {}}
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": 4, "numProcPerNode": 8}
    assert jobs(planned)["node"]["metadata"]["labels"] == {ANCESTOR: "trainer"}
    assert container(planned, "node")["name"] == "node"
    assert [pod.name for pod in planned.pods()] == [f"{planned.job}-node-0-{index}" for index in range(4)]


def test_the_process_sees_the_plans_rendezvous() -> None:
    """Trainer writes an address under the job's name, and port 29500, whatever the runtime says."""
    planned = made(network={"port": 4000}, env={"PET_MASTER_ADDR": "mine"})
    assert container(planned, "node")["command"] == [
        "env", "PET_MASTER_ADDR=$(MASTER_ADDR)", "PET_MASTER_PORT=$(MASTER_PORT)",
        "env", "PET_MASTER_ADDR=$(TRAINFORM_KEPT_PET_MASTER_ADDR)",
        "/bin/sh", "/etc/trainform/launch.sh",
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


def test_further_roles_have_replicated_jobs_of_their_own() -> None:
    planned = made(roles=WITH_EXTRAS)
    found = jobs(planned)
    assert {name: template["spec"]["parallelism"] for name, template in found.items()} == {
        "node": 1, "worker": 3, "evaluation-watcher": 4,
    }  # fmt: skip
    assert [name for name, template in found.items() if "metadata" in template] == ["node"]
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": 1}
    assert [pod.rank for pod in planned.pods()] == [0, 1, 2, 3, *[None] * 4]
    assert "command" in container(planned, "worker")
    assert container(planned, "worker")["command"][0] == "/bin/sh", "no variables of Trainer's are there to overrule"


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


def test_the_launcher_of_mpi_apart() -> None:
    planned = made(**APART)
    assert runtime(planned)["mlPolicy"] == {
        "numNodes": 1,  # of the launcher, which has the label
        "mpi": {
            "numProcPerNode": 8,
            "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": "/etc/mpi-ssh",
            "runLauncherAsNode": False,
        },
    }
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": 3, "numProcPerNode": 8}
    assert {name: template["spec"]["parallelism"] for name, template in jobs(planned).items()} == {
        "launcher": 1,
        "node": 3,
    }
    assert [name for name, template in jobs(planned).items() if "metadata" in template] == ["launcher"]


@pytest.mark.parametrize(("workers", "nodes"), [(0, 1), (1, 2), (3, 4)])
def test_a_launcher_that_computes_is_one_of_the_nodes(workers: int, nodes: int) -> None:
    roles = {"launcher": AS_NODE["roles"]["launcher"]}
    roles |= {"worker": {"replicas": workers, "accelerators": {"a800": 8}}} if workers else {}
    planned = made(**MPI, roles=roles)
    assert runtime(planned)["mlPolicy"]["mpi"]["runLauncherAsNode"] is True
    assert body(planned, "job")["spec"]["trainer"] == {"numNodes": nodes, "numProcPerNode": 8}
    assert sum(template["spec"]["parallelism"] for template in jobs(planned).values()) == nodes


def test_the_plans_hostfile_and_identity_win_over_trainers() -> None:
    planned = made(**APART)
    main = container(planned, "launcher")
    assert main["command"][:2] == [
        "env",
        "OMPI_MCA_orte_default_hostfile=$(TRAINFORM_KEPT_OMPI_MCA_orte_default_hostfile)",
    ]
    env = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert env["TRAINFORM_KEPT_OMPI_MCA_orte_default_hostfile"] == "/etc/trainform/hostfile"
    assert env["PRTE_MCA_prte_default_hostfile"] == "/etc/trainform/hostfile", "Trainer sets none for Open MPI 5"
    mounts = {mount["mountPath"]: mount["name"] for mount in main["volumeMounts"]}
    assert mounts["/root/.ssh"] == "ssh"
    assert "/etc/mpi-ssh" not in mounts


def test_no_job_waits_for_another_by_the_controller() -> None:
    """The gang is all pods, also those that would not be made yet."""
    assert all("dependsOn" not in job for job in runtime(made(**APART))["template"]["spec"]["replicatedJobs"])


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


@pytest.mark.parametrize(
    ("key", "patch", "reason"),
    [
        ("job", {"spec": {"trainer": {"numNodes": 5}}}, "the patch makes the value 5, and the plan has 4"),
        ("job", {"spec": {"trainer": {"numProcPerNode": None}}}, "the patch makes the value empty, and the plan has 8"),
        (
            "job",
            {"spec": {"runtimeRef": {"kind": "ClusterTrainingRuntime"}}},
            "the patch makes the value ClusterTrainingRuntime",
        ),
        (
            "runtime",
            {"spec": {"template": {"spec": {"replicatedJobs": {"node": None}}}}},
            "the patch removes a part that the plan owns",
        ),
        (
            "runtime",
            {"spec": {"template": {"spec": {"replicatedJobs": {"launcher": None}}}}},
            "the patch removes a part that the plan owns",
        ),
        (
            "runtime",
            {"spec": {"template": {"spec": {"replicatedJobs": {"node": {"template": {"spec": {"parallelism": 7}}}}}}}},
            "the patch makes the value 7, and the plan has 3",
        ),
        ("runtime", {"spec": {"mlPolicy": {"numNodes": 4}}}, "the patch makes the value 4, and the plan has 1"),
    ],
)
def test_patches_are_held_to_the_plan(key: str, patch: dict[str, Any], reason: str) -> None:
    found = problems_on(**AS_NODE, manifest_overrides={key: patch})
    assert any(reason in text for text in found.values()), found
    assert all(path.startswith(f"manifest_overrides.{key}.spec.") for path in found)


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


def test_limits_see_the_pods() -> None:
    templates = BACKENDS["trainer"].templates(planned := made(**APART), job_manifests(planned))
    assert [(template.role, template.replicas) for template in templates] == [("launcher", 1), ("worker", 3)]


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
