"""A job on an existing runtime of Kubeflow Trainer that the job does not own: the TrainJob sets what it can.

Rules check that the plan can run on it, in its file, if there is one, and in the cluster's object.

Source: Kubeflow Trainer 2.3.0, `pkg/apis/trainer/v1alpha1` (PodSpecPatch, ContainerPatch) and `pkg/runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.backends.admission import QUEUE_ANNOTATION, SCHEDULER
from trainform.backends.trainer.runtime import (
    ANCESTOR_LABEL,
    LAUNCHER,
    MPI,
    NODE,
    RUN_AGAIN,
    TORCH,
    TRAINER,
    TTL,
    ancestor,
    conventions_of,
    node_containers,
    num_nodes,
    rendezvous_words,
    replicated_jobs,
    runtime_launcher_is_node,
)
from trainform.errors import Problem
from trainform.manifests.manifest import mapping, quantity, without_empty
from trainform.manifests.pods import pod_template
from trainform.manifests.templates import Template
from trainform.plan.model import Plan, RolePlan, RuntimePlan

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
    """Return the spec of the TrainJob."""
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
    queue = {"annotations": {QUEUE_ANNOTATION: plan.queue.name}} if plan.admission == defaults.VOLCANO else {}
    patches = [{"name": role.group, "template": {"spec": {"template": patch(plan, role)}}} for role in plan.roles]
    patched = without_empty({"metadata": queue, "spec": {"replicatedJobs": patches}})
    return {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": runtime.kind, "name": runtime.name},
        "trainer": without_empty(trainer),
        "runtimePatches": [{"manager": MANAGER, "trainingRuntimeSpec": {"template": patched}}],
    }


def named_templates(plan: Plan) -> list[Template]:
    """Return the pod template of each role, with the fields that the experiment sets. The scheduler is the runtime's,
    which `check_runtime` holds against the admission."""
    scheduler = SCHEDULER if plan.admission == defaults.VOLCANO else None
    return [
        Template(role.replicas, role.min_available, _template(plan, role), scheduler=scheduler) for role in plan.roles
    ]


def expected(plan: Plan) -> dict[str, str]:
    """Return the roles for which the runtime has pods, with the name of the replicated job of each."""
    names = (LAUNCHER, NODE) if plan.launcher == MPI else (NODE,)
    return {role.name: role.group for role in plan.roles if role.group in names and (role.ranked or role.launched)}


def counted(plan: Plan) -> RolePlan:
    """Return the role that `trainer` of the TrainJob configures."""
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
    return {**pod_template(plan, role, next(role.groups()), conventions_of(plan))}


def patch(plan: Plan, role: RolePlan) -> dict[str, Any]:
    """Return the TrainJob's patch for the role's pods."""
    template = _template(plan, role)
    spec, container = template["spec"], template["spec"]["containers"][0]
    inside = {key: container[key] for key in PATCHED_IN_CONTAINERS if key in container}
    patched = {key: spec[key] for key in PATCHED if key in spec}
    if inside:
        patched["containers"] = [{"name": NODE, **inside}]
    return without_empty({"metadata": template["metadata"], "spec": patched})


LAUNCHERS = ("torchrun", "accelerate", "command", MPI)


def named_problems(plan: Plan, runtime: RuntimePlan) -> Iterator[Problem]:
    """Yield problems with fields that a TrainJob cannot set on an existing runtime, and with the runtime's file."""
    ours = "leave `runtime` out, so that trainform makes a runtime for the job"
    if plan.launcher not in LAUNCHERS:
        reason = f"trainform runs only {', '.join(LAUNCHERS)} on an existing runtime"
        yield Problem("launcher", plan.launcher, reason, ours)
        return
    roles = expected(plan)
    for role in plan.roles:
        if role.name not in roles:
            reason = f"an existing runtime has no pods for the role, only for {' and '.join(roles.values())}"
            yield Problem(f"roles.{role.name}", None, reason, f"remove it, or {ours}")
            continue
        for field in ("init", "working_dir"):
            if getattr(role, field):
                yield Problem(f"roles.{role.name}.{field}", None, _FIXED, f"remove it, or {ours}")
        for field in unsettable(plan, role):
            yield Problem(f"roles.{role.name}.pod_overrides.{field}", None, _FIXED, f"remove it, or {ours}")
        usual = "on-failure" if plan.world.bounds is not None else "never"
        if role.restarts_job or role.restart_rule is not None or (role.ranked and role.restart != usual):
            yield Problem(
                "restart", role.restart, "the existing runtime decides about restarts", f"remove it, or {ours}"
            )
    not_settable = {
        "network.host": plan.host_network,
        "network.topology": plan.topology is not None,
        "priority_class": plan.priority_class is not None,
        "image_pull_policy": plan.image_pull_policy != "IfNotPresent",
    }
    for path in (path for path, is_set in not_settable.items() if is_set):
        yield Problem(path, None, _FIXED, f"remove it, or {ours}")
    if runtime.content is not None:
        for finding in check_runtime(runtime.content, plan, runtime):
            yield Problem("runtime.file", None, f"{finding.path} {finding.reason}", finding.fix)


_FIXED = "a TrainJob cannot set this field on an existing runtime"


def check_runtime(content: Mapping[str, Any], plan: Plan, runtime: RuntimePlan) -> list[Problem]:
    """Return everything in the runtime, from its file or from the cluster, that keeps the job from running as planned.
    Path and reason together are a sentence."""
    try:
        found = [
            Problem(path, None, f"is {value}, and the experiment names {named}", "name the right runtime")
            for path, value, named in (
                ("kind", content["kind"], runtime.kind),
                ("metadata.name", content["metadata"]["name"], runtime.name),
            )
            if value != named
        ]
        return [*found, *(finding for rule in _RULES for finding in rule(content["spec"], plan))]
    except (AttributeError, KeyError, TypeError):
        fix = "write it as `kubectl get -o yaml` shows the runtime"
        return [Problem("the object", None, "does not have the fields of Trainer's API", fix)]


def _policy(spec: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    policies = spec.get("mlPolicy", {})
    found = [name for name in policies if name != "numNodes"]
    fitting = ([MPI],) if plan.launcher == MPI else ([TORCH], [])
    if found not in fitting:
        policy = f"is {', '.join(found)}" if found else "has no policy"
        reason = f"{policy}, and the launcher is {plan.launcher}"
        yield Problem("mlPolicy", None, reason, f"name a runtime with the policy {', '.join(fitting[0])}")
    if plan.launcher != MPI or MPI not in policies:
        return
    ranked = any(role.name == plan.launches and role.ranked for role in plan.roles)
    if runtime_launcher_is_node(spec) != ranked:
        rank = "ranked" if ranked else "unranked"
        yield Problem(
            "mlPolicy.mpi.runLauncherAsNode",
            None,
            f"is {str(runtime_launcher_is_node(spec)).lower()}, and the role {plan.launches} is {rank}",
            f"write `roles.{plan.launches}.ranked: {str(not ranked).lower()}`, or name another runtime",
        )
    keys = policies[MPI].get("sshAuthMountPath", defaults.SSH_FOLDER)
    home = None if plan.run_as is None else f"{plan.run_as.home.rstrip('/')}/.ssh"
    if home is not None and keys != home:
        reason = f"is {keys}, and ssh of the pods' user reads its files from {home}"
        yield Problem("mlPolicy.mpi.sshAuthMountPath", None, reason, "change `run_as`, or remove it")


def _jobs(spec: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    """Yield findings about replicated jobs: addresses and the hostfile depend on their names; others are not
    allowed."""
    roles = {group: role for role, group in expected(plan).items()}
    path, jobs = "template.spec.replicatedJobs", replicated_jobs(spec)
    for group in sorted(roles.keys() - {job["name"] for job in jobs}):
        reason = f"has no replicated job `{group}`, the one for the pods of {roles[group]}"
        yield Problem(path, None, reason, "name a runtime with Trainer's own names, or add it")
    for job in jobs:
        if job["name"] not in roles:
            reason = f"has {job['name']}, whose pods are in no role of the experiment"
            yield Problem(path, None, reason, "name a runtime without it")
    labelled = [job["name"] for job in jobs if ancestor(job) == TRAINER]
    if labelled != [counted(plan).group]:
        reason = f"has the label `{ANCESTOR_LABEL}: {TRAINER}` on {' and '.join(labelled) if labelled else 'none'}"
        yield Problem(
            path, None, f"{reason}, not on {counted(plan).group} alone", "name a runtime with Trainer's own names"
        )
    jobset = spec["template"]["spec"]
    if jobset.get(TTL) is not None:
        yield Problem(f"template.spec.{TTL}", None, f"is set, and {RUN_AGAIN}", "remove it there")
    subdomain = jobset.get("network", {}).get("subdomain")
    if subdomain is not None:
        reason = f"is {subdomain}, and Trainer's own addresses contain the job's name instead"
        yield Problem("template.spec.network.subdomain", None, reason, "remove it there, or name another runtime")


def _admission(spec: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    groups = spec.get("podGroupPolicy", {})
    gang = SCHEDULER in groups
    if gang == (plan.admission == defaults.VOLCANO):
        if gang:
            yield from _gang(spec)
        return
    policy = "has `volcano`" if gang else "has no `volcano`"
    reason = f"{policy}, and in this environment {defaults.ADMITS[plan.admission]}"
    yield Problem("podGroupPolicy", None, reason, "name another runtime")


def _gang(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for job in replicated_jobs(spec):
        scheduler = job["template"]["spec"]["template"]["spec"].get("schedulerName")
        if scheduler != SCHEDULER:
            found = "no schedulerName" if scheduler is None else f"the schedulerName {scheduler}"
            path = f"template.spec.replicatedJobs.{job['name']}"
            yield Problem(path, None, f"has {found}, so its pods are outside of the gang", f"write {SCHEDULER} there")


def _pods(spec: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    """Yield findings about what the runtime sets for its pods and what contradicts the experiment."""
    for job in replicated_jobs(spec):
        role = next((role for role in plan.roles if role.group == job["name"]), None)
        main = next(iter(node_containers(job)), None)
        path = f"template.spec.replicatedJobs.{job['name']}"
        if main is None:
            yield Problem(
                path, None, f"has no container `{NODE}`, the only one that Trainer configures", "rename its main one"
            )
        if role is None or main is None:
            continue
        pod = job["template"]["spec"]["template"]["spec"]
        if pod.get("hostNetwork", False):
            reason = "uses the host network, and the plan's ports are for the pod network"
            yield Problem(path, None, reason, "name another runtime")
        yield from _container(path, main, role, spec, plan)


def _container(
    path: str, main: Mapping[str, Any], role: RolePlan, spec: Mapping[str, Any], plan: Plan
) -> Iterator[Problem]:
    """Yield findings about the resources of the container, its variables and its image. The TrainJob replaces resources
    of the same name."""
    limits, requests = (mapping(main.get("resources", {}).get(field)) for field in ("limits", "requests"))
    if role.launched or runtime_launcher_is_node(spec):
        limits, requests = limits | counted(plan).limits, requests | counted(plan).resources
    sides = ("", limits | requests, role.resources), ("the limit ", limits, role.limits)
    for name in sorted({*requests, *limits, *role.resources}):
        amounts = [(word, gets.get(name, "0"), planned.get(name, "0")) for word, gets, planned in sides]
        for word, got, says in [each for each in amounts if quantity(each[1]) != quantity(each[2])][:1]:
            reason = (
                f"gives each pod {word}{name}: {got}, which a TrainJob cannot change, and the role {role.name} has "
                f"{says}"
            )
            yield Problem(path, None, reason, f"write {got} at `roles.{role.name}`, or name another runtime")
    reached = counted(plan).env if runtime_launcher_is_node(spec) else ()
    values = {variable.name: variable.value for variable in reached}
    lost = [variable.name for variable in role.env if values.get(variable.name) != variable.value]
    if lost and not role.launched:
        reason = f"does not get these variables of the role {role.name} from a TrainJob: {', '.join(lost)}"
        yield Problem(
            path, None, reason, f"write them in the runtime, or at `roles.{plan.launches}.env` with mpirun's `-x`"
        )
    if not role.launched and main.get("image") != role.image:
        reason = (
            f"runs {main.get('image', 'no image')}, and a TrainJob changes only the launcher's image "
            "(kubeflow/trainer#4030)"
        )
        yield Problem(path, None, reason, f"write it as `roles.{role.name}.image`, or name another runtime")


def _end(spec: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    """Yield a finding if the runtime does not end the job: nodes that serve SSH never end by themselves. `_jobs`
    reports missing jobs."""
    names = {job["name"] for job in replicated_jobs(spec)}
    group = next((role.group for role in plan.roles if role.name == plan.ending_role), None)
    policy = mapping(spec["template"]["spec"].get("successPolicy"))
    if group in names and len(names) > 1 and policy.get("targetReplicatedJobs") != [group]:
        reason = (
            f"does not end the job when `{group}` has succeeded, so the other pods would keep running and hold their "
            "resources"
        )
        yield Problem(
            "template.spec.successPolicy", None, reason, f"name a runtime with `targetReplicatedJobs: [{group}]`"
        )


_RULES: tuple[Callable[[Mapping[str, Any], Plan], Iterator[Problem]], ...] = (_policy, _jobs, _admission, _pods, _end)
