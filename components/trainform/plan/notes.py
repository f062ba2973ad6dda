"""Notes of a plan on settings that are allowed, but may surprise, whatever the operator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainform import defaults
from trainform.plan.launch.options import WORLD, Option, filled, own_options, torchrun_variables, unheeded_variables
from trainform.plan.layout import Layout
from trainform.plan.model import Mount, RolePlan
from trainform.plan.references import expanded
from trainform.plan.restart import POD_FAILED, default_policies
from trainform.plan.variables import launcher_values
from trainform.plan.world import first_ranked, launching_role, processes_per_node
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import EACH_POD, FIRST_POD

_OF_HYDRA = re.compile(r"(I_MPI|HYDRA|MPICH|MPIR_CVAR|MV2)_")
_HYDRA_HOSTS = ("HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE")
_FLAGS = ("PET_STANDALONE",)
# Events that come only after a pod has failed, each with the reason for that.
_AFTER_A_FAILURE = {
    "PodEvicted": "a pod that is evicted fails before it is gone",
    "TaskFailed": "without `restart: on-failure` no container is started again",
}


def plan_notes(layout: Layout, roles: tuple[RolePlan, ...]) -> tuple[str, ...]:
    """A sentence for each setting that is allowed, but may surprise."""
    experiment = layout.experiment
    return (
        *_elastic(experiment),
        *_other_values(layout, roles),
        *_unheeded(experiment, roles),
        *_other_mpi(experiment, roles),
        *_policies_without_effect(experiment),
        *_written_at_once(experiment, roles),
    )


def _elastic(experiment: Experiment) -> Iterator[str]:
    if experiment.elastic:
        yield (
            "launcher.torchrun.elastic: torchrun gives ranks and the world size to the processes when it has started, so the plan has none; leave it out "
            "for a world that the plan knows"
        )


def _other_values(layout: Layout, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on variables of the user's in the place of other values that the launcher needs. They win, so the pods may wait for a world that the
    plan does not have."""
    found: dict[str, dict[str, None]] = {}
    of_torchrun, world = torchrun_variables(layout.experiment.launcher), _of_world(layout)
    for role in roles:
        planned = {
            **launcher_values(layout, role.name),
            **_scripted_values(layout, role),
            **(_values_of_torchrun(layout, role, of_torchrun, world) if of_torchrun else {}),
        }
        values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
        for variable in role.env:
            value = planned.get(variable.name)
            if value is None or variable.value == value:
                continue
            if not isinstance(variable.value, str) or expanded(variable.value, values) != value:
                found.setdefault(variable.origin, {})[value] = None
    for option, value in _other_options(layout, roles, world):
        found.setdefault(f"{option.path} ({option.written})", {})[value] = None
    for origin, said in found.items():
        yield (
            f"{origin}: it takes the place of the plan's {' or '.join(said)}, so the launcher and its processes see your value; remove it for the plan's"
        )


def _unheeded(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """Notes on variables for which torchrun does not look, since the launch script gives the option."""
    given = unheeded_variables(experiment.launcher)
    started = [role for role in roles if role.launched and experiment.roles[role.name].command is None]
    unheeded = {each.origin: given[each.name] for role in started for each in role.env if each.name in given}
    for origin, option in unheeded.items():
        yield (
            f"{origin}: torchrun does not heed it, since the launch script gives it --{option.replace('_', '-')}, which wins; remove it, or write the "
            "option in `launcher.torchrun.launcher_args`"
        )


def _other_mpi(experiment: Experiment, roles: tuple[RolePlan, ...]) -> Iterator[str]:
    """A note on variables of MPICH or Intel MPI, whose mpirun (Hydra) knows nothing of what the plan says to Open MPI's. Where it is to start processes
    in other pods, the launch script stops it."""
    if experiment.launcher.mpi is None:
        return
    names = {variable.name for role in roles for variable in role.env if role.launched}
    found = sorted(filter(_OF_HYDRA.match, names))
    if found and not names.intersection(_HYDRA_HOSTS):
        yield (
            f"launcher.mpi: {', '.join(found)} {'is' if len(found) == 1 else 'are'} of MPICH or Intel MPI, whose mpirun does not know the job's hosts: in "
            f"such an image the job ends with an error; use one with Open MPI 4 or 5, or name a file with the hosts in {' or '.join(_HYDRA_HOSTS)}"
        )


def _other_options(layout: Layout, roles: tuple[RolePlan, ...], world: dict[str, str]) -> Iterator[tuple[Option, str]]:
    """The options of the user's that say something else than the launch script, with what it says."""
    experiment = layout.experiment
    started = [role for role in roles if role.launched and layout.launching in (None, role.name)]
    for option in own_options(experiment.launcher):
        for role in (role for role in started if experiment.roles[role.name].command is None):
            values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
            said = filled(option.said, values | _scripted_values(layout, role) | world)
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


def _values_of_torchrun(
    layout: Layout, role: RolePlan, variables: dict[str, str], world: dict[str, str]
) -> dict[str, str]:
    """What the plan says in the place of variables that torchrun reads in the role's pods, as far as it is known."""
    if not role.launched or layout.experiment.roles[role.name].command is not None:
        return {}
    values = {each.name: each.value for each in role.env if isinstance(each.value, str)}
    said = {name: filled(text, values | world) for name, text in variables.items()}
    off = {name for name in said if name in _FLAGS and values.get(name) == "0"}
    return {name: text for name, text in said.items() if text is not None and name not in off}


def _of_world(layout: Layout) -> dict[str, str]:
    """What the plan says of the whole world, by names of `launch.options`."""
    experiment, world = layout.experiment, layout.world
    slots = {processes_per_node(experiment.launcher, role) for role in experiment.roles.values() if role.ranked}
    found = {
        "hostfile": f"{defaults.LAUNCH_MOUNT}/{defaults.HOSTFILE}",
        "nodes": str(world.nodes),
        "slots": " or ".join(str(number) for number in sorted(slots)),
        **({"mode": "--multi_gpu"} if world.processes > 1 else {}),
        **({"rendezvous": "rendezvous"} if world.nodes > 1 or experiment.elastic else {}),
    }
    return {f"{WORLD}{name}": value for name, value in found.items()}


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
        if sum(replicas for replicas, other in mounts if overlap(mount, other)) > 1:
            claims.setdefault(mount.claim, mount.path)
    return claims


def overlap(one: Mount, other: Mount) -> bool:
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
