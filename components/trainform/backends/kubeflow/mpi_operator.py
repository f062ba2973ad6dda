"""MPIJob v2beta1 of mpi-operator: the launcher is a Job, and all pods are in the DNS of a Service with the job's name.

SSH, hostfile and keys are trainform's own. The operator mounts a Secret and a hostfile too, and appends the path of its
hostfile for Open MPI 4. It has no webhook: an invalid MPIJob gets an event, and no pods.

Source: mpi-operator 0.8.2, pkg/controller/mpi_job_controller.go and pkg/apis/kubeflow/validation.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.backends.replica_specs.kinds import (
    LAUNCHER,
    MPI_V2,
    copied_template,
    main_container,
    pod_name,
    rendered_kind,
    rendered_specs,
)
from trainform.backends.replica_specs.specs import ON_FAILURE, common_number
from trainform.errors import Problem
from trainform.manifests.pods import pod_from_template
from trainform.plan.model import Plan, RolePlan
from trainform.plan.operator import Naming, Operator

OPERATOR = Operator(
    "mpi-operator",
    "mpijobs.kubeflow.org",
    f"kubeflow.org/{MPI_V2.version}",
    "mpi-operator/mpi-operator",
    ("mpijobs",),
    MPI_V2.version,
    keeps_job=True,
)
NAMING = Naming(pod="{job}-{group}-{index}", address="{pod}.{job}", own_service=False, single=("launcher",))
LABELS = "training.kubeflow.org/"
_OF_LAUNCHER = {
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
}
_VOLUMES = {"ssh-auth": "/etc/mpi-ssh", "mpi-job-config": "/etc/mpi"}
_ROLE, _SLOTS = "K_MPI_JOB_ROLE", "OMPI_MCA_orte_set_default_slots"
_WITHOUT_GPU = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
APPENDED = frozenset([*_OF_LAUNCHER, _ROLE, _SLOTS, *_WITHOUT_GPU])


def spared(role: RolePlan, launcher: str | None) -> frozenset[str]:
    """Return those of the variables that the operator does not append in pods of this role. It disables GPUs only in a
    launcher that does not count as a worker."""
    if role.name != launcher:
        return APPENDED - {_ROLE}
    return frozenset(_WITHOUT_GPU if role.ranked else ())


def own_fields(plan: Plan) -> dict[str, Any]:
    """Return the fields of the spec that no other kind has. With `WaitForWorkersReady` the gang would never be
    complete; the default of `sshAuthMountPath` is the folder of the plan's keys."""
    launcher = _launcher(plan)
    return {
        "slotsPerWorker": common_number(plan, "NPROC_PER_NODE"),
        "runLauncherAsWorker": True if launcher is not None and launcher.ranked else None,
        "sshAuthMountPath": _VOLUMES["ssh-auth"],
        "launcherCreationPolicy": "AtStartup",
    }


def run_policy(plan: Plan, common: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run policy. `backoffLimit` is that of the launcher's Job, whose default would start it 6 more times.
    common: of all jobs of replica specs."""
    launcher = _launcher(plan)
    retries = launcher.max_retry if launcher is not None and launcher.restart == ON_FAILURE else 0
    return {**common, "backoffLimit": retries}


def _launcher(plan: Plan) -> RolePlan | None:
    return plan.by_name.get(plan.launches or "")


def problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with volumes of which the operator adds one with the same name or folder, and with what depends on
    the index of a worker: if the launcher is ranked, the operator's labels begin with 1, so no worker has index 0."""
    if plan.clean_pods != "running":
        reason = "mpi-operator keeps the launcher's pod, and workers that run on keep their accelerators"
        yield Problem("clean_pods", plan.clean_pods, reason, "remove it")
    if plan.services:
        reason = "an MPIJob does not use Services of replicas: its processes find each other by MPI"
        yield Problem("network.addresses", "service", reason, "remove it")
    reason = f"mpi-operator adds volumes {', '.join(_VOLUMES)} at {' and '.join(_VOLUMES.values())}"
    for mount in dict.fromkeys(mount for role in plan.roles for mount in role.mounts):
        if mount.volume in _VOLUMES or _is_operators(mount.path):
            yield Problem(f"storage.{mount.volume}", None, reason, "choose another name and another `mount`")
    for file in plan.mounted_files:
        if _is_operators(file.path):
            yield Problem(f"files.{file.path}", None, reason, "choose another path")
    for path in dict.fromkeys(checkout.git.path for role in plan.roles for checkout in role.checkouts):
        if _is_operators(path):
            yield Problem("prepare", path, reason, "choose another `path` for the checkout")
    launcher = _launcher(plan)
    for role in plan.roles if launcher is not None and launcher.ranked else ():
        for index, step in zip(role.prepared, role.init, strict=False):
            if step.name in role.in_first_pod:
                reason = f"mpi-operator numbers the pods of the role {role.name} from 1, and the step looks for pod 0"
                fix = "remove `roles`, so that the pod that launches runs it"
                yield Problem(f"prepare[{index}].on", "first-pod", reason, fix)


def _is_operators(path: str) -> bool:
    """Return True if the path is a folder that the operator mounts, or inside one: no such pod would start."""
    return f"{posixpath.normpath(path)}/".startswith(tuple(f"{folder}/" for folder in _VOLUMES.values()))


def controller_pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pods for a rehearsal, without the mounts of the operator, which nothing reads. Kubernetes adds a
    random end to the name of the launcher's pod."""
    specs = rendered_specs(job)
    return [_pod(job, name, index) for name, spec in specs.items() for index in range(spec["replicas"])]


def _pod(job: dict[str, Any], name: str, index: int) -> dict[str, Any]:
    template, spec, is_launcher = copied_template(job, name), job["spec"], name == LAUNCHER
    as_worker = spec.get("runLauncherAsWorker", False)
    values = {_ROLE: name.lower()}
    if is_launcher:
        values |= _OF_LAUNCHER | {_SLOTS: str(spec.get("slotsPerWorker", 1))}
        values |= {} if as_worker else dict.fromkeys(_WITHOUT_GPU, "")
    env = main_container(rendered_kind(job), template["spec"]).setdefault("env", [])
    env += [{"name": key, **({"value": value} if value else {})} for key, value in values.items()]
    hostname = pod_name(job, name, index)
    template["spec"] |= {"hostname": hostname, "subdomain": job["metadata"]["name"]}
    labels = {
        f"{LABELS}operator-name": "mpi-operator",
        f"{LABELS}job-name": job["metadata"]["name"],
        f"{LABELS}job-role": name.lower(),
        **({f"{LABELS}replica-index": "0"} if is_launcher and as_worker else {}),
        **({} if is_launcher else {f"{LABELS}replica-index": str(index + as_worker)}),
    }
    return pod_from_template(hostname, job["metadata"]["namespace"], template, labels)
