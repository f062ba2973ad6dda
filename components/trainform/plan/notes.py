"""Notes of a plan: settings that are allowed, but may surprise."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.plan.model import Mount, RolePlan
from trainform.plan.restart import POD_FAILED, default_policies, restart_words, times
from trainform.plan.world import TASK_TYPES, launching_role
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import amount

# Events that come only after a pod has failed, each with the reason for that.
_AFTER_A_FAILURE = {
    "PodEvicted": "a pod that is evicted fails before it is gone",
    "TaskFailed": "without `restart: on-failure` no container is started again",
}


def plan_notes(experiment: Experiment, roles: tuple[RolePlan, ...]) -> tuple[str, ...]:
    """A sentence for each setting that is allowed, but may surprise."""
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
    return (*notes, *_policies_without_effect(experiment), *_written_at_once(experiment, roles))


def _policies_without_effect(experiment: Experiment) -> Iterator[str]:
    """Notes on the user's policies that never act, since a default policy acts upon the failure before."""
    written = {"policies": (experiment.policies, [*experiment.roles])} | {
        f"roles.{name}.policies": (role.policies, [name]) for name, role in experiment.roles.items()
    }
    failing = {name for name, policies in default_policies(experiment).items() if POD_FAILED in policies}
    for path, (policies, names) in written.items():
        first = not failing.isdisjoint(names)
        for policy in [] if policies is None else policies:
            why = _AFTER_A_FAILURE.get(str(policy.event))
            if why is not None and first and policy.action != POD_FAILED.action:
                yield (
                    f"{path}: {why}, so the default `{POD_FAILED.event}: {POD_FAILED.action}` acts first; write a policy for "
                    f"{POD_FAILED.event} too"
                )


def _written_at_once(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on commands that run before the start in several pods with a common claim: the pods might write the same files at the same time. It is
    a note and no problem, because only the user knows whether the command writes there."""
    for place, (step, running) in _commands_before_the_start(roles).items():
        claims = _shared(running)
        if claims:
            pods = sum(role.replicas for role in running)
            named = ", ".join(f"{claim} ({path})" for claim, path in claims.items())
            yield (
                f"step {step} ({place}) runs in {pods} pods at once, and several of them can write to the "
                f"{'claim' if len(claims) == 1 else 'claims'} {named}; if it does, {_in_one_pod(experiment, roles, claims, place)}"
            )


def _commands_before_the_start(roles: tuple[RolePlan, ...]) -> dict[str, tuple[str, list[RolePlan]]]:
    """The commands by their field paths: name, and the roles whose pods run it. Checkouts are left out: they write to the pod's own volume."""
    found: dict[str, tuple[str, list[RolePlan]]] = {}
    for role in roles:
        checkouts = {checkout.step for checkout in role.checkouts}
        for index, container in enumerate(role.init):
            if container.name not in checkouts:
                found.setdefault(role.init_path(index), (container.name, []))[1].append(role)
    return found


def _shared(roles: list[RolePlan]) -> dict[str, str]:
    """The claims to which several of these pods can write in the same folder, each with the path of its first mount."""
    mounts = [(role.replicas, mount) for role in roles for mount in role.mounts if not mount.read_only]
    claims: dict[str, str] = {}
    for _, mount in mounts:
        if sum(replicas for replicas, other in mounts if _overlap(mount, other)) > 1:
            claims.setdefault(mount.claim, mount.path)
    return claims


def _overlap(one: Mount, other: Mount) -> bool:
    """True if both mount the same folder of a claim, or if one folder is inside the other."""
    return one.claim == other.claim and all(
        name == other_name for name, other_name in zip(_folders(one), _folders(other), strict=False)
    )


def _folders(mount: Mount) -> list[str]:
    return [] if mount.sub_path is None else [name for name in mount.sub_path.split("/") if name not in ("", ".")]


def _in_one_pod(experiment: Experiment, roles: tuple[RolePlan, ...], claims: dict[str, str], place: str) -> str:
    """The fix: what to write instead. The one pod must be one for which the others wait: the launching pod, or a ranked one."""
    launching = launching_role(experiment)
    single = [
        role.name
        for role in sorted(roles, key=lambda role: role.name != launching)
        if role.replicas == 1 and (role.ranked or role.name == launching)
        if claims.keys() <= {mount.claim for mount in role.mounts if not mount.read_only}
    ]
    # the names of TensorFlow's roles are the types of its tasks
    new = TASK_TYPES[0] if experiment.launcher.tensorflow is not None else "master"
    split = "" if single else f"split a role of one replica off, such as `{new}: {{replicas: 1}}`, and "
    run = "run it in one pod" if place.startswith("prepare") else "make it a step of `prepare` that runs in one pod"
    return f"{split}{run}: write `roles: [{single[0] if single else new}]`"
