"""Where the pods of jobs of replica specs are: PyTorchJob, TFJob and MPIJob."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform.backends.paths import DEADLINE, Finder, Pods, PodsAt, value_at
from trainform.backends.replica_specs.kinds import KINDS

# Where the number of pods that start together stands: training-operator v1's place, and KubeDL's.
_LEAST = ("spec.runPolicy.schedulingPolicy.minAvailable", "spec.schedulingPolicy.minAvailable")
# And the time after which the job ends.
_RUN_TIME = (f"spec.runPolicy.{DEADLINE}", f"spec.{DEADLINE}")
_SCALED = "pytorchReplicaSpecs"
# The launcher of an MPIJob of this version, of mpi-operator, reaches the workers by SSH.
_LAUNCHES, _BY_SSH = "Launcher", "/v2beta1"


def most_workers(body: dict[str, Any]) -> int | None:
    """Return to how many workers the operator's HorizontalPodAutoscaler may scale a PyTorchJob; None without metrics,
    since then it makes none."""
    most = value_at(body, "spec.elasticPolicy.maxReplicas")
    return most if value_at(body, "spec.elasticPolicy.metrics") is not None and isinstance(most, int) else None


def made_account(body: dict[str, Any], replica_type: str) -> str:
    """The service account that the operator makes for pods of the type that name none: the launcher of an MPIJob gets
    one that may run commands in the workers. Empty if it makes none. Source: training-operator 1.9.3,
    pkg/controller.v1/mpi (`newLauncher`)."""
    makes = body.get("kind") == "MPIJob" and not str(body.get("apiVersion")).endswith(_BY_SSH)
    return f"{value_at(body, 'metadata.name')}-launcher" if makes and replica_type == _LAUNCHES else ""


def run_time(body: dict[str, Any]) -> object:
    """The seconds after which the job ends; None if it may run for ever."""
    return next((seconds for path in _RUN_TIME if (seconds := value_at(body, path)) is not None), None)


def _grown(pods: Pods, most: int) -> Pods:
    template = pods.template
    return structs.replace(pods, template=structs.replace(template, replicas=max(template.replicas, most)))


class _ReplicaSpecs(Struct, frozen=True):
    """The pods of the replica specs in a field of the spec."""

    field: str

    def __call__(self, body: dict[str, Any]) -> Iterator[Pods]:
        found = [*PodsAt(f"spec.{self.field}.*")(body)]
        most = most_workers(body)
        if self.field == _SCALED and most is not None:
            found = [_grown(pods, most) if f"{_SCALED}.Worker." in pods.template.place else pods for pods in found]
        total = sum(pods.template.replicas for pods in found)
        least = next((number for path in _LEAST if isinstance(number := value_at(body, path), int)), total)
        slack = max(0, total - least)
        # The job sets how many of all its pods start together, and not of which type: the largest type is the one that
        # may be smaller.
        largest = max(range(len(found)), key=lambda index: found[index].template.replicas, default=0)
        for index, pods in enumerate(found):
            missing = min(slack, pods.template.replicas) if index == largest else 0
            least_of_type = pods.template.replicas - missing
            template = structs.replace(pods.template, min_available=least_of_type, run_time=run_time(body))
            yield structs.replace(pods, template=template)


def replica_spec_pods(group: str) -> Mapping[str, tuple[Finder, ...]]:
    """How the pods of each kind of the API group are found."""
    return {f"{group}/{kind.kind}": (_ReplicaSpecs(kind.field),) for kind in KINDS.values()}
