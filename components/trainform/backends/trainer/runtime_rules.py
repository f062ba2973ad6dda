"""Rules that a TrainingRuntime must satisfy so that a job runs on it as planned. Trainer's webhooks do not have them,
so its controller does something else silently.

Source: Kubeflow Trainer 2.3.0, `pkg/webhooks`, `pkg/runtime` (plugins mpi, jobset, volcano).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.gangs import SCHEDULER
from trainform.backends.trainer.runtime import ANCESTOR_LABEL, LAUNCHER, MPI, NODE, TRAINER
from trainform.manifests.shapes import mapping

IN_ORDER = "InOrder"
# The container that a replicated job with the label must have, by the label's value.
CONTAINERS = {TRAINER: NODE, "dataset-initializer": "dataset-initializer", "model-initializer": "model-initializer"}
TTL = "ttlSecondsAfterFinished"
# Source: `Reconcile`, which forgets that a TrainJob has failed before it looks for its JobSet.
RUN_AGAIN = "Trainer makes a failed job's JobSet again when it is deleted (kubeflow/trainer#3737)"


class Finding(Struct, frozen=True):
    """Something that is wrong in the runtime's spec: the path, the reason and the fix. Path and reason together are a
    sentence."""

    path: str
    reason: str
    fix: str

    @property
    def text(self) -> str:
        """Reason and fix in one text."""
        return f"{self.reason}; {self.fix}"


def runtime_findings(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    """Yield everything that is wrong in the spec, whose shape the API server or the check of a file has checked. nodes:
    `spec.trainer.numNodes` of the TrainJob."""
    for rule in _RULES:
        yield from rule(spec, nodes)


def replicated_jobs(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runtime's replicated jobs."""
    jobs: list[dict[str, Any]] = spec["template"]["spec"]["replicatedJobs"]
    return jobs


def ancestor(job: Mapping[str, Any]) -> str | None:
    """The part of a TrainJob that configures the replicated job, by its label; None if there is no label."""
    found = mapping(mapping(job["template"].get("metadata")).get("labels")).get(ANCESTOR_LABEL)
    return None if found is None else str(found)


def containers(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a replicated job's pods, without init containers."""
    found: list[dict[str, Any]] = job["template"]["spec"]["template"]["spec"]["containers"]
    return found


def launcher_is_node(spec: Mapping[str, Any]) -> bool:
    """True if the runtime's launcher is a node too."""
    return bool(spec.get("mlPolicy", {}).get(MPI, {}).get("runLauncherAsNode", False))


def node_pods(spec: Mapping[str, Any], nodes: int) -> int:
    """The number of pods of the replicated job `node` with the MPI policy, at least one. A launcher that is a node is
    one of `nodes`."""
    return max(nodes - 1, 1) if launcher_is_node(spec) else nodes


def _labels(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    """Findings about the labels by which Trainer finds the replicated job that a TrainJob configures."""
    jobs = replicated_jobs(spec)
    labelled = [job for job in jobs if ancestor(job) == TRAINER]
    path = "template.spec.replicatedJobs"
    if len(labelled) != 1:
        known = ", ".join(job["name"] for job in jobs)
        yield Finding(
            path,
            f"has {len(labelled)} replicated jobs ({known}) with the label {ANCESTOR_LABEL}: {TRAINER}, by which "
            "Trainer finds the one that a TrainJob counts",
            "set the label on the template of the replicated job that trains or launches",
        )
    for job in jobs:
        part = ancestor(job)
        if part not in CONTAINERS:
            continue
        if CONTAINERS[part] not in {container["name"] for container in containers(job)}:
            yield Finding(
                f"{path}.{job['name']}",
                f"has no container {CONTAINERS[part]}, the only one of a {part} that Trainer configures",
                f"call its main container {CONTAINERS[part]}",
            )


def _mpi(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    if MPI not in spec.get("mlPolicy", {}):
        return
    counted = spec["mlPolicy"].get("numNodes", 1)
    if counted != 1:
        yield Finding(
            "mlPolicy.numNodes",
            f"is {counted}, and with the MPI policy it counts the labelled replicated job, which is the launcher",
            "write 1; the TrainJob's numNodes counts the nodes",
        )
    missing = [name for name in (LAUNCHER, NODE) if name not in {job["name"] for job in replicated_jobs(spec)}]
    if launcher_is_node(spec) and nodes < 2:
        return
    for name in missing:
        yield Finding("template.spec.replicatedJobs", *_MISSING[launcher_is_node(spec), name](nodes))


def _both(name: str, does: str) -> Callable[[int], tuple[str, str]]:
    def reason_and_fix(nodes: int) -> tuple[str, str]:
        return (
            f"has no replicated job `{name}`, and with runLauncherAsNode {nodes} nodes need both: `launcher` is one "
            f"of them and starts the processes of all, `node` has the other {nodes - 1}, which it reaches over SSH",
            f"add a replicated job `{name}`, {does}; or set runLauncherAsNode to false, or train on 1 node",
        )

    return reason_and_fix


_ADD_LAUNCHER = f"with the label {ANCESTOR_LABEL}: {TRAINER} and a container `node`"
_ADD_NODE = "with a container `node` that runs sshd"
# Reason and fix, by whether the launcher is a node and by the name of the missing replicated job.
_MISSING: dict[tuple[bool, str], Callable[[int], tuple[str, str]]] = {
    (True, LAUNCHER): _both(LAUNCHER, _ADD_LAUNCHER),
    (True, NODE): _both(NODE, _ADD_NODE),
    (False, LAUNCHER): lambda nodes: (
        "has no replicated job `launcher`, the only one to which Trainer adds a hostfile",
        f"add it, {_ADD_LAUNCHER}",
    ),
    (False, NODE): lambda nodes: (
        "has no replicated job `node`, so the hostfile that Trainer writes is empty",
        f"add it, {_ADD_NODE}; or set runLauncherAsNode to true for 1 node",
    ),
}


def _order(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    """Findings about pods that are made after others: a gang of Trainer's has all pods, so it waits for them, and they
    for it."""
    if not spec.get("podGroupPolicy"):
        return
    reason = "and Trainer's gang starts all pods together, also those that wait for others"
    fix = "remove it, or the podGroupPolicy"
    jobs = replicated_jobs(spec)
    for job in jobs:
        if job.get("dependsOn"):
            yield Finding(f"template.spec.replicatedJobs.{job['name']}.dependsOn", f"is set, {reason}", fix)
    if len(jobs) > 1 and spec["template"]["spec"].get("startupPolicy", {}).get("startupPolicyOrder") == IN_ORDER:
        yield Finding("template.spec.startupPolicy.startupPolicyOrder", f"is {IN_ORDER}, {reason}", fix)


def _end(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    if spec["template"]["spec"].get(TTL) is not None:
        yield Finding(f"template.spec.{TTL}", f"is set, and {RUN_AGAIN}", "remove it there")


def _gang(spec: Mapping[str, Any], nodes: int) -> Iterator[Finding]:
    policy = spec.get("podGroupPolicy", {})
    if SCHEDULER not in policy:
        return
    topology = policy[SCHEDULER].get("networkTopology")
    if topology is not None and "highestTierAllowed" not in topology:
        reason = "has no highestTierAllowed, without which Trainer's controller crashes"
        yield Finding("podGroupPolicy.volcano.networkTopology", reason, "add it")
    for job in replicated_jobs(spec):
        path = f"template.spec.replicatedJobs.{job['name']}"
        scheduler = job["template"]["spec"]["template"]["spec"].get("schedulerName")
        if scheduler != SCHEDULER:
            found = "no schedulerName" if scheduler is None else f"the schedulerName {scheduler}"
            yield Finding(path, f"has {found}, so its pods are outside of the gang", f"write {SCHEDULER}")


_RULES: tuple[Callable[[Mapping[str, Any], int], Iterator[Finding]], ...] = (
    _labels,
    _mpi,
    _order,
    _end,
    _gang,
)
