"""A job on an existing runtime of Kubeflow Trainer that somebody else owns: the TrainJob sets what it can.

Source: Kubeflow Trainer 2.3.0, `pkg/apis/trainer/v1alpha1` (PodSpecPatch, ContainerPatch) and `pkg/runtime`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform import defaults
from trainform.backends.gangs import QUEUE_ANNOTATION, SCHEDULER
from trainform.backends.outcome import ends_with_role
from trainform.backends.trainer.runtime import (
    LAUNCHER,
    MPI,
    NODE,
    conventions_of,
    num_nodes,
    rendezvous_words,
)
from trainform.manifests.manifest import without_empty
from trainform.manifests.pods import pod_template
from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan, RolePlan, RuntimePlan

MANAGER = "trainform.dev/trainform"
# The fields of a runtime's pods, and of the container `node`, that a TrainJob may change where the experiment sets
# them.
PATCHED = (
    *("serviceAccountName", "volumes", "imagePullSecrets", "securityContext", "nodeSelector", "tolerations"),
    *("affinity", "schedulingGates", "terminationGracePeriodSeconds"),
)
PATCHED_IN_CONTAINERS = ("volumeMounts", "securityContext")
_OF_TRAINER = ("image", "env", "resources")  # fields of the container that `trainer` of the TrainJob has


def named_spec(plan: Plan, runtime: RuntimePlan) -> dict[str, Any]:
    """The spec of the TrainJob."""
    template = _template(plan, counted(plan))
    container = template["spec"]["containers"][0]
    words = rendezvous_words() if plan.launcher != MPI else []
    trainer = {
        "image": container["image"],
        "command": [*words, *container.get("command", [])],
        "args": container.get("args", []),
        "env": container.get("env", []),
        "numNodes": num_nodes(plan),
        "numProcPerNode": plan.world.processes // plan.world.nodes,
        "resourcesPerNode": container.get("resources", {}),
    }
    queue = {} if plan.admission == defaults.KUEUE else {"annotations": {QUEUE_ANNOTATION: plan.queue.name}}
    patches = [{"name": role.group, "template": {"spec": {"template": patch(plan, role)}}} for role in plan.roles]
    patched = without_empty({"metadata": queue, "spec": {"replicatedJobs": patches}})
    return {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": runtime.kind, "name": runtime.name},
        "trainer": without_empty(trainer),
        "runtimePatches": [{"manager": MANAGER, "trainingRuntimeSpec": {"template": patched}}],
    }


def named_templates(plan: Plan) -> list[Template]:
    """The pod template of each role, with the fields that the experiment sets. The scheduler is the runtime's, which
    `check_runtime` holds against the admission."""
    scheduler = None if plan.admission == defaults.KUEUE else SCHEDULER
    return [
        Template(role.replicas, role.min_available, _template(plan, role), scheduler=scheduler) for role in plan.roles
    ]


def named_endings(plan: Plan, runtime: RuntimePlan) -> tuple[Ending, ...]:
    """What ends the job. `up` checks the runtime of the cluster against it."""
    condition = f", if the {runtime.kind} {runtime.name} says so" if runtime.content is None else ""
    return ends_with_role(plan, plan.ending_role, condition)


def expected(plan: Plan) -> dict[str, str]:
    """The roles for which the runtime has pods, with the name of the replicated job of each."""
    names = (LAUNCHER, NODE) if plan.launcher == MPI else (NODE,)
    return {role.name: role.group for role in plan.roles if role.group in names and (role.ranked or role.launched)}


def counted(plan: Plan) -> RolePlan:
    """The role that `trainer` of the TrainJob configures."""
    name = LAUNCHER if plan.launcher == MPI else NODE
    return next(role for role in plan.roles if role.group == name)


def unsettable(plan: Plan, role: RolePlan) -> Iterator[str]:
    """Yield the fields in the role's merge patch that a TrainJob cannot change, as paths in the patch."""
    allowed = (*PATCHED_IN_CONTAINERS, *(_OF_TRAINER if role.name == counted(plan).name else ()))
    for field, value in mapping(role.overrides.get("spec")).items():
        containers = mapping(value) if field == "containers" else {}
        yield from (f"spec.containers.{name}" for name in containers if name != defaults.MAIN_CONTAINER)
        main = mapping(containers.get(defaults.MAIN_CONTAINER))
        yield from (f"spec.containers.{defaults.MAIN_CONTAINER}.{name}" for name in main if name not in allowed)
        if field not in PATCHED and not containers:
            yield f"spec.{field}"


def _template(plan: Plan, role: RolePlan) -> dict[str, Any]:
    return pod_template(plan, role, next(role.groups()), conventions_of(plan))


def patch(plan: Plan, role: RolePlan) -> dict[str, Any]:
    """The TrainJob's patch for the role's pods."""
    template = _template(plan, role)
    spec, container = template["spec"], template["spec"]["containers"][0]
    inside = {key: container[key] for key in PATCHED_IN_CONTAINERS if key in container}
    patched = {key: spec[key] for key in PATCHED if key in spec}
    if inside:
        patched["containers"] = [{"name": NODE, **inside}]
    return without_empty({"metadata": template["metadata"], "spec": patched})
