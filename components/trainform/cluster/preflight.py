"""Checks of the live cluster before resources are registered: one message with all problems.

Without it the same mistakes would be found late and one by one: as a webhook's denial, a timeout after ten minutes, or
another's object that was overwritten.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends.backend import Existing
from trainform.backends.table import BACKENDS
from trainform.cluster import dry_run, references
from trainform.cluster.api import Request
from trainform.cluster.operators import project_of
from trainform.cluster.outcome import Outcome, StackContext
from trainform.cluster.read import Cluster
from trainform.errors import ClusterError, Problem
from trainform.manifests.manifest import Manifest
from trainform.manifests.shapes import mapping
from trainform.plan.model import Plan
from trainform.plan.record import read_record, unmark
from trainform.spec.quantities import amount

Check = Callable[[], Iterable[tuple[str, str]]]
"""A check returns problems, each with its fix."""

JUDGED_HERE = ("PersistentVolumeClaim", "PriorityClass")
OWNERSHIP = (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ENVIRONMENT_LABEL)


def check_job(
    cluster: Cluster,
    plan: Plan,
    manifests: Sequence[Manifest],
    crds: tuple[str, ...],
    expected: Collection[str] = (),
    stack: StackContext | None = None,
) -> Outcome:
    """Raise `ClusterError` with all problems that would stop this plan on the live cluster; return what could not be
    checked, and warnings.

    expected: names of Secrets and ConfigMaps that the program makes itself. stack: None if it is not known."""
    stack = StackContext() if stack is None else stack
    made_here = {(manifest.body["kind"], manifest.body["metadata"]["name"]) for manifest in manifests}
    claims = sorted({mount.claim for role in plan.roles for mount in role.mounts})
    no_namespace = [*_namespace(cluster, plan.namespace, plan.environment, stack)]
    checks: list[Check] = [
        lambda: _crds(cluster, crds),
        lambda: no_namespace,
        lambda: _queue(cluster, plan, stack),
        lambda: _references(cluster, plan, stack),
        *(_bind(_existing_object, cluster, plan, wanted) for wanted in BACKENDS[plan.backend].existing(plan)),
        *(
            _bind(_existing_claim, cluster, plan, claim, stack)
            for claim in claims
            if ("PersistentVolumeClaim", claim) not in made_here
        ),
    ]
    if no_namespace:
        _run(cluster, checks)
    with ThreadPoolExecutor(1) as thread:  # the server judges while the checks read
        asked = thread.submit(_ask_server, cluster, plan, manifests, made_here, expected, stack)
        findings = [finding for check in checks for finding in check()]
        outcome = _made_before(cluster, manifests, stack, plan) + asked.result()
    outcome += _namespace_owner(cluster, plan)
    _raise(cluster, [*findings, *map(_as_finding, outcome.problems)])
    return outcome


def _ask_server(
    cluster: Cluster,
    plan: Plan,
    manifests: Sequence[Manifest],
    made_here: Collection[tuple[str, str]],
    expected: Collection[str],
    stack: StackContext,
) -> Outcome:
    """Look up what the pods refer to, and have the server judge the job and its pods."""
    templates = BACKENDS[plan.backend].templates(plan, manifests)
    named = references.references(plan, templates, made_here, expected)
    runs = dry_run.dry_runs(plan, manifests, templates, stack)
    reads = [Request("GET", each.url(plan.namespace)) for each in named]
    answers = cluster.api.send_all([*(run.request for run in runs), *reads])
    outcomes = [dry_run.judge(run, answer, stack, plan) for run, answer in zip(runs, answers, strict=False)]
    problems = dry_run.without_repeats(outcome.problems for outcome in outcomes)
    judged = structs.replace(sum(outcomes, Outcome()), problems=problems)
    for each, answer in zip(named, answers[len(runs) :], strict=True):
        if isinstance(answer, ClusterError):
            raise answer
        judged += references.judge(each, answer, plan.namespace, stack, plan.environment)
    return judged


def _as_finding(problem: Problem) -> tuple[str, str]:
    return f"{problem.shown_path}: {problem.reason}" if problem.path else problem.reason, problem.fix


def check_objects(
    cluster: Cluster, manifests: Sequence[Manifest], crds: tuple[str, ...] = (), stack: StackContext | None = None
) -> Outcome:
    """Raise `ClusterError` with all problems of objects without a job: those of an environment's stack, or of a single
    component; return what could not be checked. stack: None if it is not known."""
    stack = StackContext() if stack is None else stack
    made_here = {manifest.body["metadata"]["name"] for manifest in manifests if manifest.body["kind"] == "Namespace"}
    needed = {
        (metadata["namespace"], metadata["labels"][defaults.ENVIRONMENT_LABEL])
        for metadata in (manifest.body["metadata"] for manifest in manifests)
        if metadata.get("namespace") is not None and metadata["namespace"] not in made_here
    }
    checks: list[Check] = [
        lambda: _crds(cluster, crds),
        *(_bind(_namespace, cluster, namespace, environment, stack) for namespace, environment in sorted(needed)),
    ]
    findings = [finding for check in checks for finding in check()]
    outcome = _made_before(cluster, manifests, stack)
    _raise(cluster, [*findings, *map(_as_finding, outcome.problems)])
    return outcome


def _made_before(
    cluster: Cluster, manifests: Iterable[Manifest], stack: StackContext, plan: Plan | None = None
) -> Outcome:
    """Check the objects that exist already: each must belong to trainform, and the server judges its change."""
    found = Outcome()
    for manifest in manifests:
        if manifest.revision is None and not manifest.patch:
            found += _existing(cluster, manifest, stack, plan)
    return found


def _existing(cluster: Cluster, manifest: Manifest, stack: StackContext, plan: Plan | None) -> Outcome:
    body, metadata = manifest.body, manifest.body["metadata"]
    name = (body["kind"], metadata["name"], metadata.get("namespace"))
    live = cluster.get(*name).body
    if live is None:
        return Outcome()
    problems = [Problem("", None, *finding) for finding in _ownership(live, manifest)]
    if plan is not None and manifest.is_record and not stack.has(manifest):
        problems += _job_of_lost_state(cluster, live, plan, stack)
    # the values of a Secret are not in its manifest
    if problems or body["kind"] == "Secret" or stack.leaves(manifest):
        return Outcome(problems)
    run = dry_run.of_object(manifest, cluster.path(*name), stack, plan)
    outcome = dry_run.judge(run, cluster.api.send_all([run.request])[0], stack, plan)
    # that this account may not write here is said of the job once; the size of a claim is judged here alone
    return outcome if body["kind"] in JUDGED_HERE else structs.replace(outcome, not_checked=[])


def _bind(check: Callable[..., Iterable[tuple[str, str]]], *arguments: Any) -> Check:
    return lambda: check(*arguments)


def _run(cluster: Cluster, checks: list[Check]) -> None:
    """Run one check after the other, and raise all their findings.

    Not in threads: lightkube decodes with msgspec, which may crash when two threads decode a type for the first time
    (seen with msgspec 0.22.0, once in some hundred previews).
    """
    _raise(cluster, [finding for check in checks for finding in check()])


def _raise(cluster: Cluster, findings: Sequence[tuple[str, str]]) -> None:
    if len(findings) == 1:
        raise ClusterError(*findings[0])
    if findings:
        several = dict.fromkeys(findings)
        raise ClusterError(f"{len(several)} problems on {cluster.cluster_name}:", findings=several)


def _crds(cluster: Cluster, crds: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    for name in crds:
        if cluster.get("CustomResourceDefinition", name).missing:
            project = project_of(name)
            missing = "what serves it" if project is None else project
            yield f"{cluster.cluster_name} has no {name}", f"install {missing} there, or choose another cluster"


def _namespace(cluster: Cluster, namespace: str, environment: str, stack: StackContext) -> Iterable[tuple[str, str]]:
    if cluster.get("Namespace", namespace).missing:
        fix = f"kubectl create namespace {namespace}, or write `create: true` in the environment's `namespace`"
        yield (
            f"the namespace {namespace} does not exist on {cluster.cluster_name}",
            stack.fix("Namespace", namespace, environment, fix),
        )


def _namespace_owner(cluster: Cluster, plan: Plan) -> Outcome:
    """Check that the namespace is not another environment's, whose limits and gates a copy of its file would evade. A
    namespace without the label belongs to no environment."""
    found, what = cluster.get("Namespace", plan.namespace), f"the namespace {plan.namespace}"
    if not found.readable:
        reason = f"this account may not read whether it belongs to another environment than {plan.environment}"
        return Outcome(not_checked=[(what, reason)])
    labels = {} if found.body is None else found.body["metadata"].get("labels") or {}
    owner = labels.get(defaults.ENVIRONMENT_LABEL, plan.environment)
    if owner == plan.environment:
        return Outcome()
    fix = f"set `trainform:environment` of the stack to {owner}, or give {plan.environment} another namespace"
    return Outcome(
        [Problem("", None, f"{what} belongs to the environment {owner}, and not to {plan.environment}", fix)]
    )


def _queue(cluster: Cluster, plan: Plan, stack: StackContext) -> Iterable[tuple[str, str]]:
    """Check that a queue which the job names is open. The state of a new queue is empty until its controller sets
    it."""
    if plan.queue.request is not None:
        return
    name = plan.queue.name
    if plan.admission == defaults.KUEUE:
        if cluster.get("LocalQueue", name, plan.namespace).missing:
            fix = "name an existing one (kubectl get localqueues), or ask the platform team for it"
            yield f"the LocalQueue {name} does not exist in the namespace {plan.namespace}", fix
        return
    deadline = time.monotonic() + defaults.QUEUE_OPEN_SECONDS
    while True:
        found = cluster.get("Queue", name)
        state = "" if found.body is None else found.body.get("status", {}).get("state", "")
        if not found.readable or state == "Open":
            return
        if found.missing:
            yield f"the queue {name} does not exist", _missing_queue_fix(name, plan.environment, stack)
            return
        if state:
            yield (
                f"the queue {name} is {state}, and {QUEUES} accepts jobs only in an open queue",
                f"open it: vcctl queue operate --action open --name {name}",
            )
            return
        if time.monotonic() > deadline:
            yield (
                (
                    f"the queue {name} has no state after {defaults.QUEUE_OPEN_SECONDS} s: {QUEUES}'s controller has "
                    "not opened it"
                ),
                UNOPENED_FIX,
            )
            return
        time.sleep(1)


def _references(cluster: Cluster, plan: Plan, stack: StackContext) -> Iterable[tuple[str, str]]:
    name = plan.priority_class
    if name is not None and cluster.get("PriorityClass", name).missing:
        fix = "add it to priority_classes of the environment, or remove it"
        yield f"the priority class {name} does not exist", stack.fix("PriorityClass", name, plan.environment, fix)
    if plan.service_account is not None and cluster.get("ServiceAccount", plan.service_account, plan.namespace).missing:
        yield (
            f"the service account {plan.service_account} does not exist in {plan.namespace}",
            "create it, or remove it",
        )


def _existing_object(cluster: Cluster, plan: Plan, wanted: Existing) -> Iterable[tuple[str, str]]:
    """Check an existing object that the job refers to, as it is on the cluster now."""
    found = cluster.get_custom(wanted.api_version, wanted.kind, wanted.plural, wanted.name, wanted.namespace)
    if found.missing:
        yield (
            f"there is no {wanted.kind} {wanted.name} on {cluster.cluster_name}",
            f"correct its name: kubectl get {wanted.plural}; or {wanted.fix}",
        )
    elif found.body is not None:
        for reason, fix in wanted.problems(found.body):
            yield f"the {wanted.kind} {wanted.name}: {reason}", fix


def _existing_claim(cluster: Cluster, plan: Plan, claim: str, stack: StackContext) -> Iterable[tuple[str, str]]:
    kind = "PersistentVolumeClaim"
    if cluster.get(kind, claim, plan.namespace).missing:
        fix = "correct its name, add it to claims of the environment, or write `size:` to create a new one"
        yield f"the claim {claim} does not exist in {plan.namespace}", stack.fix(kind, claim, plan.environment, fix)


def _ownership(live: dict[str, Any], manifest: Manifest) -> Iterable[tuple[str, str]]:
    """Check by its labels that an existing object belongs to trainform. Providers before 4.29 would silently overwrite
    another's object."""
    body, metadata = manifest.body, manifest.body["metadata"]
    kind, name = body["kind"], metadata["name"]
    labels = live.get("metadata", {}).get("labels", {})
    if any(labels.get(key) != metadata["labels"].get(key) for key in OWNERSHIP):
        yield (
            f"{kind} {name} exists already and does not belong to this environment ({_owner(labels)})",
            FIXES_OF_FOREIGN.get(kind, "rename the new one, or remove the existing one"),
        )
    elif kind == "PersistentVolumeClaim":
        yield from _data_loss(live, body)
    elif manifest.is_record:
        yield from _another_stack(live, body)


def _another_stack(live: dict[str, Any], wanted: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Check that no other stack has made the job: the two would take each other's objects. A record of an earlier
    trainform names no stack."""
    own, theirs = (body["metadata"].get("annotations", {}).get(defaults.STACK_ANNOTATION) for body in (wanted, live))
    if theirs is None or own is None or theirs == own:
        return
    metadata = wanted["metadata"]
    experiment, namespace = metadata["labels"][defaults.NAME_LABEL], metadata["namespace"]
    yield (
        (
            f"the experiment {experiment} is deployed in the namespace {namespace} already, by the stack {theirs} "
            f"(this one is {own})"
        ),
        "destroy that stack, or give this experiment another `name`; if that stack is this one under an earlier "
        f"name, or is gone without a destroy: {unmark(experiment, namespace)}",
    )


def _job_of_lost_state(cluster: Cluster, live: dict[str, Any], plan: Plan, stack: StackContext) -> Iterator[Problem]:
    """Check that no other revision of the experiment is in the cluster without being in Pulumi's state: a second job
    would run next to it, with the same claims."""
    data = mapping(live.get("data"))
    job = str(data.get("job", ""))
    record = read_record(live) if job not in ("", plan.job) else None
    backend = None if record is None else BACKENDS.get(record.backend)
    if backend is None:
        return
    for plural in backend.PLURALS:
        answer = cluster.api.get(f"/apis/{backend.API_VERSION}/namespaces/{plan.namespace}/{plural}/{job}")
        if answer.found:
            reason = f"the job {job} of this experiment exists, but not in the state of the stack {stack.name}"
            fix = (
                f"`pulumi login` to the backend that has the state of {stack.name}; if the state is lost, delete the "
                f"job first: kubectl delete {plural} {job} -n {plan.namespace}"
            )
            yield Problem("", None, reason, fix)


FIXES_OF_FOREIGN = {
    "PersistentVolumeClaim": "to use it, write `claim: NAME`; to create a new one, choose another name",
    "Namespace": "write `create: false` to use it as it is",
    "Queue": "to use it as it is, write `create: false` in the environment's `queues`, and its name in experiments; "
    "to create a new one, choose another name",
}


def _owner(labels: dict[str, str]) -> str:
    words = [f"{key.rpartition('/')[2]} {labels[key]}" for key in OWNERSHIP if key in labels]
    return ", ".join(words) if words else "it has no labels of trainform"


def _data_loss(live: dict[str, Any], wanted: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Check for changes that would replace a claim and so delete its data. Kubernetes can only make a claim larger."""
    name = wanted["metadata"]["name"]
    fix = "give the volume another name to create a second claim, and remove the old one when its data is safe"
    for field in ("storageClassName", "accessModes"):
        old, new = live["spec"].get(field), wanted["spec"].get(field)
        if new is not None and old != new:
            yield (
                (
                    f"{field} of the claim {name} would change from {old} to {new}, which replaces the claim and "
                    "deletes its data"
                ),
                fix,
            )
    old, new = (body["spec"]["resources"]["requests"]["storage"] for body in (live, wanted))
    if amount(new) < amount(old):
        yield (
            f"the claim {name} would shrink from {old} to {new}, which Kubernetes cannot do",
            f"write size: {old} or more",
        )


QUEUES = "Volcano"
UNOPENED_FIX = "look at the volcano-controllers deployment and its log"


def _missing_queue_fix(name: str, environment: str, stack: StackContext) -> str:
    if name == defaults.QUEUE:
        fix = "look at the volcano-scheduler deployment and its log: it creates this queue when it starts"
    else:
        fix = (
            f"correct its name in `queues` of {environment} (kubectl get queues.scheduling.volcano.sh), or ask its "
            "owner to create it"
        )
    return stack.fix("Queue", name, environment, fix)
