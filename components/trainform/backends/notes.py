"""The notes of a plan: settings that are allowed and that silently cost a night, accelerators or data.

`NOTES` is the whole list. What an operator does in its own way with a field is in the table `FIELDS` of its backend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from trainform.backends.backend import Backend
from trainform.backends.outcome import ends_by
from trainform.backends.refusals import support_notes
from trainform.console.sections import listed
from trainform.errors import list_names
from trainform.manifests.manifest import Manifest, mappings
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan, RolePlan
from trainform.rules.limits.rule import Judged
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import patched_paths
from trainform.spec.storage import ONE_NODE

NOTES = {
    "shared-memory": "role {role}: /dev/shm has the container runtime's 64 MB, and PyTorch's data loaders with "
    "workers fail when it is full; write `shared_memory` with a size",
    "ttl": "ttl: the job is deleted {seconds} s after its end, and the next `pulumi up` after a `pulumi refresh` "
    "makes it again and trains again; leave it out to keep the job",
    "ttl-of-pods": "ttl: {operator} deletes only the pod of the launcher; the MPIJob stays",
    "no-end": "nothing ends this job when the role {role} completes: the pods of {others} run until they end by "
    "themselves, or until the job is deleted; remove the policy that replaces the plan's policy",
    "patched-end": "{fields}: the patch decides whether this job ends when the role {role} completes; if it does not, "
    "the pods of {others} run until they end by themselves, or until the job is deleted; remove the patch to end it as "
    "planned",
    "sidecar": "role {role}: a pod has ended only when its container {container} has ended too, and the job waits "
    "for it; write it in `initContainers`, with `restartPolicy: Always`, to let it go with the others",
    "restarts": "role {role}: a container that fails is started again, however often, and nothing ends the job for "
    "it; write the policy `TaskFailed: TerminateJob` to end it at restart {number}",
    "run-time": "max_run_time: each pod has this time, and one that is made again has all of it anew; write `restart: "
    "never` to have the job end after it",
    "node-port": "role {role}: on the host network each of its {pods} pods declares the same port for the "
    "rendezvous, so each needs a node of its own; write `network.ports: per-replica` to let several run on one "
    "node",
    "one-node-claim": "storage.{volume}.access_modes: the pods of one node mount a claim with {mode}, and {why}: "
    "those of other nodes may wait for it for ever; write `[ReadWriteMany]`, or limit the volume by `roles`",
    "written-at-once": "step {step} ({place}) runs in {pods} pods at once, and several of them can write to "
    "{claims}; if it does, {fix}",
    "other-world": "{field}: it replaces the plan's {planned}, so the launcher and its processes see your "
    "value; remove it for the plan's",
    "patched": "patched; not part of the plan: {paths}",
}
"""The sentence of each note: what happens, to which pods, and what to write if that is not wanted."""

_SHM = "/dev/shm"  # noqa: S108 -- a mount of pods
_MOST_PATHS = 4
_END_FIELDS = frozenset(["successPolicy", "policies", "minSuccess"])
_Found = Iterator[tuple[str, dict[str, Any]]]
"""Codes of notes, each with the values of its sentence."""


def job_notes(
    experiment: Experiment,
    environment: Environment,
    plan: Plan,
    backend: Backend,
    manifests: Sequence[Manifest],
    judged: Judged,
    ends_with: Collection[Ending],
) -> Iterator[str]:
    """Yield the notes of the rendered job, and those of its operator."""
    found = (
        *_without_shared_memory(plan, judged.templates),
        *_node_ports(experiment, plan, backend),
        *_other_world(plan),
        *_written_at_once(experiment, plan),
        *_one_node_claims(plan, environment),
        *_no_end(plan, ends_with),
        *_sidecars(judged.templates, backend.conventions(plan).container),
        *_ttl(plan),
        *_patched(plan),
    )
    yield from (NOTES[code].format(**values) for code, values in found)
    yield from support_notes(experiment, backend.FIELDS)
    yield from backend.notes(plan, manifests)


def _ttl(plan: Plan) -> _Found:
    if plan.ttl_seconds is not None:
        code = "ttl-of-pods" if plan.operator.keeps_job else "ttl"
        yield code, {"seconds": plan.ttl_seconds, "operator": plan.operator.project}


def _without_shared_memory(plan: Plan, templates: Sequence[Template]) -> _Found:
    """A patch may mount a volume there, too."""
    without = dict.fromkeys(each.role for each in templates if each.replicas and not _mounts(each, _SHM))
    for role in without:
        if role in plan.by_name and plan.by_name[role].shared_memory is None:
            yield "shared-memory", {"role": role}


def _mounts(template: Template, folder: str) -> bool:
    mounts = (mount for _, each in template.containers for mount in mappings(each.get("volumeMounts")))
    return any(str(mount.get("mountPath")).rstrip("/") == folder for mount in mounts)


def _sidecars(templates: Sequence[Template], main: str) -> _Found:
    """A container of the start with `restartPolicy: Always` ends with the others, so it has no note."""
    found = {
        (template.role, str(container.get("name")))
        for template in templates
        for container in mappings(template.spec.get("containers"))
        if template.replicas and container.get("name") != main
    }
    for role, container in sorted(found):
        yield "sidecar", {"role": role, "container": container}


def _no_end(plan: Plan, ends_with: Collection[Ending]) -> _Found:
    """The success of the role that should end the job does not end it, so that the other pods continue to run."""
    others = [role for role in plan.roles if role.name != plan.ending_role and role.replicas > 0]
    if plan.ending_role is None or not others or ends_by(plan.ending_role, ends_with):
        return
    held: dict[str, int] = {}
    for role in others:
        kind, count = ("", 0) if role.accelerators is None else role.accelerators
        held[kind] = held.get(kind, 0) + role.replicas * count
    accelerators = "".join(f", with {count} {kind}," for kind, count in held.items() if count)
    values = {"role": plan.ending_role, "others": listed([role.name for role in others]) + accelerators}
    patched = patched_endings(plan)
    if patched:
        yield "patched-end", {**values, "fields": list_names(patched, _MOST_PATHS)}
    else:
        yield "no-end", values


def _node_ports(experiment: Experiment, plan: Plan, backend: Backend) -> _Found:
    """Yield the note on ports of nodes, unless the operator's own note on `network.host` says it."""
    first, ports = plan.ranked[0], backend.FIELDS.get("network.ports")
    able = ports is None or not ports.is_refusal
    if able and experiment.network.ports == "shared" and first.replicas > 1 and any(map(_on_node, plan.roles)):
        yield "node-port", {"role": first.name, "pods": first.replicas}


def _on_node(role: RolePlan) -> bool:
    return any(port.host for ports in role.ports for port in ports)


def _one_node_claims(plan: Plan, environment: Environment) -> _Found:
    """It is a note and no problem, since drivers of file systems over the network often do not hold their volumes to
    one node."""
    for claim in plan.claims:
        if claim.request.access_modes != [ONE_NODE]:
            continue
        roles = [role for role in plan.roles if any(mount.claim == claim.name for mount in role.mounts)]
        why = _several_nodes(roles, environment)
        if why is not None:
            yield "one-node-claim", {"volume": claim.key, "mode": ONE_NODE, "why": why}


def _several_nodes(roles: Sequence[RolePlan], environment: Environment) -> str | None:
    """Return why one node has no room for all pods of these roles; None if it may have."""
    totals: dict[str, int] = {}
    for role in roles:
        if role.replicas > 1 and not role.per_replica and _on_node(role):
            return f"each of the {role.replicas} pods of the role {role.name} needs a node of its own for its port"
        kind, count = ("", 0) if role.accelerators is None else role.accelerators
        totals[kind] = totals.get(kind, 0) + role.replicas * count
    for kind, total in totals.items():
        known = environment.accelerators.get(kind)
        if known is not None and known.per_node is not None and total > known.per_node:
            return f"its pods need {total} {kind}, of which a node has {known.per_node}"
    return None


def _other_world(plan: Plan) -> _Found:
    """The user's value of a variable wins, so the pods may wait for a world that the plan does not have."""
    found: dict[str, dict[str, None]] = {}
    for role in plan.roles:
        scripted = _by_script(plan, role)
        for variable in role.env:
            planned = variable.instead or scripted.get(variable.name)
            if planned and not variable.origin.startswith("launcher."):
                found.setdefault(variable.origin, {})[planned] = None
    for field, planned_values in found.items():
        yield "other-world", {"field": field, "planned": " or ".join(planned_values)}


def _by_script(plan: Plan, role: RolePlan) -> Mapping[str, str]:
    """Return what the launch script sets in the role's pods, where the user sets nothing."""
    if plan.launcher == "tensorflow" and role.launched and plan.world.nodes > 1:
        return {"TF_CONFIG": "cluster and own task"}
    first = role.rank(0)
    if first is None or plan.launches is not None or plan.launcher == "tensorflow":
        return {}
    ranks = str(first) if role.replicas == 1 else f"{first} to {role.rank(role.replicas - 1)}"
    met = f"{plan.rendezvous.address}:{plan.rendezvous.port}"
    jax = {"JAX_PROCESS_ID": ranks, "JAX_COORDINATOR_ADDRESS": met} if plan.launcher == "jax" else {}
    return {"RANK": ranks} | jax


def _written_at_once(experiment: Experiment, plan: Plan) -> _Found:
    """It is a note and no problem, because only the user knows whether the command writes to the claim. A checkout
    writes to the pod's own volume."""
    once, own = "write `on: first-pod`, otherwise `on: each-pod`", "make it a step of `prepare` with `on: first-pod`"
    steps: list[tuple[Any, str, list[RolePlan], str]] = [
        (step, f"prepare[{index}]", [role for role in plan.roles if index in role.prepared], once)
        for index, step in enumerate(experiment.prepare)
        if step.on is None and step.git is None
    ]
    steps += [
        (role.init[index], role.init_path(index), [role], own)
        for role in plan.roles
        for index in range(len(role.prepared), len(role.init))
    ]
    for step, place, running, fix in steps:
        claims = _shared(running)
        if claims:
            named = ", ".join(f"{claim} ({path})" for claim, path in claims.items())
            values = {"step": step.name, "place": place, "pods": sum(role.replicas for role in running), "fix": fix}
            yield "written-at-once", {**values, "claims": f"the {'claim' if len(claims) == 1 else 'claims'} {named}"}


def _shared(roles: Sequence[RolePlan]) -> dict[str, str]:
    """Return the claims to which several of these pods can write in the same folder, each with the path of a mount."""
    pods: Counter[tuple[str, str | None]] = Counter()
    paths: dict[tuple[str, str | None], str] = {}
    for role in roles:
        for mount in role.mounts:
            if mount.claim is None:
                continue
            folder = (mount.claim, mount.sub_path)
            pods[folder] += 0 if mount.read_only else role.replicas
            paths.setdefault(folder, mount.path)
    return {claim: paths[claim, sub_path] for (claim, sub_path), count in pods.items() if count > 1}


def _patched(plan: Plan) -> _Found:
    patches = {"manifest_overrides": plan.manifest_overrides}
    patches |= {f"roles.{role.written}.pod_overrides": role.overrides for role in plan.roles}
    paths = [leaf for path, patch in patches.items() if patch for leaf in patched_paths(patch, path)]
    if paths:
        yield "patched", {"paths": list_names(paths, _MOST_PATHS)}


def patched_endings(plan: Plan) -> list[str]:
    """Return the fields with a merge patch that decides what ends the job."""
    return [
        field
        for key, patch in plan.manifest_overrides.items()
        for field in dict.fromkeys(_patched_fields(patch.get("spec"), f"manifest_overrides.{key}.spec"))
    ]


def _patched_fields(patch: object, path: str) -> Iterator[str]:
    if isinstance(patch, list):
        for item in patch:
            yield from _patched_fields(item, path)
    elif isinstance(patch, dict):
        for key, part in patch.items():
            below = f"{path}.{key}"
            yield from [below] if key in _END_FIELDS else _patched_fields(part, below)
