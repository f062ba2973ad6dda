"""Objects that pods refer to and that the job does not create. Without them, or their keys, pods never start.

Only the names of keys in Secrets are read; no value leaves `judge`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.cluster.api import Answer
from trainform.cluster.field_places import Place, experiment_field
from trainform.cluster.live_objects import path_of
from trainform.cluster.outcome import Outcome, StackContext
from trainform.errors import Problem
from trainform.manifests.manifest import CLAIM, mapping, mappings
from trainform.manifests.ssh_files import REQUIRED_FILES
from trainform.manifests.templates import Template, named_objects
from trainform.plan.model import Plan

_CLUSTER_SCOPED = ("PriorityClass", "Queue", "RuntimeClass", "WorkloadPriorityClass")
_POD_FIELDS = {
    "serviceAccountName": "ServiceAccount",
    "priorityClassName": "PriorityClass",
    "runtimeClassName": "RuntimeClass",
}
_QUEUES = {defaults.VOLCANO: "Queue", defaults.KUEUE: "LocalQueue"}
_CREATE = {"Secret": "secret generic", "ConfigMap": "configmap"}
_FIXES = {
    "ServiceAccount": "create it: kubectl create serviceaccount {name} -n {namespace}; or correct the name",
    "PriorityClass": "add it to priority_classes of the environment, or remove it",
    "Queue": f"correct its name (kubectl get queues.{QUEUE_API.partition('/')[0]}), or ask its owner to create it",
    "LocalQueue": "name an existing one (kubectl get localqueues), or ask the platform team for it",
    "WorkloadPriorityClass": "name an existing one (kubectl get workloadpriorityclasses), or ask the platform team",
    CLAIM: "correct its name, add it to claims of the environment, or write `size:` to create a new one",
}
PULL_SECRET = "pull secret"  # noqa: S105 -- a kind of reference


class Reference(NamedTuple):
    """An object that pods need, of a kind or a `PULL_SECRET`. keys: the entries that they need. path: the experiment's
    field that names it first. as_files: they mount it."""

    kind: str
    name: str
    keys: tuple[str, ...]
    path: str
    as_files: bool = False

    def url(self, namespace: str) -> str:
        """Return the path of the object in the API."""
        return path_of("Secret" if self.kind == PULL_SECRET else self.kind, namespace, self.name)


def references(
    plan: Plan, templates: Iterable[Template], own: Collection[tuple[str, str]], expected: Collection[str] = ()
) -> list[Reference]:
    """Return each object once. own: kind and name of the job's objects. expected: names that the program makes."""
    found: dict[tuple[str, str], Reference] = {}
    pod_references = (each for template in templates for each in _pod_references(plan, template))
    for each in (*_field_references(plan), *pod_references):
        if (each.kind, each.name) in own or (each.name in expected and each.kind in (*_CREATE, PULL_SECRET)):
            continue
        first = found.setdefault((each.kind, each.name), each)
        keys = dict.fromkeys([*first.keys, *each.keys])
        found[each.kind, each.name] = first._replace(keys=tuple(keys), as_files=first.as_files and each.as_files)
    return list(found.values())


def _field_references(plan: Plan) -> Iterator[Reference]:
    """Yield the objects of fields with one name, and the Secrets whose keys pods read from a mounted folder."""
    for kind, name, path in (
        ("ServiceAccount", plan.service_account, "service_account"),
        ("PriorityClass", plan.priority_class, "priority_class"),
        ("WorkloadPriorityClass", plan.workload_priority, "priority_class"),
        (_QUEUES.get(plan.admission, ""), plan.queue.name if plan.queue.request is None else None, "queue"),
    ):
        if kind and name is not None:
            yield Reference(kind, name, (), path)
    for role in plan.roles:
        for checkout in role.checkouts:
            if checkout.git.key is not None:
                step = next(index for index, init in enumerate(role.init) if init.name == checkout.step)
                path = f"{role.init_path(step)}.git.key"
                yield Reference("Secret", checkout.git.key.name, (checkout.git.key.key,), path, as_files=True)
    if plan.ssh is not None and not plan.ssh.made:
        yield Reference("Secret", plan.ssh.secret, REQUIRED_FILES, "ssh.secret", as_files=True)


def _pod_references(plan: Plan, template: Template) -> Iterator[Reference]:
    """Yield the objects that a pod template names."""

    def path(*names: str) -> str:
        return experiment_field(plan, Place("", names, names), template.role) or plan.role_path(template.role)

    spec = template.spec
    for field, kind in _POD_FIELDS.items():
        if spec.get(field):
            yield Reference(kind, spec[field], (), path("spec", field))
    for name in (str(each.get("name")) for each in mappings(spec.get("imagePullSecrets"))):
        own = name in plan.image_pull_secrets
        yield Reference(PULL_SECRET, name, (), "image_pull_secrets" if own else path("spec", "imagePullSecrets"))
    for named in named_objects(spec):
        if not named.optional:
            yield Reference(named.kind, named.name, named.keys, path(*named.place), named.as_files)


def judge(reference: Reference, answer: Answer, namespace: str, stack: StackContext, environment: str = "") -> Outcome:
    """Return what is missing, or that this account may not read the object. environment: whose stack may create it."""
    kind, name, keys, path, _ = reference
    if answer.missing and kind == PULL_SECRET:
        fix = (
            f"kubectl create secret docker-registry {name} -n {namespace} --docker-server=… --docker-username=… "
            "--docker-password=…"
        )
        warning = (
            f"{path}: the Secret {name} does not exist in {namespace}, so images that need it cannot be pulled; "
            f"create it: {fix}"
        )
        return Outcome(warnings=[warning])
    if answer.missing:
        place = "" if kind in _CLUSTER_SCOPED else f" in {namespace}"
        fix = stack.fix(kind, name, environment, _creation(reference, namespace))
        return Outcome([Problem(path, name, f"the {kind} {name} does not exist{place}", fix)])
    if not answer.found:
        reason = "this account has no permission to read it" if answer.forbidden else f"status {answer.status}"
        return Outcome(not_checked=[(f"{kind} {name}", reason)])
    state = mapping(answer.body.get("status")).get("state", "Open") if kind == "Queue" else "Open"
    if state not in ("", "Open"):  # empty until the controller has opened a new one
        reason = f"the queue {name} is {state}, and accepts no jobs"
        return Outcome([Problem(path, name, reason, f"open it: vcctl queue operate --action open --name {name}")])
    there = {key for field in ("data", "binaryData") for key in mapping(answer.body.get(field))}
    missing = sorted(key for key in keys if key not in there)
    if not missing:
        return Outcome()
    field = "stringData" if kind == "Secret" else "data"
    entries = ", ".join(f'"{key}": "…"' for key in missing)
    add = f"add it: kubectl patch {kind.lower()} {name} -n {namespace} --type merge -p '{{\"{field}\": {{{entries}}}}}'"
    return Outcome([Problem(path, None, f"the {kind} {name} in {namespace} has no key {', '.join(missing)}", add)])


def _creation(needed: Reference, namespace: str) -> str:
    """Return the command that creates the object, or what to do instead."""
    kind, name = needed.kind, needed.name
    if kind not in _CREATE:
        return _FIXES.get(kind, "create it, or correct the name").format(name=name, namespace=namespace)
    # a literal value of a Secret would stay in the shell's history
    given = "--from-file={}=FILE" if needed.as_files or kind == "Secret" else "--from-literal={}=…"
    words = " ".join(given.format(key) for key in (needed.keys or ("KEY",)))
    expected = "; a Pulumi program that creates it names it in `expected_secrets`"
    return f"create it: kubectl create {_CREATE[kind]} {name} -n {namespace} {words}{expected}"
