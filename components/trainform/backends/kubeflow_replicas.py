"""Replica specs: what the jobs of training-operator v1 are made of, and KubeDL's, which took the API over.

A job has replica types with names of their own, one pod template for each type, and one run policy over all. What either operator refuses, or
would overwrite without a word, is found here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.backends.decided import changes, labels_of, overwritten
from trainform.backends.endings import Part, all_of
from trainform.backends.gangs import SCHEDULER
from trainform.backends.job_kinds import KINDS, JobKind, kind_of, rendered_kind, rendered_specs
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.pods import RESTART_POLICIES, is_valid, pod_template
from trainform.manifests.shape import METADATA, POD_TEMPLATE, intact
from trainform.plan.model import Ending, Plan, RolePlan
from trainform.policy.templates import Template

ON_FAILURE = "on-failure"
ALL_WORKERS = "AllWorkers"  # of a TFJob without a chief, which else is complete when worker 0 is


@dataclasses.dataclass(frozen=True)
class Maker:
    """An operator: its name, labels and annotations that it writes on pods over what stands there, and init containers and volumes that it
    adds to them."""

    name: str
    own_keys: frozenset[str]
    adds: frozenset[str] = frozenset()


def replica_specs(plan: Plan, operator: Operator) -> dict[str, Any]:
    """The replica specs by type. A role that the job has no type for keeps its name, and is refused."""
    types = kind_of(plan).types
    return {types.get(role.group, role.name): _replica_spec(plan, role, operator) for role in plan.roles}


def shape(plan: Plan, run_policy: Mapping[str, Any]) -> dict[str, Any]:
    """What the job must look like after a merge patch; `run_policy`: the shape of the spec's other fields."""
    kind = kind_of(plan)
    types = [f"{kind.types.get(role.group, role.name)}!" for role in plan.roles]
    spec = {"replicas!": int, "restartPolicy!": str, "template!": POD_TEMPLATE}
    success = {"successPolicy": str} if kind.kind == "TFJob" else {}
    replicas = dict.fromkeys(types, spec) | {"*": {"template!": {"spec!": dict}}}  # of types that a patch brings in
    return {"metadata!": METADATA, "spec!": {**success, **run_policy, f"{kind.field}!": replicas}}


def templates(plan: Plan, job: dict[str, Any]) -> list[Template]:
    """Pods of each replica type."""
    least = {role.name: role.min_available for role in plan.roles}
    found = [Template(spec["replicas"], spec["replicas"], spec["template"]) for spec in rendered_specs(job).values()]
    return [dataclasses.replace(template, min_available=least[template.role]) for template in found]


def replica_types(job: dict[str, Any]) -> dict[str, Part]:
    """The replica types of a rendered job, each with the role whose pods it has."""
    specs = rendered_specs(job)
    return {
        name: Part(name, str(spec["template"]["metadata"]["labels"][defaults.ROLE_LABEL]))
        for name, spec in specs.items()
    }


def type_endings(job: dict[str, Any], *names: str) -> tuple[Ending, ...]:
    """The success of all replicas of these types together."""
    parts = replica_types(job)
    return all_of([*parts.values()], [parts[name] for name in names])


def worker_endings(job: dict[str, Any]) -> tuple[Ending, ...]:
    """Of a TFJob without a chief: all workers, or worker 0 alone, which TensorFlow takes for the chief."""
    worker = replica_types(job)["Worker"]
    if job["spec"].get("successPolicy") == ALL_WORKERS or rendered_specs(job)["Worker"]["replicas"] == 1:
        return type_endings(job, "Worker")
    return (Ending(f"replica 0 of the role {worker.role}", (worker.role,)),)


def backoff_limit(plan: Plan) -> int | None:
    """Restarts of containers, over all pods that start theirs again, at which the job fails; None where none does."""
    return max((role.max_retry for role in plan.roles if role.restart == ON_FAILURE), default=None)


def processes_per_node(plan: Plan) -> int | None:
    """Of each ranked pod; None where they differ, or are not known to the plan."""
    return said_number(plan, "NPROC_PER_NODE")


def said_number(plan: Plan, name: str) -> int | None:
    """The number that all ranked pods find in the variable; None where there is no such one."""
    said = {variable.value for role in plan.ranked for variable in role.env if variable.name == name}
    only = said.pop() if len(said) == 1 else None
    return int(only) if isinstance(only, str) and only.isascii() and only.isdecimal() else None


def replica_problems(plan: Plan, maker: Maker) -> Iterator[Problem]:
    """What a job of replica specs cannot express, and what the operator would overwrite."""
    yield from _places(plan)
    yield from _restarts(plan)
    yield from overwritten(plan, maker.name, maker.own_keys)
    for role in plan.roles:
        yield from _named_alike(role, maker)


def replica_changes(rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and reason of what a merge patch changes although the plan decides it: types and numbers of pods, and the container's name."""
    kind = rendered_kind(rendered)
    field = kind.field
    old, new = rendered_specs(rendered), rendered_specs(patched)
    if list(old) != list(new):
        yield f"spec.{field}", f"would have {', '.join(new)}, and the plan says {', '.join(old)}"
        return
    yield from changes([f"spec.{field}.*.replicas", *labels_of(f"spec.{field}.*.template")], rendered, patched)
    for name, spec in new.items():
        before, after = (_containers(each["template"]) for each in (old[name], spec))
        if kind.container in before and kind.container not in after:
            yield f"spec.{field}.{name}.template.spec.containers", f"would have none called {kind.container}"


def _replica_spec(plan: Plan, role: RolePlan, operator: Operator) -> dict[str, Any]:
    """The pod's restart policy stands beside the template, where a word of the operator's own (ExitCode) may be patched in too: it would
    overwrite that of the template and warn."""
    template = pod_template(plan, role, next(role.groups()), operator)
    restart = RESTART_POLICIES[role.restart]
    if is_valid(role, template):
        spec = template["spec"]
        restart = spec.get("restartPolicy", restart)
        template = {**template, "spec": {"schedulerName": SCHEDULER, **spec}}
        template["spec"].pop("restartPolicy", None)
    return {"replicas": role.replicas, "restartPolicy": restart, "template": template}


def _places(plan: Plan) -> Iterator[Problem]:
    """Every role needs a replica type of its own. TensorFlow's types are those of the launcher, which says itself what does not fit."""
    kind = kind_of(plan)
    names = " and ".join(kind.types.values())
    owners: dict[str, str] = {}
    for role in plan.roles:
        path, other = f"roles.{role.name}", owners.get(role.group)
        if not role.ranked and role.name != plan.launches:
            reason = f"is an extra, and a {kind.kind} has none: its replica types are {names}"
            yield Problem(f"{path}.ranked", False, reason, "remove the role, or use the backend volcano or jobset")
        elif other is not None and kind.kind != "TFJob":
            reason = (
                f"would be {kind.types[role.group]} of the {kind.kind}, as {other} is: its replica types are {names}"
            )
            alone = (
                " or begin with a role of one replica,"
                if kind.kind == "PyTorchJob" and plan.world.bounds is None
                else ""
            )
            yield Problem(path, None, reason, f"make the two one role,{alone} or use the backend volcano or jobset")
        else:
            owners[role.group] = role.name
        for where, name in _init_names(role):
            if name == kind.container:
                yield Problem(where, name, f"is the name of the main container of a {kind.kind}", "rename it")
        if role.overrides and kind.container not in _containers(_patched(plan, role, kind)):
            reason = (
                f"leaves no container `{defaults.MAIN_CONTAINER}`, which a {kind.kind} asks for as `{kind.container}`"
            )
            yield Problem(f"{path}.pod_overrides.spec.containers", None, reason, "patch the container by its name")


def _patched(plan: Plan, role: RolePlan, kind: JobKind) -> dict[str, Any]:
    return pod_template(plan, role, next(role.groups()), Operator("", container=kind.container))


def _containers(template: dict[str, Any]) -> list[str]:
    """Names of the containers; the wanted one where a patch has wrecked the template."""
    if not intact(template):
        return [kind.container for kind in KINDS.values()]
    return [container["name"] for container in template["spec"]["containers"]]


def _restarts(plan: Plan) -> Iterator[Problem]:
    """The run policy has one limit, and no word for starting all pods anew."""
    restarting = [role for role in plan.roles if role.restart == ON_FAILURE]
    if len({role.max_retry for role in restarting}) > 1:
        counts = ", ".join(f"{role.name} {role.max_retry}" for role in restarting)
        reason = f"differ in how often containers are started again ({counts}), and the job has one `backoffLimit`"
        yield Problem("roles", None, reason, "write the same number for all of them")
    anew = [role.name for role in plan.roles if role.restarts_job]
    everywhere = anew == [role.name for role in plan.roles if role.launched]
    for path in ["restart"] if anew and everywhere else [f"roles.{name}.restart" for name in anew]:
        reason = f"starts the whole job anew, which a {kind_of(plan).kind} cannot"
        yield Problem(path, "all-when-evicted", reason, "write on-failure, or use the backend volcano or jobset")


def _named_alike(role: RolePlan, maker: Maker) -> Iterator[Problem]:
    for where, name in _init_names(role):
        if name in maker.adds:
            yield Problem(where, name, f"is an init container that {maker.name} adds", "rename it")
    for volume in [mount.volume for mount in role.mounts if mount.volume in maker.adds]:
        yield Problem(f"storage.{volume}", None, f"is a volume that {maker.name} adds", "rename it")


def _init_names(role: RolePlan) -> Iterator[tuple[str, str]]:
    """Field and name of each init container."""
    yield from ((f"{role.init_path(index)}.name", init.name) for index, init in enumerate(role.init))
