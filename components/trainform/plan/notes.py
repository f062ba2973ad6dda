"""Notes of a plan: settings that are allowed, but may surprise."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.plan.launch.options import Option, filled, own_options
from trainform.plan.layout import Layout
from trainform.plan.model import Mount, RolePlan
from trainform.plan.process_notes import hydra_notes, process_notes
from trainform.plan.references import expanded
from trainform.plan.restart import ANY_EVENT, POD_FAILED, default_policies, restart_words, times
from trainform.plan.variables import launcher_values
from trainform.plan.world import first_ranked, launching_role
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import EACH_POD, FIRST_POD
from trainform.spec.quantities import amount

_FAILURES = (None, "PodFailed", "TaskFailed", ANY_EVENT)  # None: a policy for an exit code
# Events that come only after a pod has failed, each with the reason for that.
_AFTER_A_FAILURE = {
    "PodEvicted": "a pod that is evicted fails before it is gone",
    "TaskFailed": "without `restart: on-failure` no container is started again",
}


def plan_notes(layout: Layout, roles: tuple[RolePlan, ...]) -> tuple[str, ...]:
    """A sentence for each setting that is allowed, but may surprise."""
    experiment, notes = layout.experiment, []
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
    first = experiment.roles[first_ranked(experiment)]
    planned = any(port.host for role in roles for ports in role.ports for port in ports)
    if planned and experiment.network.ports == "shared" and first.replicas > 1:
        notes.append(
            "host network: every pod of the role of rank 0 declares the rendezvous port, so each needs its own node"
        )
    return (
        *notes,
        *_starts_short(experiment, roles),
        *process_notes(experiment, roles),
        *_other_values(layout, roles),
        *hydra_notes(experiment, roles),
        *_policies_without_effect(experiment),
        *_written_at_once(experiment, roles),
        *_unseen_failures(layout, roles),
    )


def _starts_short(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on a part of a static world that may start by itself. Other launchers than a command wait for all pods, and `rules` refuse it."""
    for role in roles if experiment.launcher.kind == "command" else ():
        if role.rank_offset is not None and role.min_available < role.replicas:
            yield (
                f"role {role.name} starts with {role.min_available} of its {role.replicas} pods, and WORLD_SIZE counts all: a command that waits for "
                "the others holds its accelerators meanwhile"
            )


def _other_values(layout: Layout, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on variables of the user's in the place of other values that the launcher needs. They win, so the pods may wait for a world that the
    plan does not have."""
    found: dict[str, dict[str, None]] = {}
    for role in roles:
        planned = launcher_values(layout, role.name) | _scripted_values(layout, role)
        for variable in role.env:
            value = planned.get(variable.name)
            if value is not None and variable.value != value:
                found.setdefault(variable.origin, {})[value] = None
    for option, value in _other_options(layout, roles):
        found.setdefault(f"{option.path} ({option.written})", {})[value] = None
    for origin, values in found.items():
        yield f"{origin} takes the place of the plan's {' or '.join(values)}: the launcher and its processes see your value"


def _other_options(layout: Layout, roles: tuple[RolePlan, ...]) -> Iterator[tuple[Option, str]]:
    """The options of the user's that say something else than the launch script, with what it says."""
    experiment = layout.experiment
    started = [role for role in roles if role.launched and layout.launching in (None, role.name)]
    for option in own_options(experiment.launcher):
        for role in (role for role in started if experiment.roles[role.name].command is None):
            values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
            said = filled(option.said, values | _scripted_values(layout, role))
            if said is not None and expanded(option.value, values) != said:
                yield option, said


def _scripted_values(layout: Layout, role: RolePlan) -> dict[str, str]:
    """What the launch script computes for the role's pods (`plan.launch`), as a text."""
    if role.name in layout.launched and layout.tf_config:
        return {"TF_CONFIG": "cluster and own task"}
    first = role.rank(0)
    if first is None or layout.launching is not None or layout.experiment.launcher.tensorflow is not None:
        return {}
    return {"RANK": str(first) if role.replicas == 1 else f"{first} to {role.rank(role.replicas - 1)}"}


def _unseen_failures(layout: Layout, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on extras that may write what the training reads, such as a download: nothing waits for them, and nobody sees them fail."""
    launched = [mount for role in roles if role.launched for mount in role.mounts]
    for role in roles:
        writes = any(_overlap(mount, other) for mount in role.mounts if not mount.read_only for other in launched)
        is_heeded = any(policy.event in _FAILURES for policy in role.policies)
        if writes and role.replicas and not role.launched and not is_heeded:
            yield (
                f"role {role.name} starts together with the training, which neither waits for its end nor ends by its failure: what the training reads "
                "of it belongs into a step of `prepare`"
            )


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
    for place, (step, running) in _commands_before_the_start(experiment, roles).items():
        claims = _shared(running)
        if claims:
            pods = sum(role.replicas for role in running)
            named = ", ".join(f"{claim} ({path})" for claim, path in claims.items())
            yield (
                f"step {step} ({place}) runs in {pods} pods at once, and several of them can write to the "
                f"{'claim' if len(claims) == 1 else 'claims'} {named}; if it does, {_in_one_pod(experiment, roles, claims, place)}"
            )


def _commands_before_the_start(
    experiment: Experiment, roles: tuple[RolePlan, ...]
) -> dict[str, tuple[str, list[RolePlan]]]:
    """The commands by their field paths: name, and the roles whose pods run it. Left out are steps of which the user says in which pods they run,
    and checkouts, which write to the pod's own volume."""
    said = {step.name for step in experiment.prepare if step.on is not None or step.git is not None}
    found: dict[str, tuple[str, list[RolePlan]]] = {}
    for role in roles:
        for index, container in enumerate(role.init):
            if index >= len(role.prepared) or container.name not in said:
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
    """The fix: what to write instead. The one pod is one for which the others wait, and it has the claims."""
    launching = launching_role(experiment)
    usual = first_ranked(experiment) if launching is None else launching
    waited = (role for role in roles if role.name == launching or role.ranked)
    able = [role.name for role in waited if claims.keys() <= {each.claim for each in role.mounts if not each.read_only}]
    one = f"`on: {FIRST_POD}`" if usual in able or not able else f"`on: {FIRST_POD}` and `roles: [{able[0]}]`"
    if place.startswith("prepare"):
        return f"write {one}, otherwise `on: {EACH_POD}`"
    return f"make it a step of `prepare` with {one}"
