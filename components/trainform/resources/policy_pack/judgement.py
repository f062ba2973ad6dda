"""One object of a program, judged by one rule of the environment.

Objects that trainform's components make are judged whole. Of other objects only jobs of the kinds that trainform
renders are.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from pulumi_policy.proxy import UnknownValueError
from pydantic import TypeAdapter, ValidationError

from trainform import defaults
from trainform.backends.backend import Pods, pods_of, value_at
from trainform.backends.judged import judged_object
from trainform.console.secrets import masked_line
from trainform.manifests.differences import places_of
from trainform.rules.limits.origins import by_place
from trainform.rules.limits.rule import Finding, Judgement, Rule
from trainform.rules.limits.table import waived
from trainform.spec.environment import Environment
from trainform.spec.limits import Waiver

PROVIDER = "kubernetes:"
CLUSTERS = "pulumi:providers:kubernetes"
"""The type of Kubernetes providers, whose settings name the cluster."""
NAMING = ("apiVersion", "kind")
UNKNOWN = "(known only at `pulumi up`)"
"""Placeholder of a value that is unknown in a preview."""


def kubernetes_object(type_: str, properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the object of the resource; None if the resource is not an object of Kubernetes. Missing `apiVersion` and
    `kind` are taken from the type, such as `kubernetes:apps/v1:Deployment`."""
    version, _, kind = type_.removeprefix(PROVIDER).rpartition(":")
    if not type_.startswith(PROVIDER) or "/" not in version:
        return None
    given = {key: value for key, value in plain(properties).items() if value != UNKNOWN or key not in NAMING}
    return {"apiVersion": version.removeprefix("core/"), "kind": kind, **given}


def plain(value: Any) -> Any:
    """Return the value in plain types: no null, whole numbers as `int`, `UNKNOWN` for unknown values."""
    if isinstance(value, Mapping):
        read = {str(key): _read(value, key) for key in value}
        return {key: item for key, item in read.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_read(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _read(holder: Any, key: Any) -> Any:
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN


COMPONENT = "trainform:index:"
"""In the URNs of trainform's components."""
QUEUE_RULE = "TF-QUE-1"
JOB_FIELDS = ("spec.activeDeadlineSeconds", "spec.queue", "metadata.labels.kueue.x-k8s.io/queue-name")
"""Fields of a job that count for all its pods."""
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""Errors when a field of a wrong type is read."""
WAIVERS: TypeAdapter[list[Waiver]] = TypeAdapter(list[Waiver])


class Resource(Struct, frozen=True):
    """A resource of Kubernetes. name: in the program. parent: the URN of its component; "" without one."""

    name: str
    body: dict[str, Any]
    parent: str = ""

    @property
    def is_ours(self) -> bool:
        """Return True if a component of trainform registered it: only its Secrets hold secret values. An object that a
        program puts below the component lacks the label."""
        [(label, name)] = defaults.MANAGED_BY.items()
        return COMPONENT in self.parent and self.label(label) == name

    @property
    def key(self) -> str:
        """Return the key (`Manifest.key`) of an object that trainform rendered; otherwise the name of the resource."""
        return key_of_resource(self.name, self.parent) if self.is_ours else self.name

    @property
    def owner(self) -> str:
        """Return the name of the experiment that owns the object; without one, the name of the resource."""
        experiment = self.label(defaults.NAME_LABEL) if self.is_ours else None
        return self.name if experiment is None else experiment

    def label(self, name: str) -> str | None:
        """Return the value of a label of the object; None if it has no such label."""
        labels = value_at(self.body, "metadata.labels")
        found = labels.get(name) if isinstance(labels, dict) else None
        return found if isinstance(found, str) else None


# Cluster-scoped kinds of trainform's: the provider writes its default namespace into a patch of one.
_CLUSTER_SCOPED = ("Namespace", "PriorityClass", "Queue")


class Verdict(Struct, frozen=True):
    """The result of a rule for one object."""

    messages: tuple[str, ...] = ()
    """The findings that count."""
    not_known: tuple[str, ...] = ()
    """Paths of values that are not known yet, and without which the rule could not judge."""


def verdict(
    rule: Rule, resource: Resource, environment: Environment, today: datetime.date, queues: frozenset[str] = frozenset()
) -> Verdict:
    """Judge the object. An object that the rule cannot read is a finding. queues: those that the stack creates."""
    try:
        return _verdict(rule, resource, environment, today, queues)
    except UNREADABLE as error:
        reason = f"the rule cannot read this object ({type(error).__name__}), and what it cannot read may break it"
        return Verdict((f"{reason}: correct the types of its fields",))


def _verdict(
    rule: Rule, resource: Resource, environment: Environment, today: datetime.date, queues: frozenset[str]
) -> Verdict:
    found_pods = pods_of(resource.body)
    if not resource.is_ours and not found_pods:
        return Verdict()
    unknown = tuple(places_of(UNKNOWN, resource.body))
    judged = judged_object(resource.key, resource.body, [pods.template for pods in found_pods], environment.admission)
    accepted = waived(_waivers(resource), environment, today)
    messages, not_known = [], False
    for finding in rule.find(judged, environment):
        fingerprint = Judgement(rule, "error", finding).fingerprint(resource.owner)
        is_own_queue = rule.code == QUEUE_RULE and environment.limits.own_queues and finding.value in queues
        if is_own_queue or (rule.code, fingerprint) in accepted or _is_elsewhere(finding, found_pods):
            continue
        if unknown and (finding.value is None or UNKNOWN in str(finding.value)):
            not_known = True
        else:
            messages.append(message(rule, finding, fingerprint, show_value=resource.is_ours))
    return Verdict(tuple(dict.fromkeys(messages)), unknown if not_known else ())


def message(rule: Rule, finding: Finding, fingerprint: str, *, show_value: bool) -> str:
    """Return path, value, reason and fix on one line. show_value: False for a possible secret."""
    value = f" = {finding.value}" if show_value and finding.value is not None else ""
    reason = finding.reason if show_value else rule.title.removesuffix(".")
    return masked_line(f"{_place(finding)}{value}: {reason}. {finding.fix} ({rule.code}, finding {fingerprint})")


def key_of_resource(name: str, parent: str) -> str:
    """Return an object's key from its resource's name: the reverse of `resource_name`. parent: a component's URN."""
    owner = parent.rpartition("::")[2]
    if f"{COMPONENT}TrainingJob${COMPONENT}" in parent:  # a part of a job, whose name is the job's with one more word
        owner = owner.rpartition("-")[0]
    key = name.removeprefix(f"{owner}-")
    stem, _, end = key.rpartition("-")
    is_revision = len(end) == defaults.REVISION_DIGITS and set(end) <= set("0123456789abcdef")
    return stem if stem and is_revision else key


def _is_elsewhere(finding: Finding, found: Sequence[Pods]) -> bool:
    """Return True for an absent field that another object may have: the runtime of a TrainJob, or its TrainJob."""
    of_job = finding.where in JOB_FIELDS
    if finding.template is None:
        return finding.key is None and any(pods.elsewhere or (of_job and pods.job) for pods in found)
    pods = next(pods for pods in found if pods.template is finding.template)
    return bool(pods.elsewhere or (of_job and pods.job)) and finding.where not in by_place(finding.template.body)


def _place(finding: Finding) -> str:
    """Return the path in the object."""
    template, where = finding.template, finding.where
    if template is None or not template.place:
        return where
    return f"{template.place}.{where}" if where.startswith(("spec", "metadata")) else f"{template.place}, {where}"


def _waivers(resource: Resource) -> Sequence[Waiver]:
    """Return the waivers that trainform rendered into the object; invalid text counts as none."""
    annotations = value_at(resource.body, "metadata.annotations")
    text = annotations.get(defaults.WAIVERS_ANNOTATION) if isinstance(annotations, dict) else None
    try:
        return WAIVERS.validate_json(text) if isinstance(text, str) else ()
    except ValidationError:
        return ()


def environment_verdict(resource: Resource, environment: Environment) -> Verdict:
    """Return a finding for an object of trainform, or a job, that belongs to another environment than this one."""
    messages, name = list[str](), resource.label(defaults.ENVIRONMENT_LABEL)
    if name not in (None, UNKNOWN, environment.name):
        messages.append(
            f"trainform rendered the object for the environment {name}, and this stack belongs to {environment.name}: "
            "use a stack for each environment"
        )
    namespace = value_at(resource.body, "metadata.namespace")
    is_outside = namespace not in (None, UNKNOWN, environment.namespace.name)
    is_outside = is_outside and resource.body.get("kind") not in _CLUSTER_SCOPED
    if is_outside and (resource.is_ours or pods_of(resource.body)):
        messages.append(_other("object", "namespace", namespace, environment.namespace.name, environment))
    return Verdict(tuple(messages))


def cluster_verdict(settings: dict[str, Any], environment: Environment) -> Verdict:
    """Return a finding for a Kubernetes provider with another context or namespace than the environment's."""
    own = {"context": environment.cluster.context, "namespace": environment.namespace.name}
    return Verdict(
        tuple(
            _other("provider", field, settings[field], name, environment)
            for field, name in own.items()
            if name is not None and settings.get(field) not in (None, "", UNKNOWN, name)
        )
    )


def _other(what: str, field: str, given: Any, own: str, environment: Environment) -> str:
    return (
        f"the {what} has the {field} {given}, and the environment {environment.name} has {own}: its limits are made "
        f"for the jobs there. Use that {field}, or the stack of another environment"
    )
