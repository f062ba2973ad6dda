"""Checks of the live cluster before resources are registered: one message with all problems.

Without them the same mistakes appear late and one by one: as denials of webhooks, or as timeouts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.backend import BACKENDS, Existing
from trainform.cluster import dry_run, pod_references
from trainform.cluster.api import Answer, ClusterApi, NotReadError, each
from trainform.cluster.identity import is_sandbox
from trainform.cluster.live_objects import ServedKind, collection, find_job, path_of, served
from trainform.cluster.operators import project_of, served_versions
from trainform.cluster.outcome import Outcome, StackContext, refused
from trainform.cluster.pod_references import Reference
from trainform.errors import ClusterError, list_names
from trainform.manifests.manifest import CLAIM, Manifest, mapping
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.plan.operator import Operator
from trainform.plan.record import read_record, unmark
from trainform.spec.quantities import amount

NODE_SELECTOR, GIB = "scheduler.alpha.kubernetes.io/node-selector", 2**30
JUDGED_HERE = (CLAIM, "PriorityClass")
OWNERSHIP = (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ENVIRONMENT_LABEL)


def check_job(
    cluster: ClusterApi,
    plan: Plan,
    manifests: Sequence[Manifest],
    crds: tuple[str, ...],
    expected: Collection[str],
    stack: StackContext,
) -> Outcome:
    """Raise `ClusterError` with all problems of this plan on the live cluster; return warnings and unchecked parts.

    expected: names of Secrets and ConfigMaps that the program makes itself."""
    made_here = {(manifest.body["kind"], manifest.body["metadata"]["name"]) for manifest in manifests}
    templates = BACKENDS[plan.backend].templates(plan, manifests)
    named = pod_references.references(plan, templates, made_here, expected)
    namespace = cluster.read(path_of("Namespace", name=plan.namespace))
    checks: list[Callable[[], Outcome]] = [
        partial(_crds, cluster, crds, plan.operator),
        partial(_namespace, cluster, namespace, plan.namespace, plan.environment, stack),
        partial(_references, cluster, plan, named, stack),
        *(partial(_existing_object, cluster, existing) for existing in BACKENDS[plan.backend].existing(plan)),
    ]
    if not namespace.missing:
        checks += [
            partial(_check_existing, cluster, manifests, stack, plan),
            partial(_ask_server, cluster, plan, manifests, templates, stack),
            partial(_namespace_owner, namespace, plan),
        ]
    if is_sandbox(cluster):
        checks.append(partial(_real_memory, cluster, plan, templates, namespace))
    return _checked(cluster, checks)


def check_objects(
    cluster: ClusterApi, manifests: Sequence[Manifest], crds: tuple[str, ...], stack: StackContext
) -> Outcome:
    """Raise `ClusterError` with all problems of objects without a job: those of an environment's stack, or of a single
    component; return what could not be checked."""
    made_here = {manifest.body["metadata"]["name"] for manifest in manifests if manifest.body["kind"] == "Namespace"}
    needed = {
        (metadata["namespace"], metadata["labels"][defaults.ENVIRONMENT_LABEL])
        for metadata in (manifest.body["metadata"] for manifest in manifests)
        if metadata.get("namespace") is not None and metadata["namespace"] not in made_here
    }
    namespaces = [
        (cluster.read(path_of("Namespace", name=name)), name, environment) for name, environment in sorted(needed)
    ]
    checks = [
        partial(_crds, cluster, crds),
        *(partial(_namespace, cluster, *namespace, stack) for namespace in namespaces),
        partial(_check_existing, cluster, manifests, stack),
    ]
    return _checked(cluster, checks)


def _checked(cluster: ClusterApi, checks: Sequence[Callable[[], Outcome]]) -> Outcome:
    """Run the checks at the same time, and raise all their problems."""
    outcome = sum(each(lambda check: check(), checks), Outcome())
    problems = {
        (f"{problem.shown_path}: {problem.reason}" if problem.path else problem.reason, problem.fix): problem
        for problem in outcome.problems
    }
    if len(problems) == 1:
        raise ClusterError(*next(iter(problems)))
    if problems:
        raise ClusterError(f"{len(problems)} problems on {cluster.name}:", findings=problems)
    return outcome


def _ask_server(
    cluster: ClusterApi, plan: Plan, manifests: Sequence[Manifest], templates: Sequence[Template], stack: StackContext
) -> Outcome:
    """Let the server judge the job and its pods."""
    runs = dry_run.dry_runs(plan, manifests, templates, stack)
    answers = cluster.send_all([run.request for run in runs])
    outcomes = [dry_run.judge(run, answer, stack, plan) for run, answer in zip(runs, answers, strict=True)]
    problems = dry_run.drop_repeats(outcome.problems for outcome in outcomes)
    return structs.replace(sum(outcomes, Outcome()), problems=problems)


# --- objects that exist already


def _check_existing(
    cluster: ClusterApi, manifests: Sequence[Manifest], stack: StackContext, plan: Plan | None = None
) -> Outcome:
    """Check that existing objects belong to trainform, and let the server judge their changes."""
    unrevised = [manifest for manifest in manifests if manifest.revision is None and not manifest.patch]
    return sum(each(lambda manifest: _existing(cluster, manifest, stack, plan), unrevised), Outcome())


def _existing(cluster: ClusterApi, manifest: Manifest, stack: StackContext, plan: Plan | None) -> Outcome:
    body, metadata = manifest.body, manifest.body["metadata"]
    path = path_of(body["kind"], metadata.get("namespace", ""), metadata["name"])
    answer = cluster.read(path)
    if not answer.found:
        return Outcome()
    live, found = answer.body, _ownership(answer.body, manifest)
    if plan is not None and manifest.is_record and not stack.has(manifest):
        found += _job_of_lost_state(cluster, live, plan, stack)
    # the values of a Secret are not in its manifest
    if found.problems or body["kind"] == "Secret" or stack.leaves(manifest):
        return found
    run = dry_run.dry_run_of(manifest, path, stack, plan)
    outcome = dry_run.judge(run, cluster.send_all([run.request])[0], stack, plan)
    # a missing permission is reported once, for the job; the size of a claim is judged only here
    return outcome if body["kind"] in JUDGED_HERE else structs.replace(outcome, not_checked=[])


def _ownership(live: dict[str, Any], manifest: Manifest) -> Outcome:
    """Check an existing object's labels: providers before 4.29 silently overwrite objects of other owners."""
    body, metadata = manifest.body, manifest.body["metadata"]
    kind, name = body["kind"], metadata["name"]
    labels = live.get("metadata", {}).get("labels", {})
    if any(labels.get(key) != metadata["labels"].get(key) for key in OWNERSHIP):
        words = [f"{key.rpartition('/')[2]} {labels[key]}" for key in OWNERSHIP if key in labels]
        owner = ", ".join(words) if words else "it has no labels of trainform"
        return refused(
            f"{kind} {name} exists already and does not belong to this environment ({owner})",
            FOREIGN_FIXES.get(kind, "rename the new one, or remove the existing one"),
        )
    if kind == CLAIM:
        return sum(_data_loss(live, body), Outcome())
    return _another_stack(live, body) if manifest.is_record else Outcome()


FOREIGN_FIXES = {
    CLAIM: "to use it, write `claim: NAME`; to create a new one, choose another name",
    "Namespace": "write `create: false` to use it as it is",
    "Queue": "to use it as it is, write `create: false` in the environment's `queues`, and its name in experiments; "
    "to create a new one, choose another name",
}


def _data_loss(live: dict[str, Any], desired: dict[str, Any]) -> Iterator[Outcome]:
    """Check for changes that would replace a claim and so delete its data. Kubernetes can only make a claim larger."""
    name = desired["metadata"]["name"]
    fix = "give the volume another name to create a second claim, and remove the old one when its data is safe"
    for field in ("storageClassName", "accessModes"):
        old, new = live["spec"].get(field), desired["spec"].get(field)
        if new is not None and old != new:
            change = f"{field} of the claim {name} would change from {old} to {new}"
            yield refused(f"{change}, which replaces the claim and deletes its data", fix)
    old, new = (body["spec"]["resources"]["requests"]["storage"] for body in (live, desired))
    if amount(new) < amount(old):
        reason = f"the claim {name} would shrink from {old} to {new}, which Kubernetes cannot do"
        yield refused(reason, f"write size: {old} or more")


def _another_stack(live: dict[str, Any], desired: dict[str, Any]) -> Outcome:
    """Check that no other stack has created the job. Records of earlier versions of trainform name no stack."""
    own, theirs = (body["metadata"].get("annotations", {}).get(defaults.STACK_ANNOTATION) for body in (desired, live))
    if theirs is None or own is None or theirs == own:
        return Outcome()
    metadata = desired["metadata"]
    experiment, namespace = metadata["labels"][defaults.NAME_LABEL], metadata["namespace"]
    return refused(
        f"the experiment {experiment} is deployed in the namespace {namespace} already, by the stack {theirs} "
        f"(this one is {own})",
        "destroy that stack, or give this experiment another `name`; if that stack is this one under an earlier "
        f"name, or is gone without a destroy: {unmark(experiment, namespace)}",
    )


def _job_of_lost_state(cluster: ClusterApi, live: dict[str, Any], plan: Plan, stack: StackContext) -> Outcome:
    """Check that no other revision of the experiment is in the cluster without being in Pulumi's state: a second job
    would run next to it, with the same claims."""
    name = str(mapping(live.get("data")).get("job", ""))
    record = read_record(live) if name not in ("", plan.job) else None
    backend = None if record is None else BACKENDS.get(record.backend)
    job = None
    if backend is not None:
        with contextlib.suppress(NotReadError):
            job = find_job(cluster, backend, plan.namespace, name)
    if job is None:
        return Outcome()
    kind = f"{job['kind'].lower()}s.{job['apiVersion'].partition('/')[0]}"
    return refused(
        f"the job {name} of this experiment exists, but not in the state of the stack {stack.name}",
        f"`pulumi login` to the backend that has the state of {stack.name}; if the state is lost, delete the job "
        f"first: kubectl delete {kind} {name} -n {plan.namespace}",
    )


# --- objects of other owners


def _crds(cluster: ClusterApi, crds: tuple[str, ...], operator: Operator | None = None) -> Outcome:
    """Check that the cluster serves the resources, and that of the job's operator in the version of the job. By default
    every account may ask for the served ones; its definitions may be forbidden, and that of a job has 400 kB."""
    return sum(each(lambda name: _crd(cluster, name, operator), crds), Outcome())


def _crd(cluster: ClusterApi, name: str, operator: Operator | None) -> Outcome:
    plural, _, group = name.partition(".")
    needed = operator.api_version if operator is not None and name in operator.crds else ""

    def is_served(version: str) -> bool:
        return any(kind.plural == plural for kind in served(cluster, version).values())

    try:
        if needed and is_served(needed):
            return Outcome()
        found = [version for version in served_versions(cluster).get(group, ()) if is_served(f"{group}/{version}")]
    except NotReadError as error:
        return Outcome(not_checked=[(name, error.message)])
    project = project_of(name, needed)
    if not found:
        reason = f"{cluster.name} has no {name}"
        return refused(reason, f"install {project} there, or choose another cluster")
    if operator is None or not needed:
        return Outcome()
    reason = f"{cluster.name} serves {name} as {list_names(found)}, and this job is {needed}"
    fix = f"write `mpi_job: {found[0]}` in the environment" if operator.mpi_job else f"install {project}"
    return refused(reason, f"{fix}, or choose another cluster")


def _namespace(cluster: ClusterApi, found: Answer, namespace: str, environment: str, stack: StackContext) -> Outcome:
    if not found.missing:
        return Outcome()
    fix = f"kubectl create namespace {namespace}, or write `create: true` in the environment's `namespace`"
    reason = f"the namespace {namespace} does not exist on {cluster.name}"
    return refused(reason, stack.fix("Namespace", namespace, environment, fix))


def _namespace_owner(found: Answer, plan: Plan) -> Outcome:
    """Check that the namespace belongs to no other environment: a copy of its file would evade its limits and gates. A
    namespace without the label belongs to no environment."""
    what = f"the namespace {plan.namespace}"
    if found.forbidden:
        reason = f"this account may not read whether it belongs to another environment than {plan.environment}"
        return Outcome(not_checked=[(what, reason)])
    labels = found.body["metadata"].get("labels") or {}
    owner = labels.get(defaults.ENVIRONMENT_LABEL, plan.environment)
    if owner == plan.environment:
        return Outcome()
    fix = f"set `trainform:environment` of the stack to {owner}, or give {plan.environment} another namespace"
    return refused(f"{what} belongs to the environment {owner}, and not to {plan.environment}", fix)


def _real_memory(cluster: ClusterApi, plan: Plan, templates: Sequence[Template], namespace: Answer) -> Outcome:
    """Check that the pods ask for no more memory than the real nodes of a sandbox have: they say what the environment
    says, and their containers have a limit."""
    selector, nodes = {"labelSelector": f"{defaults.NODES_LABEL}={defaults.REAL}"}, []
    with contextlib.suppress(ClusterError, NotReadError):  # an account without the right to list nodes
        nodes = cluster.find_all("/api/v1/nodes", "list the nodes", parameters=selector)
    chosen = mapping(mapping(namespace.body.get("metadata")).get("annotations")).get(NODE_SELECTOR, "")
    asked = [template.pod_request("memory") for template in templates for _ in range(template.replicas)]
    there = [int(node["metadata"]["annotations"][defaults.REAL_MEMORY]) for node in nodes]
    fits = sum(asked) <= sum(there) and max(asked, default=0) <= max(there, default=0)
    if not nodes or defaults.SIMULATED in str(chosen) or fits:
        return Outcome()
    shown = [f"{size / GIB:.1f} GiB" for size in (sum(asked), max(asked), sum(there), max(there))]
    return refused(
        f"the pods ask for {shown[0]} of memory together and at most {shown[1]} each, and the real nodes of this "
        f"sandbox have {shown[2]} together and at most {shown[3]} each",
        f"ask for less; or `trainform rehearse {plan.experiment} -e {plan.environment}`, which runs CPU processes; or "
        "`trainform sandbox up --nodes simulated`",
    )


def _references(cluster: ClusterApi, plan: Plan, named: Sequence[Reference], stack: StackContext) -> Outcome:
    """Read the objects to which the job and its pods refer."""
    answers = each(lambda reference: cluster.get(reference.url(plan.namespace)), named)
    judged = (
        pod_references.judge(reference, answer, plan.namespace, stack, plan.environment)
        for reference, answer in zip(named, answers, strict=True)
    )
    return sum(judged, Outcome())


def _existing_object(cluster: ClusterApi, existing: Existing) -> Outcome:
    """Check an existing object that the job refers to, as it is on the cluster now."""
    kind = ServedKind(existing.plural, namespaced=existing.namespace is not None)
    place = collection(existing.api_version, kind, existing.namespace or "")
    found = cluster.read(f"{place}/{existing.name}")
    if found.missing:
        reason = f"there is no {existing.kind} {existing.name} on {cluster.name}"
        return refused(reason, f"correct its name: kubectl get {existing.plural}; or {existing.fix}")
    problems = existing.problems(found.body) if found.found else []
    return sum((refused(f"the {existing.kind} {existing.name}: {reason}", fix) for reason, fix in problems), Outcome())
