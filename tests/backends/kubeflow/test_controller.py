"""The pods that training-operator makes of its jobs. `tests/engine` holds them against the real ones."""

from __future__ import annotations

from typing import Any

from tests.backends.kubeflow.test_backend import MPI, NODE, POOL, TENSORFLOW, on_it
from tests.support.replica_jobs import pod_env
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests

PREFIX = "training.kubeflow.org"


def made(**parts: Any) -> list[dict[str, Any]]:
    plan = on_it(**parts)
    return BACKENDS["kubeflow"].pods(plan, job_manifests(plan))[0]


def test_the_world_of_a_pytorch_job() -> None:
    master, *workers = made(
        roles={**POOL, "master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 3, "accelerators": {"a800": 8}}}
    )
    assert pod_env(master)["WORLD_SIZE"] == "32", "nodes times processes, since nprocPerNode is a number"
    assert [pod_env(pod)["RANK"] for pod in (master, *workers)] == ["0", "1", "2", "3"]
    assert pod_env(workers[0])["MASTER_ADDR"] == master["metadata"]["name"]
    assert (pod_env(master)["MASTER_PORT"], pod_env(master)["PET_NNODES"], pod_env(master)["PET_NPROC_PER_NODE"]) == (
        "29500",
        "4",
        "8",
    )
    (waiting,) = workers[0]["spec"]["initContainers"]
    assert f"nslookup {master['metadata']['name']}" in waiting["command"][2]
    assert "initContainers" not in master["spec"]
    mixed = {"master": {"accelerators": {"a800": 8}}, "worker": {"replicas": 2, "accelerators": {"a800": 4}}}
    assert pod_env(made(roles=mixed)[0])["WORLD_SIZE"] == "3", "`auto` counts as one"


def test_roles_speak_for_the_job() -> None:
    def speaking(**parts: Any) -> list[str]:
        return [
            pod["metadata"]["name"][-8:] for pod in made(**parts) if f"{PREFIX}/job-role" in pod["metadata"]["labels"]
        ]

    assert speaking(roles=POOL) == ["master-0"]
    assert speaking(roles={"worker": {"replicas": 2}}) == ["worker-0"]
    assert speaking(**TENSORFLOW) == ["-chief-0"]
    assert speaking(**MPI) == ["launcher"]


def test_an_mpi_job() -> None:
    plan = on_it(**MPI)
    (launcher, worker, _), config_maps = BACKENDS["kubeflow"].pods(plan, job_manifests(plan))
    (files,) = config_maps.values()
    assert config_maps.keys() == {f"{plan.job}-config"}
    assert files["hostfile"] == f"{plan.job}-worker-0 slots=8\n{plan.job}-worker-1 slots=8\n"
    assert files["kubexec.sh"].endswith('kubectl exec ${POD_NAME} --container mpi -- /bin/sh -c "$*"')
    assert files["discover_hosts.sh"].splitlines()[1:] == [f"echo {plan.job}-worker-{index}:8" for index in (0, 1)]
    assert pod_env(launcher)["OMPI_MCA_plm_rsh_agent"] == "/etc/mpi/kubexec.sh"
    assert pod_env(launcher)["I_MPI_HYDRA_BOOTSTRAP"] == "rsh"
    assert "NVIDIA_VISIBLE_DEVICES" in pod_env(launcher)
    assert [init["name"] for init in launcher["spec"]["initContainers"]] == ["kubectl-delivery"]
    assert launcher["spec"]["serviceAccountName"] == f"{plan.job}-launcher"
    assert f"{PREFIX}/replica-index" not in launcher["metadata"]["labels"]
    for pod, count in ((launcher, 3), (worker, 1)):
        volume = next(each for each in pod["spec"]["volumes"] if each["name"] == "mpi-job-config")
        assert len(volume["configMap"]["items"]) == count
    assert "OMPI_MCA_plm_rsh_agent" not in pod_env(worker)


def test_the_users_bootstrap_of_intel_mpi_stays() -> None:
    launcher = made(**MPI, env={"I_MPI_HYDRA_BOOTSTRAP": "ssh"})[0]
    assert pod_env(launcher)["I_MPI_HYDRA_BOOTSTRAP"] == "ssh"
    assert [entry["name"] for entry in launcher["spec"]["containers"][0]["env"]].count("I_MPI_HYDRA_BOOTSTRAP") == 1


def test_a_launcher_that_computes_is_in_the_hostfile() -> None:
    plan = on_it(**NODE)
    (launcher, *_), config_maps = BACKENDS["kubeflow"].pods(plan, job_manifests(plan))
    (files,) = config_maps.values()
    assert files["hostfile"].splitlines()[0] == f"{plan.job}-launcher slots=8"
    assert files["discover_hosts.sh"].splitlines()[:4] == [
        "#!/bin/sh", f"echo {plan.job}-launcher:8", "", f"echo {plan.job}-worker-0:8",
    ]  # fmt: skip
    assert "NVIDIA_VISIBLE_DEVICES" not in pod_env(launcher)
    alone = on_it(launcher=NODE["launcher"], roles={"first": {"accelerators": {"a800": 8}}})
    (only,) = BACKENDS["kubeflow"].pods(alone, job_manifests(alone))[1].values()
    assert only["hostfile"] == f"{alone.job}-launcher slots=8\n"


def test_a_variable_stays_under_its_name_where_the_operator_does_not_set_it() -> None:
    """The container runtime reads it before any command, and what `kubectl exec` starts has the container's own."""
    name = "NVIDIA_DRIVER_CAPABILITIES"
    given = {"env": {name: "compute,utility,video"}}
    launcher, worker, _ = made(**MPI, **given)
    assert (pod_env(launcher)[name], pod_env(worker)[name]) == ("", "compute,utility,video")
    assert worker["spec"]["containers"][0]["command"][0] != "env"
    assert [pod_env(pod)[name] for pod in made(**NODE, **given)[:2]] == ["compute,utility,video"] * 2
