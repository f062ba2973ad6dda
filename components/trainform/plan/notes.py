"""What is allowed, but may surprise."""

from __future__ import annotations

from trainform.plan.model import RolePlan
from trainform.plan.restart import restart_words, times
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import amount


def plan_notes(experiment: Experiment, roles: tuple[RolePlan, ...]) -> tuple[str, ...]:
    """What is allowed, but may surprise."""
    notes = []
    if experiment.shared_memory is None and not all(role.shared_memory for role in experiment.roles.values()):
        notes.append(
            "no shared_memory: /dev/shm has the runtime's 64 MB, too small for PyTorch data loaders with workers"
        )
    for role in roles:
        memory = role.resources.get("memory", "0")  # to Kubernetes a limit of 0 means no limit
        if role.shared_memory is not None and 0 < amount(memory) < amount(role.shared_memory):
            notes.append(
                f"role {role.name}: shared_memory {role.shared_memory} is above memory {memory}, so a pod that fills it is killed"
            )
    if experiment.ttl is not None:
        notes.append(
            f"ttl {experiment.ttl}: a job deleted by it looks like drift, and the next `pulumi up` trains again"
        )
    if experiment.elastic:
        notes.append("elastic: ranks and world size are given by torchrun at run time, not by the plan")
    if any(role.per_replica and times(restart_words(experiment, role.name)) is not None for role in roles):
        notes.append("ports per replica: `restart` counts for each replica, not over the role")
    first = next(role for role in experiment.roles.values() if role.ranked)
    planned = any(port.host for role in roles for ports in role.ports for port in ports)
    if planned and experiment.network.ports == "shared" and first.replicas > 1:
        notes.append(
            "host network: every pod of the role of rank 0 declares the rendezvous port, so each needs its own node"
        )
    return tuple(notes)
