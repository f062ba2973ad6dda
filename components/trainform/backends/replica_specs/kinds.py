"""The kinds of jobs that consist of replica specs. They are training-operator v1's, and KubeDL has the same API: both
controllers read the replica types and their names in the same way."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import DEADLINE, Finder, Pods, PodsAt, value_at
from trainform.plan.layout import RENDEZVOUS, TENSORFLOW
from trainform.plan.model import Plan
from trainform.plan.operator import Naming
from trainform.plan.world import first_ranked, launching_role, task_type
from trainform.spec.experiment import Experiment

LAUNCHER = "Launcher"  # of an MPIJob


class JobKind(Struct, frozen=True):
    """A kind of job.

    field: the field of the spec with the replica specs. types: the replica type for each group of a plan, in the order
    of the API. container, ports: the names that the operator needs for the main container and its ports, by purpose.
    port: the number that the operator assumes if no container declares the port; 0 if the kind has no port.
    own_restarts: the operator's own restart policies, next to the template: a pod is made anew upon some exit codes. (A
    pod of an MPIJob never is, so the job would neither go on nor fail: training-operator 1.9.3, pkg/controller.v1/mpi.)
    version: of the API.
    """

    kind: str
    plural: str
    field: str
    types: Mapping[str, str]
    container: str
    ports: Mapping[str, str]
    port: int
    own_restarts: tuple[str, ...] = ("ExitCode",)
    version: str = "v1"

    @property
    def port_name(self) -> str | None:
        """Return the operator's name for the port; None if the kind has no port."""
        return next(iter(self.ports.values()), None)


_PYTORCH = JobKind(
    "PyTorchJob",
    "pytorchjobs",
    "pytorchReplicaSpecs",
    {"master": "Master", "worker": "Worker"},
    "pytorch",
    {RENDEZVOUS: "pytorchjob-port"},
    23456,
)
_TENSORFLOW = JobKind(
    "TFJob",
    "tfjobs",
    "tfReplicaSpecs",
    {"chief": "Chief", "ps": "PS", "worker": "Worker", "evaluator": "Evaluator"},
    "tensorflow",
    {TENSORFLOW: "tfjob-port"},
    2222,
)
_MPI = JobKind(
    "MPIJob", "mpijobs", "mpiReplicaSpecs", {"launcher": LAUNCHER, "worker": "Worker"}, "mpi", {}, 0, own_restarts=()
)
KINDS = {kind.kind: kind for kind in (_PYTORCH, _TENSORFLOW, _MPI)}
MPI_V2 = structs.replace(_MPI, version="v2beta1", container=defaults.MAIN_CONTAINER)
_BY_LAUNCHER = {"tensorflow": _TENSORFLOW, "mpi": _MPI}


def kind_of(plan: Plan) -> JobKind:
    """Return the kind of job that the plan's launcher needs."""
    return MPI_V2 if is_v2(plan) else _BY_LAUNCHER.get(plan.launcher, _PYTORCH)


def is_v2(plan: Plan) -> bool:
    """Return True for an MPIJob of mpi-operator."""
    return plan.operator.mpi_job == MPI_V2.version


def rendered_kind(job: Mapping[str, Any]) -> JobKind:
    """Return the kind of a rendered job."""
    kind = KINDS[job["kind"]]
    return MPI_V2 if kind is _MPI and job["apiVersion"].endswith(MPI_V2.version) else kind


def rendered_specs(job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the replica specs of a rendered job, by type."""
    specs: dict[str, dict[str, Any]] = job["spec"][rendered_kind(job).field]
    return specs


def declared_port(job: Mapping[str, Any], name: str) -> int:
    """Return the port number in the template of a replica type, which its Services have too."""
    kind = rendered_kind(job)
    port = main_port(kind, rendered_specs(job)[name]["template"]["spec"])
    return kind.port if port is None else int(port["containerPort"])


def main_port(kind: JobKind, spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the operator's port as the main container of a pod declares it; None if it does not."""
    main = (container for container in spec["containers"] if container["name"] == kind.container)
    ports = (port for container in main for port in container.get("ports", []))
    return next((port for port in ports if port.get("name") == kind.port_name), None)


def main_container(kind: JobKind, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the container that the operator configures in the spec of a pod."""
    containers: list[dict[str, Any]] = spec["containers"]
    return next(container for container in containers if container["name"] == kind.container)


def add_port(kind: JobKind, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Declare the port that the operator assumes in the main container of a pod, and return it."""
    port = {"name": kind.port_name, "containerPort": kind.port}
    main_container(kind, spec).setdefault("ports", []).append(port)
    return port


def pod_name(job: Mapping[str, Any], name: str, index: int) -> str:
    """Return the name of a pod. The launcher of an MPIJob is one pod, without a number."""
    stem = f"{job['metadata']['name']}-{name.lower()}"
    return stem if name == LAUNCHER else f"{stem}-{index}"


def copied_template(job: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of the template of a replica type, with the restart policy that stands next to it. With the
    operator's own policy `ExitCode` the operator makes the pod anew, and the kubelet restarts nothing."""
    spec = rendered_specs(job)[name]
    template: dict[str, Any] = copy.deepcopy(spec["template"])
    template["spec"]["restartPolicy"] = "Never" if spec["restartPolicy"] == "ExitCode" else spec["restartPolicy"]
    return template


def tf_config(job: Mapping[str, Any], task: tuple[str, int], port: Callable[[str, int], int]) -> str | None:
    """Return TF_CONFIG of a task (replica type and index) with all types in the cluster, also the evaluator; None for a
    job of a single pod. `port` returns the port of a task."""
    specs = rendered_specs(job)
    if sum(spec["replicas"] for spec in specs.values()) == 1:
        return None
    cluster = {
        name.lower(): [
            f"{pod_name(job, name, index)}.{job['metadata']['namespace']}.svc:{port(name, index)}"
            for index in range(specs[name]["replicas"])
        ]
        for name in sorted(specs, key=str.lower)
    }
    config = {"cluster": cluster, "task": {"type": task[0].lower(), "index": task[1]}, "environment": "cloud"}
    return json.dumps(config, separators=(",", ":"))


# The operator makes a headless Service for each pod, with the pod's name.
NAMING = Naming(pod="{job}-{group}-{index}", address="{pod}", own_service=False)


def replica_groups(experiment: Experiment) -> dict[str, str]:
    """Return the replica type of each role, in lower case as in names of pods. A role for which the job has no type
    keeps its name, and is refused."""
    if experiment.launcher.tensorflow is not None:
        kinds = {name: task_type(experiment, name) for name in experiment.roles}
        return {name: name if kind is None else kind for name, kind in kinds.items()}
    launching = launching_role(experiment)
    master = _master(experiment) if launching is None else launching
    word = "launcher" if experiment.launcher.mpi is not None else "master"
    return {
        name: word if name == master else "worker" if role.ranked else name for name, role in experiment.roles.items()
    }


def _master(experiment: Experiment) -> str | None:
    """Return the role that is the Master of a PyTorchJob, whose success ends the job: a first ranked role of one pod in
    a static job; otherwise None."""
    first = first_ranked(experiment)
    return first if experiment.roles[first].replicas == 1 and not experiment.elastic else None


# Where the number of pods that start together stands: training-operator v1's place, and KubeDL's.
_LEAST = ("spec.runPolicy.schedulingPolicy.minAvailable", "spec.schedulingPolicy.minAvailable")
# And the time after which the job ends.
_RUN_TIME = (f"spec.runPolicy.{DEADLINE}", f"spec.{DEADLINE}")


def most_workers(body: dict[str, Any]) -> int | None:
    """Return to how many workers the operator's HorizontalPodAutoscaler may scale a PyTorchJob; None without metrics,
    since then it makes none."""
    most = value_at(body, "spec.elasticPolicy.maxReplicas")
    return most if value_at(body, "spec.elasticPolicy.metrics") is not None and isinstance(most, int) else None


def run_time(body: dict[str, Any]) -> object:
    """Return the seconds after which the job ends; None if it may run for ever."""
    return next((seconds for path in _RUN_TIME if (seconds := value_at(body, path)) is not None), None)


class _ReplicaSpecs(Struct, frozen=True):
    """The pods of the replica specs in a field of the spec."""

    field: str

    def __call__(self, body: dict[str, Any]) -> Iterator[Pods]:
        found = [pods.template for pods in PodsAt(f"spec.{self.field}.*")(body)]
        most = most_workers(body) if self.field == _PYTORCH.field else None
        if most is not None:
            worker = f"spec.{self.field}.Worker.template"
            found = [
                structs.replace(each, replicas=max(each.replicas, most)) if each.place == worker else each
                for each in found
            ]
        total = sum(template.replicas for template in found)
        least = next((number for path in _LEAST if isinstance(number := value_at(body, path), int)), total)
        slack = max(0, total - least)
        # The job sets how many of all its pods start together, and not of which type: the largest type is the one that
        # may be smaller.
        largest = max(found, key=lambda template: template.replicas, default=None)
        for template in found:
            missing = min(slack, template.replicas) if template is largest else 0
            least_of_type = template.replicas - missing
            yield Pods(structs.replace(template, min_available=least_of_type, run_time=run_time(body)))


def replica_spec_pods(group: str) -> Mapping[str, tuple[Finder, ...]]:
    """Return how the pods of each kind of the API group are found."""
    return {f"{group}/{kind.kind}": (_ReplicaSpecs(kind.field),) for kind in KINDS.values()}
