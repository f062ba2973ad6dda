"""A runtime of Kubeflow Trainer's that somebody else owns is held to the plan: on the plan where a file has it, and in the cluster.

Source: Kubeflow Trainer 2.3.0, `pkg/runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainform.backends.endings import ends_by
from trainform.backends.gangs import SCHEDULER
from trainform.backends.replicated_jobs import SUCCESS
from trainform.backends.runtimes import (
    ML_POLICY,
    POD_GROUP_POLICY,
    Finding,
    Wanted,
    ancestor,
    containers,
    launcher_is_node,
    replicated_jobs,
    runtime_findings,
)
from trainform.backends.runtimes_named import counted, expected, patch, runtime_endings
from trainform.backends.trainer_runtime import MPI, MPI_VOLUMES, NODE, TORCH, TRAINER, num_nodes
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.shape import CONTAINER, misshapen
from trainform.plan.model import Plan, RolePlan, RuntimePlan
from trainform.spec.quantities import amount

LAUNCHERS = ("torchrun", "accelerate", "command", MPI)
PULL_POLICY = "IfNotPresent"

_POD = {
    "metadata": {"labels": {"*": str}, "annotations": {"*": str}},
    "spec!": {
        "containers!": [{**{key: shape for key, shape in CONTAINER.items() if key != "image!"}, "image": str}],
        "volumes": [{"name!": str}],
        "hostNetwork": bool,
    },
}
_JOB = {
    "name!": str,
    "replicas": int,
    "template!": {"metadata": {"labels": {"*": str}}, "spec!": {"parallelism": int, "template!": _POD}},
}
SHAPE = {
    "kind!": str,
    "metadata!": {"name!": str},
    "spec!": {
        "mlPolicy": ML_POLICY,
        "podGroupPolicy": POD_GROUP_POLICY,
        "template!": {"spec!": {"network": {"subdomain": str}, "successPolicy": SUCCESS, "replicatedJobs!": [_JOB]}},
    },
}


def named_problems(plan: Plan, runtime: RuntimePlan) -> Iterator[Problem]:
    """What a TrainJob cannot say of somebody else's runtime, and what is wrong in the runtime's file."""
    ours = "leave `runtime` out, so that one is made for the job"
    if plan.launcher not in LAUNCHERS:
        reason = f"has no policy of Trainer's; a runtime that is named runs {', '.join(LAUNCHERS)}"
        yield Problem("launcher", plan.launcher, reason, ours)
        return
    wanted = expected(plan)
    for role in plan.roles:
        if role.name not in wanted:
            reason = f"has no place in a runtime that is named, which has {' and '.join(wanted.values())} alone"
            yield Problem(f"roles.{role.name}", None, reason, f"remove it, or {ours}")
            continue
        for part, path in (("overrides", "pod_overrides"), ("init", "init")):
            if getattr(role, part):
                reason = "is nothing that a TrainJob may change of a runtime that is named"
                yield Problem(f"roles.{role.name}.{path}", None, reason, f"remove it, or {ours}")
        usual = "on-failure" if plan.world.bounds is not None else "never"
        if role.restarts_job or (role.ranked and role.restart != usual):
            yield Problem("restart", role.restart, "is for the runtime to say", f"remove it, or {ours}")
    for path, says in _NOT_CARRIED.items():
        if says(plan):
            yield Problem(
                path, None, "is nothing that a TrainJob may change of a runtime that is named", f"remove it, or {ours}"
            )
    if runtime.content is not None:
        for finding in check_runtime(runtime.content, plan, runtime):
            yield Problem("runtime.file", None, f"{finding.path} {finding.reason}", finding.fix)


# Fields without a word in a TrainJob, and whether the plan says them.
_NOT_CARRIED: dict[str, Callable[[Plan], bool]] = {
    "network.host": lambda plan: plan.host_network,
    "network.topology": lambda plan: plan.topology is not None,
    "priority_class": lambda plan: plan.priority_class is not None,
    "image_pull_policy": lambda plan: plan.image_pull_policy != PULL_POLICY,
    "ttl": lambda plan: plan.ttl_seconds is not None,
}


def check_runtime(content: Mapping[str, Any], plan: Plan, runtime: RuntimePlan) -> Iterator[Finding]:
    """Everything in the runtime, as a file or the cluster has it, on which the job would not run as planned."""
    wrecked = [*misshapen(dict(content), SHAPE)]
    yield from (Finding(where, reason, "write it as Trainer has it") for where, reason in wrecked)
    if wrecked:
        return
    for path, found, said in (
        ("kind", content["kind"], runtime.kind),
        ("metadata.name", content["metadata"]["name"], runtime.name),
    ):
        if found != said:
            yield Finding(path, f"is {found}, and the experiment names {said}", "name the one that is meant")
    spec = content["spec"]
    yield from runtime_findings(spec, Wanted(num_nodes(plan)))
    for rule in _RULES:
        yield from rule(spec, plan)


def _policy(spec: Mapping[str, Any], plan: Plan) -> Iterator[Finding]:
    policies = spec.get("mlPolicy", {})
    found = [name for name in policies if name != "numNodes"]
    fitting = ([MPI],) if plan.launcher == MPI else ([TORCH], [])
    if found not in fitting:
        said = f"is {', '.join(found)}" if found else "says no policy"
        yield Finding(
            "mlPolicy",
            f"{said}, and the launcher is {plan.launcher}",
            f"name a runtime with the policy {', '.join(fitting[0])}",
        )
    if plan.launcher != MPI or MPI not in policies:
        return
    ranked = any(role.name == plan.launches and role.ranked for role in plan.roles)
    if launcher_is_node(spec) != ranked:
        word = "unranked and computes nothing" if not ranked else "ranked and computes"
        yield Finding(
            "mlPolicy.mpi.runLauncherAsNode",
            f"is {str(launcher_is_node(spec)).lower()}, and the role {plan.launches} is {word}",
            f"write `ranked: {str(not ranked).lower()}` there, or name another runtime",
        )
    keys = policies[MPI].get("sshAuthMountPath", defaults.SSH_FOLDER)
    home = None if plan.run_as is None else f"{plan.run_as.home.rstrip('/')}/.ssh"
    if home is not None and keys != home:
        reason = f"is {keys}, and ssh of the user that the pods run as looks in {home}"
        yield Finding("mlPolicy.mpi.sshAuthMountPath", reason, "change `run_as`, or remove it")


def _jobs(spec: Mapping[str, Any], plan: Plan) -> Iterator[Finding]:
    """The replicated jobs by the names from which addresses and hostfile follow, and no others."""
    wanted = {*expected(plan).values()}
    path = "template.spec.replicatedJobs"
    for job in replicated_jobs(spec):
        if job["name"] not in wanted:
            reason = f"has {job['name']}, whose pods are in no role of the experiment"
            yield Finding(path, reason, "name a runtime without it")
        elif ancestor(job) == TRAINER and job["name"] != counted(plan).group:
            reason = f"has the label of the one that trains or launches on {job['name']}, not on {counted(plan).group}"
            yield Finding(path, reason, "name a runtime with Trainer's own names")
    if plan.launcher != MPI and NODE not in {job["name"] for job in replicated_jobs(spec)}:
        reason = "has no `node`, the name from which Trainer makes the address of rank 0"
        yield Finding(path, reason, "name a runtime with Trainer's own names")
    subdomain = spec["template"]["spec"].get("network", {}).get("subdomain")
    if subdomain is not None:
        reason = f"is {subdomain}, and Trainer itself gives out addresses under the job's name"
        yield Finding("template.spec.network.subdomain", reason, "remove it there, or name another runtime")


def _admission(spec: Mapping[str, Any], plan: Plan) -> Iterator[Finding]:
    gang = SCHEDULER in spec.get("podGroupPolicy", {})
    if gang == (plan.admission == defaults.VOLCANO):
        return
    said = "has Volcano's gang" if gang else "has no `volcano`"
    yield Finding(
        "podGroupPolicy", f"{said}, and the environment admits by {plan.admission.capitalize()}", "name another runtime"
    )


def _pods(spec: Mapping[str, Any], plan: Plan) -> Iterator[Finding]:
    """What the runtime's pods have by themselves and the experiment says otherwise, or does not know of."""
    for job in replicated_jobs(spec):
        role = next((role for role in plan.roles if role.group == job["name"]), None)
        main = next((container for container in containers(job) if container["name"] == NODE), None)
        if role is None or main is None:
            continue
        path = f"template.spec.replicatedJobs.{job['name']}"
        pod = job["template"]["spec"]["template"]["spec"]
        if pod.get("hostNetwork", False):
            yield Finding(path, "is on the host network, and the plan's ports are for pods", "name another runtime")
        changed = patch(plan, role).get("spec", {})
        taken = {volume["name"] for volume in pod.get("volumes", [])} | (
            {*MPI_VOLUMES} if plan.launcher == MPI else set()
        )
        for volume in changed.get("volumes", []):
            if volume["name"] in taken:
                reason = f"has a volume {volume['name']} of its own"
                yield Finding(path, reason, "call the one in `storage` otherwise, or name another runtime")
        mounted = {mount["mountPath"] for mount in main.get("volumeMounts", [])}
        for mount in (
            mount for container in changed.get("containers", []) for mount in container.get("volumeMounts", [])
        ):
            if mount["mountPath"] in mounted:
                yield Finding(
                    path, f"mounts something at {mount['mountPath']} itself", "choose another path in `storage`"
                )
        yield from _container(path, main, role, spec, plan)


def _container(
    path: str, main: Mapping[str, Any], role: RolePlan, spec: Mapping[str, Any], plan: Plan
) -> Iterator[Finding]:
    """Resources that its container gets, of its own and from the TrainJob, whose number takes the place of one with the same name; its image."""
    resources = main.get("resources", {})
    gets = {name: quantity for field in ("requests", "limits") for name, quantity in resources.get(field, {}).items()}
    if role.launched or launcher_is_node(spec):
        gets |= counted(plan).resources
    for name in sorted(gets.keys() | role.resources.keys()):
        got, says = gets.get(name, "0"), role.resources.get(name, "0")
        if amount(str(got)) != amount(says):
            reason = (
                f"gives each pod {name}: {got}, which a TrainJob cannot change, and the role {role.name} says {says}"
            )
            yield Finding(path, reason, f"write {got} at `roles.{role.name}`, or name another runtime")
    reached = counted(plan).env if launcher_is_node(spec) else ()
    lost = (
        []
        if role.launched
        else [
            variable.name
            for variable in role.env
            if (variable.name, variable.value) not in {(one.name, one.value) for one in reached}
        ]
    )
    if lost:
        reason = f"gets no variables of the role {role.name} from a TrainJob: {', '.join(lost)}"
        yield Finding(path, reason, f"write them in the runtime, or at `roles.{plan.launches}.env` with mpirun's `-x`")
    if not role.launched and main.get("image") != role.image:
        reason = f"runs {main.get('image', 'no image')}, and a TrainJob changes the launcher's image alone (kubeflow/trainer#4030)"
        yield Finding(path, reason, f"write it as `roles.{role.name}.image`, or name another runtime")


def _end(spec: Mapping[str, Any], plan: Plan) -> Iterator[Finding]:
    """Nodes that serve SSH never end by themselves. What jobs are missing is told by themselves."""
    names = {job["name"] for job in replicated_jobs(spec)}
    group = next((role.group for role in plan.roles if role.name == plan.ending_role), None)
    if group in names and len(names) > 1 and not ends_by(plan.ending_role, runtime_endings(plan, spec)):
        reason = f"does not end the job when `{group}` has succeeded, so its other pods would run, and hold what they have, for ever"
        yield Finding("template.spec.successPolicy", reason, f"name a runtime with `targetReplicatedJobs: [{group}]`")


_RULES: tuple[Callable[[Mapping[str, Any], Plan], Iterator[Finding]], ...] = (_policy, _jobs, _admission, _pods, _end)
