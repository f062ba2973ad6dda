"""MPIJob v2beta1, which mpi-operator runs. `tests/engine` holds its pods against the real ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.backends.kubeflow.test_backend import BACKEND, MPI, NODE
from tests.support.replica_jobs import main, pod_env
from tests.support.samples import environment, job, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests

ONE: dict[str, Any] = {"launcher": NODE["launcher"], "roles": {"worker": {"replicas": 3, "accelerators": {"a800": 8}}}}


def spec(**parts: Any) -> dict[str, Any]:
    found: dict[str, Any] = job(plan(**BACKEND, **parts))["spec"]
    return found


def test_a_ranked_launcher_is_a_worker() -> None:
    body = job(plan(**BACKEND, **ONE))
    assert (body["apiVersion"], body["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    own = {name: body["spec"].get(name) for name in ("slotsPerWorker", "runLauncherAsWorker", "sshAuthMountPath")}
    assert own == {"slotsPerWorker": 8, "runLauncherAsWorker": True, "sshAuthMountPath": "/etc/mpi-ssh"}
    assert {name: each["replicas"] for name, each in body["spec"]["mpiReplicaSpecs"].items()} == {
        "Launcher": 1,
        "Worker": 2,
    }
    assert "runLauncherAsWorker" not in spec(**MPI)
    assert spec(launcher=NODE["launcher"], roles={"worker": {}})["mpiReplicaSpecs"].keys() == {"Launcher"}


def test_neither_the_gang_nor_the_end_leaves_pods_behind() -> None:
    """With the defaults the launcher waits for ready workers, is started six more times, and the workers run on."""
    found = spec(**MPI)
    assert found["launcherCreationPolicy"] == "AtStartup"
    policy = found["runPolicy"]
    assert (policy["cleanPodPolicy"], policy["backoffLimit"]) == ("Running", 0)
    assert policy["schedulingPolicy"] == {"minAvailable": 3, "queue": "default"}
    again = spec(**MPI, restart="3 times")
    assert again["runPolicy"]["backoffLimit"] == 4, "the number at which the job fails"
    assert {each["restartPolicy"] for each in again["mpiReplicaSpecs"].values()} == {"OnFailure"}


@pytest.mark.parametrize(("admission", "suspended"), [("kueue", True), ("none", None)])
def test_without_volcano(admission: str, suspended: bool | None) -> None:
    made = plan(cluster=environment(admission=admission, queues={}), **BACKEND, **MPI)
    policy = job(made)["spec"]["runPolicy"]
    assert (policy.get("suspend"), policy.get("schedulingPolicy")) == (suspended, None)
    assert job(made)["metadata"]["labels"].get("kueue.x-k8s.io/queue-name") == ("default" if suspended else None)


def test_the_hostfile_and_the_keys_are_our_own() -> None:
    """The operator appends the path of its hostfile, and mounts its own keys."""
    made = plan(**BACKEND, **ONE)
    names = [f"{made.job}-launcher", f"{made.job}-worker-0", f"{made.job}-worker-1"]
    assert made.files["hostfile"].splitlines() == [f"{name}.{made.job} slots=8" for name in names]
    launcher, worker = (main(each) for each in job(made)["spec"]["mpiReplicaSpecs"].values())
    hostfile = "OMPI_MCA_orte_default_hostfile"
    assert f"{hostfile}=$(TRAINFORM_KEPT_{hostfile})" in launcher["command"]
    assert {"name": "PRTE_MCA_prte_default_hostfile", "value": "/etc/trainform/hostfile"} in launcher["env"]
    assert worker["command"] == ["/bin/sh", "/etc/trainform/run.sh", "/bin/sh", "/etc/trainform/serve.sh"]
    manifests = {manifest.key: manifest.body for manifest in job_manifests(made)}
    assert "service" not in manifests
    assert "allreduce" not in manifests["ssh"]["stringData"]["known_hosts"]
    assert "sdxl-lora-* " in manifests["ssh"]["stringData"]["known_hosts"].replace(",", " ")


@pytest.mark.parametrize(("parts", "first"), [(ONE, ["0", "1", "2"]), (MPI, [None, "0", "1"])])
def test_the_labels_of_workers_begin_behind_a_ranked_launcher(parts: dict[str, Any], first: list[str | None]) -> None:
    made = plan(**BACKEND, **parts)
    pods = BACKENDS["kubeflow"].pods(made, job_manifests(made))[0]
    assert [pod["metadata"]["labels"].get("training.kubeflow.org/replica-index") for pod in pods] == first
    assert [pod["spec"]["hostname"] for pod in pods] == [pod.name for pod in made.pods()]
    assert {pod["spec"]["subdomain"] for pod in pods} == {made.job}
    assert ("NVIDIA_VISIBLE_DEVICES" in pod_env(pods[0])) == (parts is MPI)


@pytest.mark.parametrize("parts", [ONE, MPI])
def test_the_plan_knows_the_appended_variables(parts: dict[str, Any]) -> None:
    made, backend = plan(**BACKEND, **parts), BACKENDS["kubeflow"]
    templates = backend.templates(made, job_manifests(made))
    before = {template.role: main({"template": template.body})["env"] for template in templates}
    for pod in backend.pods(made, job_manifests(made))[0]:
        role = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        added = pod["spec"]["containers"][0]["env"][len(before[role]) :]
        assert {entry["name"] for entry in added} == backend.conventions(made).of(made.by_name[role]).appended


def test_what_version_1_cannot_do() -> None:
    """A ranked launcher without a GPU, other keys, and nodes of different sizes."""
    kinds = {"a800": {"resource": "example.com/npu", "per_node": 8, "nodes": 8}}
    assert reasons(environment(accelerators=kinds), **BACKEND, **NODE) == {}
    assert reasons(**BACKEND, **MPI, ssh={"secret": "own"}) == {}
    assert reasons(**BACKEND, launcher=NODE["launcher"], roles={"a": {"accelerators": {"a800": 8}}, "b": {}}) == {}


WORKERS = {"name": "fetch", "command": ["fetch"], "on": "first-pod", "roles": ["worker"]}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"network": {"addresses": "service"}}, "network.addresses"),
        ({"restart": "all-when-evicted"}, "restart"),
        ({"name": "n" * 48}, "roles.worker"),
        ({"roles": {"worker": {"replicas": 0}}}, "roles.worker.replicas"),
        (
            {"roles": {"worker": {"replicas": 2, "pod_overrides": {"spec": {"restartPolicy": "Always"}}}}},
            "roles.worker.pod_overrides.spec.restartPolicy",
        ),
        ({"roles": {"first": {}, "worker": {"replicas": 2}}, "prepare": [WORKERS]}, "prepare[0].on"),
        ({"storage": {"ssh-auth": {"claim": "a", "mount": "/mnt"}}}, "storage.ssh-auth"),
        ({"storage": {"keys": {"claim": "a", "mount": "/etc/mpi"}}}, "storage.keys"),
        ({"storage": {"keys": {"claim": "a", "mount": "/etc/mpi/keys/"}}}, "storage.keys"),
        ({"files": {"/etc/mpi/my.conf": {"text": "slots=8"}}}, "files./etc/mpi/my.conf"),
        ({"manifest_overrides": {"job": {"spec": {"sshAuthMountPath": "/root/.ssh"}}}}, "manifest_overrides.job.spec"),
    ],
)
def test_refusals(parts: dict[str, Any], path: str) -> None:
    """mpi-operator has no webhook: it would leave the job without pods."""
    assert next(iter(reasons(**{**BACKEND, **ONE, **parts}))).startswith(path)
    assert reasons(**BACKEND, **ONE, prepare=[WORKERS]) == {}, "the pod that launches runs it"


def test_a_finished_job_stays() -> None:
    (note,) = (note for note in plan(**BACKEND, **MPI, ttl="1h").notes if note.startswith("ttl: "))
    assert note == "ttl: mpi-operator deletes only the pod of the launcher; the MPIJob stays"
