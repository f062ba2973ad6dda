"""The pods that Trainer's controller makes of a runtime and a TrainJob, by its rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.trainer.samples import MPI, MPI_APART, TORCH, with_jobs, with_spec
from tests.backends.trainer.test_backend import AS_NODE, made
from trainform.backends.backend import BACKENDS
from trainform.backends.trainer.controller import controller_objects
from trainform.job.render import job_manifests
from trainform.plan.model import Plan


def pods_of(planned: Plan) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]]]:
    found, config_maps = BACKENDS["trainer"].pods(planned, job_manifests(planned))
    return {pod["metadata"]["name"]: pod for pod in found}, config_maps


def train_job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "job", "namespace": "ns"}, "spec": spec}


def made_of(content: dict[str, Any], **spec: Any) -> dict[str, dict[str, Any]]:
    found, _ = controller_objects(content, train_job(**spec))
    return {pod["metadata"]["name"]: pod for pod in found}


def variables(pod: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in pod["spec"]["containers"][0]["env"]}


def test_a_port_of_the_plans_own_stays() -> None:
    found, _ = pods_of(planned := made(network={"port": 4000}))
    ports = found[f"{planned.job}-node-0-0"]["spec"]["containers"][0]["ports"]
    assert [port["containerPort"] for port in ports] == [4000, 29500]


def test_without_a_trainer_no_variables() -> None:
    """kubeflow/trainer#4076."""
    assert "PET_NNODES" not in variables(made_of(TORCH)["job-node-0-0"])
    assert variables(made_of(TORCH, trainer={})["job-node-0-0"])["PET_NPROC_PER_NODE"] == "auto"


def test_variables_and_files_of_the_mpi_policy() -> None:
    found, config_maps = pods_of(planned := made(**AS_NODE))
    name = planned.job
    launcher, node = found[f"{name}-launcher-0-0"], found[f"{name}-node-0-0"]
    of_trainer = {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_set_default_slots": "8",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    }
    assert {key: value for key, value in variables(launcher).items() if key.startswith("OMPI_MCA_")} == of_trainer
    assert not variables(node).keys() & of_trainer.keys()
    mounts = [
        {mount["name"]: mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        for pod in (launcher, node)
    ]
    assert [mount.get("mpi-ssh-auth") for mount in mounts] == ["/etc/mpi-ssh"] * 2
    assert [mount.get("mpi-hostfile") for mount in mounts] == ["/etc/mpi", None]
    volumes = {volume["name"]: volume for volume in launcher["spec"]["volumes"]}
    assert volumes["mpi-ssh-auth"]["secret"]["secretName"] == f"{name}-mpi-ssh-auth"
    assert [item["mode"] for item in volumes["mpi-ssh-auth"]["secret"]["items"]] == [0o640, 0o644, 0o644]
    assert config_maps == {f"{name}-mpi-hostfile": {"hostfile": planned.files["hostfile"]}}, "the same as ours"


@pytest.mark.parametrize(
    ("content", "nodes", "names"),
    [
        (TORCH, 3, ["node-0-0", "node-0-1", "node-0-2"]),
        (with_spec(TORCH, {"mlPolicy": None}), 2, ["node-0-0", "node-0-1"]),
        (MPI, 1, ["node-0-0", "launcher-0-0"]),
        (MPI, 2, ["node-0-0", "launcher-0-0"]),
        (MPI, 3, ["node-0-0", "node-0-1", "launcher-0-0"]),
        (MPI_APART, 2, ["node-0-0", "node-0-1", "launcher-0-0"]),
        (with_spec(MPI_APART, {"mlPolicy": {"numNodes": 2}}), 1, ["node-0-0", "launcher-0-0", "launcher-0-1"]),
        (
            with_jobs(MPI_APART, {"launcher": {"template": {"spec": {"parallelism": 0}}}}),
            1,
            ["node-0-0", "launcher-0-0"],
        ),
    ],
)
def test_counts(content: dict[str, Any], nodes: int, names: list[str]) -> None:
    assert [*made_of(content, trainer={"numNodes": nodes})] == [f"job-{name}" for name in names]


def test_fields_of_the_train_job_in_the_pods() -> None:
    trainer = {
        "numNodes": 2,
        "image": "mine",
        "command": ["run"],
        "args": ["it"],
        "env": [{"name": "A", "value": "1"}],
        "resourcesPerNode": {"limits": {"cpu": "2"}},
    }
    found = made_of(MPI, trainer=trainer)
    launcher, node = (found[f"job-{name}-0-0"]["spec"]["containers"][0] for name in ("launcher", "node"))
    assert (launcher["image"], launcher["command"], launcher["args"]) == ("mine", ["run"], ["it"])
    assert "command" not in node
    assert node["image"] != "mine", "kubeflow/trainer#4030"
    assert all(main["resources"] == {"limits": {"cpu": "2"}} for main in (launcher, node))
    assert all({"name": "A", "value": "1"} in main["env"] for main in (launcher, node))
    apart = made_of(MPI_APART, trainer=trainer)["job-node-0-0"]["spec"]["containers"][0]
    assert "resources" not in apart
    assert {"name": "A", "value": "1"} not in apart["env"]


def test_patches() -> None:
    pod = {
        "metadata": {"labels": {"team": "vision"}},
        "spec": {
            "nodeSelector": {"pool": "l40s"},
            "securityContext": {"runAsUser": 1000},
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [{"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/mnt"}],
                    "securityContext": {"privileged": False}}],
        },
    }  # fmt: skip
    jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
    patch = {
        "manager": "trainform.dev/trainform",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    found = made_of(TORCH, trainer={}, runtimePatches=[patch])["job-node-0-0"]
    assert found["metadata"]["labels"]["team"] == "vision"
    spec = found["spec"]
    assert (spec["nodeSelector"], spec["securityContext"]) == ({"pool": "l40s"}, {"runAsUser": 1000})
    assert spec["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/mnt"}]
    assert spec["containers"][0]["securityContext"] == {"privileged": False}
    assert spec["schedulerName"] == "volcano", "the runtime's own stays"
