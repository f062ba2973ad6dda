"""The pods that training-operator makes from its jobs, for a rehearsal without a cluster.

Source: training-operator 1.9.3, pkg/controller.v1 (`createNewPod`, `setPodEnv`, `setInitContainer`,
`genTFConfigJSONStr`, `newLauncher`, `newWorker`, `newConfigMap`), and gangs for
pods that Volcano schedules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from trainform.backends.admission import GROUP_ANNOTATION, SCHEDULER
from trainform.backends.replica_specs.kinds import (
    LAUNCHER,
    add_port,
    copied_template,
    declared_port,
    main_container,
    main_port,
    pod_name,
    rendered_kind,
    rendered_specs,
    tf_config,
)
from trainform.manifests.pods import pod_from_template
from trainform.plan.model import RolePlan
from trainform.plan.operator import Agent

# An MPIJob has no Services: the launcher reaches the workers by `kubectl exec`, with a list of pods that the operator
# writes.
KUBEXEC = Agent("/etc/mpi/kubexec.sh", "/etc/mpi/hostfile", client="/opt/kube/kubectl", delivery="kubectl-delivery")
PREFIX = "training.kubeflow.org/"
INDEX_LABEL = f"{PREFIX}replica-index"
OWN_LABELS = tuple(
    f"{PREFIX}{name}" for name in ("job-name", "operator-name", "replica-type", "replica-index", "job-role")
)
WAITING = "init-pytorch"  # waits until the Master's name resolves, with the nslookup of its own image
GPU = "gpu"  # a launcher with a limit on a resource whose name holds this is in the hostfile

_MASTER, _WORKER = "Master", "Worker"
_MPI_FOLDER, _KUBECTL_FOLDER = (path.rpartition("/")[0] for path in (KUBEXEC.hostfile, KUBEXEC.client))
_OF_MASTER = ("MASTER_PORT", "PET_MASTER_PORT", "MASTER_ADDR", "PET_MASTER_ADDR", "WORLD_SIZE", "RANK", "PET_NODE_RANK")
_OF_ELASTIC = ("PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND", "PET_MAX_RESTARTS")
_OF_LAUNCHER = {
    "OMPI_MCA_plm_rsh_agent": KUBEXEC.program,
    "OMPI_MCA_orte_default_hostfile": KUBEXEC.hostfile,
}
_WITHOUT_GPU = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
_INTEL = {"I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": KUBEXEC.program}


def appended(kind: str, pods: int, types: Collection[str], elastic: bool) -> frozenset[str]:
    """Return the variables that the operator appends to a container's `env`, where they replace the template's."""
    if kind == "TFJob":
        return frozenset(["TF_CONFIG"] if pods != 1 else [])
    if kind == "MPIJob":
        return frozenset([*_OF_LAUNCHER, *_WITHOUT_GPU])
    of_master = _OF_MASTER if _MASTER in types else ()
    return frozenset(
        ["PYTHONUNBUFFERED", "PET_NPROC_PER_NODE", "PET_NNODES", *of_master, *(_OF_ELASTIC if elastic else ())]
    )


def spared(kind: str, role: RolePlan, launcher: str | None) -> frozenset[str]:
    """Return those of them that it does not append in pods of this role: in an MPIJob the launcher alone has any, and
    those of GPUs only if it has none."""
    if kind != "MPIJob":
        return frozenset()
    if role.name != launcher:
        return frozenset([*_OF_LAUNCHER, *_WITHOUT_GPU])
    return frozenset(_WITHOUT_GPU if any(GPU in resource for resource in role.resources) else ())


def controller_objects(job: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Return the pods in the order of replica types, and the data of an MPIJob's ConfigMap by its name."""
    specs = rendered_specs(job)
    pods = [_pod(job, name, index) for name, spec in specs.items() for index in range(spec["replicas"])]
    return pods, ({f"{job['metadata']['name']}-config": _mpi_files(job)} if job["kind"] == "MPIJob" else {})


def _pod(job: dict[str, Any], name: str, index: int) -> dict[str, Any]:
    metadata, kind, template = job["metadata"], rendered_kind(job), copied_template(job, name)
    if kind.port and main_port(kind, template["spec"]) is None:
        add_port(kind, template["spec"])
    _ADDITIONS[job["kind"]](job, name, index, template["spec"])
    in_gang = template["spec"].get("schedulerName") == SCHEDULER
    gang = {GROUP_ANNOTATION: metadata["name"], "volcano.sh/task-spec": name.lower()} if in_gang else {}
    labels = _labels(job, name, index)
    return pod_from_template(pod_name(job, name, index), metadata["namespace"], template, labels, gang)


def _labels(job: dict[str, Any], name: str, index: int) -> dict[str, str]:
    """Return the operator's labels of a pod. The launcher of an MPIJob has no index. `job-role` marks the pod whose
    success ends the job."""
    specs = rendered_specs(job)
    success_type = next((each for each in (_MASTER, LAUNCHER, "Chief") if each in specs), _WORKER)
    values = {
        "job-name": job["metadata"]["name"],
        "operator-name": f"{job['kind'].lower()}-controller",
        "replica-type": name.lower(),
        **({} if name == LAUNCHER else {"replica-index": str(index)}),
        **({"job-role": "master"} if name == success_type and (name != _WORKER or index == 0) else {}),
    }
    if job["kind"] == "MPIJob" and name == _WORKER:
        values.pop("job-role", None)
    return {f"{PREFIX}{word}": value for word, value in values.items()}


def _append(container: dict[str, Any], values: dict[str, str]) -> None:
    # the API server drops an empty value
    entries = [{"name": name, **({"value": value} if value else {})} for name, value in values.items()]
    container.setdefault("env", []).extend(entries)


def _pytorch(job: dict[str, Any], name: str, index: int, spec: dict[str, Any]) -> None:
    for container in spec["containers"]:
        _append(container, _torch_values(job, name, index))
    if name == _WORKER and _MASTER in rendered_specs(job):
        spec.setdefault("initContainers", []).append(_waiting_for(pod_name(job, _MASTER, 0)))


def _torch_values(job: dict[str, Any], name: str, index: int) -> dict[str, str]:
    specs, per_node = rendered_specs(job), job["spec"].get("nprocPerNode", "auto")
    total = sum(spec["replicas"] for spec in specs.values())
    values = {"PYTHONUNBUFFERED": "1"}
    if _MASTER in specs:
        address, port = pod_name(job, _MASTER, 0), str(declared_port(job, _MASTER))
        rank = str(index + (name == _WORKER))
        world = total * (int(per_node) if per_node.isdecimal() else 1)
        values |= dict(zip(_OF_MASTER, (port, port, address, address, str(world), rank, rank), strict=True))
    values["PET_NPROC_PER_NODE"] = per_node
    elastic = job["spec"].get("elasticPolicy")
    if elastic is None:
        return {**values, "PET_NNODES": str(total)}
    values["PET_RDZV_ENDPOINT"] = f"{pod_name(job, _WORKER, 0)}:{declared_port(job, _WORKER)}"
    values |= {"PET_RDZV_BACKEND": "c10d", "PET_NNODES": f"{elastic['minReplicas']}:{elastic['maxReplicas']}"}
    return values | ({"PET_MAX_RESTARTS": str(elastic["maxRestarts"])} if "maxRestarts" in elastic else {})


def _waiting_for(master: str) -> dict[str, Any]:
    script = (
        f"err=1;for i in $(seq 100); do if nslookup {master}; then err=0 && break; fi;echo waiting for master; sleep "
        "2; done; exit $err"
    )
    return {
        "name": WAITING,
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
        "command": ["sh", "-c", script],
    }


def _tensorflow(job: dict[str, Any], name: str, index: int, spec: dict[str, Any]) -> None:
    config = tf_config(job, (name, index), lambda kind, _: declared_port(job, kind))
    if config is not None:
        _append(main_container(rendered_kind(job), spec), {"TF_CONFIG": config})


def _mpi(job: dict[str, Any], name: str, index: int, spec: dict[str, Any]) -> None:
    main, config = spec["containers"][0], f"{job['metadata']['name']}-config"
    mounts = main.setdefault("volumeMounts", [])
    volumes = spec.setdefault("volumes", [])
    files = [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 0o555}]
    if name == LAUNCHER:
        _append(main, _OF_LAUNCHER | ({} if _has_gpu(spec) else _WITHOUT_GPU))
        present = [entry["name"] for entry in main["env"]]
        _append(main, {variable: value for variable, value in _INTEL.items() if variable not in present})
        # the operator makes this account, which may run commands in the workers
        spec.setdefault("serviceAccountName", pod_name(job, LAUNCHER, 0))
        spec.setdefault("initContainers", []).append(_delivering(job["metadata"]["namespace"]))
        mounts.append({"name": "mpi-job-kubectl", "mountPath": _KUBECTL_FOLDER})
        volumes.append({"name": "mpi-job-kubectl", "emptyDir": {}})
        files.append({"key": "hostfile", "path": "hostfile", "mode": 0o444})
        files.append({"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555})
    mounts.append({"name": "mpi-job-config", "mountPath": _MPI_FOLDER})
    volumes.append({"name": "mpi-job-config", "configMap": {"name": config, "items": files}})


def _has_gpu(spec: dict[str, Any]) -> bool:
    limits = [container.get("resources", {}).get("limits", {}) for container in spec["containers"]]
    return any(GPU in resource for each in limits for resource in each)


def _delivering(namespace: str) -> dict[str, Any]:
    resources = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    return {
        "name": KUBEXEC.delivery,
        "image": "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": _KUBECTL_FOLDER}, {"name": "NAMESPACE", "value": namespace}],
        "volumeMounts": [
            {"name": "mpi-job-kubectl", "mountPath": _KUBECTL_FOLDER},
            {"name": "mpi-job-config", "mountPath": _MPI_FOLDER},
        ],
        "resources": {"limits": resources, "requests": resources},
    }


def _mpi_files(job: dict[str, Any]) -> dict[str, str]:
    """Return the files of an MPIJob's ConfigMap, with `discover_hosts.sh` as it is when all workers run."""
    specs, slots = rendered_specs(job), job["spec"].get("slotsPerWorker", 1)
    main = job["spec"].get("mainContainer")
    hosts = list(_hosts(job, specs))
    container = "" if main is None else f" --container {main}"
    return {
        "hostfile": "".join(f"{host} slots={slots}\n" for host in hosts),
        "kubexec.sh": (
            f'#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n{KUBEXEC.client} exec ${{POD_NAME}}{container} -- /bin/sh -c "$*"'
        ),
        "discover_hosts.sh": "\n".join(["#!/bin/sh", *_echoed(job, hosts, slots)]),
    }


def _echoed(job: dict[str, Any], hosts: list[str], slots: int) -> Iterator[str]:
    for host in hosts:
        yield f"echo {host}:{slots}"
        if host == pod_name(job, LAUNCHER, 0):
            yield ""  # as the operator writes it


def _hosts(job: dict[str, Any], specs: dict[str, Any]) -> Iterator[str]:
    if _has_gpu(specs[LAUNCHER]["template"]["spec"]):
        yield pod_name(job, LAUNCHER, 0)
    if _WORKER in specs:
        yield from (pod_name(job, _WORKER, index) for index in range(specs[_WORKER]["replicas"]))


_ADDITIONS = {"PyTorchJob": _pytorch, "TFJob": _tensorflow, "MPIJob": _mpi}
