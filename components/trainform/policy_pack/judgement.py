"""One object of anybody's program, judged by one rule of the environment."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, structs
from pydantic import TypeAdapter, ValidationError

from trainform import defaults
from trainform.backends.judged import judged_object
from trainform.backends.not_judged import not_judged, taken
from trainform.backends.pods import described_kinds, group_and_kind, pods_of
from trainform.backends.scopes import CLUSTER_SCOPED
from trainform.backends.workloads import Pods, value_at
from trainform.errors import MASK, shorten
from trainform.manifests.templates import Template
from trainform.policy_pack.unknown import NotKnownError
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.queues import queues_in
from trainform.rules.limits.rule import Finding, Judgement, Rule
from trainform.rules.limits.waivers import waived
from trainform.secrets import masked_line
from trainform.spec.environment import Environment
from trainform.spec.waivers import Waiver

COMPONENT = "trainform:index:"
"""In the URNs of trainform's components."""

OF_QUEUES = "TF-QUE-1"
OF_JOBS = ("spec.activeDeadlineSeconds", "metadata.labels.kueue.x-k8s.io/queue-name")
"""Where rules look for what a job may say for all its pods."""

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What a field of another type than it should have ends in, wherever it is read."""

WAIVERS: TypeAdapter[list[Waiver]] = TypeAdapter(list[Waiver])


class Resource(Struct, frozen=True):
    """A resource of Kubernetes. name: that of the resource in the program. body: the object; it may be only a part of one (`is_patch`). parent: the
    URN of the component that made it; empty if none did."""

    name: str
    body: dict[str, Any]
    parent: str = ""
    is_patch: bool = False

    @property
    def is_ours(self) -> bool:
        """True if a component of trainform made it: then no value in it is secret but those of Secrets. The label tells it from an object that
        a program puts below the component."""
        [(label, name)] = defaults.MANAGED_BY.items()
        return COMPONENT in self.parent and self.label(label) == name

    @property
    def key(self) -> str:
        """The key of an object that trainform rendered (`Manifest.key`), from the name of its resource; otherwise that name."""
        return key_of_resource(self.name, self.parent) if self.is_ours else self.name

    @property
    def owner(self) -> str:
        """The name of the experiment that the object belongs to; if it belongs to none, that of the resource."""
        experiment = self.label(defaults.NAME_LABEL) if self.is_ours else None
        return self.name if experiment is None else experiment

    def label(self, name: str) -> str | None:
        """The value of a label of the object; None if it has no such label."""
        labels = value_at(self.body, "metadata.labels")
        found = labels.get(name) if isinstance(labels, dict) else None
        return found if isinstance(found, str) else None


class Verdict(Struct, frozen=True):
    """What a rule finds in one object.

    found: the findings that count, each as a message. not_known: what the rule could not judge because the value is not known yet. elsewhere: what
    the rule could not judge because another object decides it.
    """

    found: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


class Brought:
    """The queues that the stack brings, as the engine shows them: one that jobs wait for is made before them."""

    def __init__(self) -> None:
        self.queues: set[str] = set()

    def add(self, resource: Resource) -> None:
        """Remember the resource if it is a queue that the stack makes, and not only changes. A name that is not known yet is none."""
        if resource.is_patch:
            return
        with contextlib.suppress(NotKnownError):
            self.queues |= {name for _, name, _ in queues_in(Judged({resource.key: resource.body}, ()))}


def verdict(
    rule: Rule, resource: Resource, environment: Environment, today: datetime.date, brought: Brought
) -> Verdict:
    """Judge the object by the rule. An object that the rule cannot read is a finding, since it may hold anything."""
    found: list[str] = []
    not_known: list[str] = []
    others: list[str] = []
    try:
        found_pods = pods_of(resource.body)
        judged = _judged(rule, resource, [pods.template for pods in found_pods], environment)
        accepted = waived(_waivers(resource), environment, today)
        for finding in rule.find(judged, environment):
            fingerprint = Judgement(rule, "error", finding).fingerprint(resource.owner)
            if rule.code == OF_QUEUES and environment.limits.own_queues and finding.value in brought.queues:
                continue
            other = _other_object(finding, found_pods, resource)
            shown = finding if resource.is_ours else _in_own_words(finding)
            if other:
                others.append(f"{_place(shown)}: {other}")
            elif (rule.code, fingerprint) not in accepted:
                found.append(message(rule, shown, fingerprint, show_value=resource.is_ours))
    except NotKnownError as error:
        not_known.append(f"{error.place} is known only at `pulumi up`")
    except UNREADABLE as error:
        found.append(_unreadable(error))
    return Verdict(tuple(dict.fromkeys(found)), tuple(not_known), tuple(dict.fromkeys(others)))


def _in_own_words(finding: Finding) -> Finding:
    """The finding in the words of the object, where a rule has those of an experiment."""
    if finding.raw is None:
        return finding
    where, fix, of_pods = finding.raw
    return structs.replace(finding, where=where, fix=fix, template=finding.template if of_pods else None)


def _unreadable(error: BaseException) -> str:
    reason = f"the rule cannot read this object ({type(error).__name__}), and what it cannot read may break it"
    return f"{reason}: correct the types of its fields"


def _judged(rule: Rule, resource: Resource, templates: Sequence[Template], environment: Environment) -> Judged:
    """What the rule judges. A queue that is not known yet stops the rules alone that read what objects name beside their pods."""
    try:
        return judged_object(resource.key, resource.body, templates, environment)
    except NotKnownError:
        if rule.reads_names:
            raise
        return Judged({resource.key: resource.body}, tuple(templates))


def message(rule: Rule, finding: Finding, fingerprint: str, *, show_value: bool) -> str:
    """Path, value, reason and fix. show_value: False where the value may be a secret of somebody else's program."""
    value = f" = {finding.value}" if show_value and finding.value is not None else ""
    reason = finding.reason if show_value else _without_values(finding)
    return masked_line(f"{_place(finding)}{value}: {reason}. {finding.fix} ({rule.code}, finding {fingerprint})")


def _without_values(finding: Finding) -> str:
    """The reason with the mask in the place of the values that it shows."""
    reason = finding.reason
    for value in finding.value if isinstance(finding.value, list) else [finding.value]:
        if isinstance(value, str) and value:
            reason = re.sub(rf"(= |have ){re.escape(shorten(value))}(?=[,)]|$)", rf"\g<1>{MASK}", reason)
    return reason


def key_of_resource(name: str, parent: str) -> str:
    """The key of an object from the name of its resource, of which `manifests.manifest.resource_name` made it. parent: the URN of the component
    whose child it is."""
    owner = parent.rpartition("::")[2]
    if f"{COMPONENT}TrainingJob${COMPONENT}" in parent:  # a part of a job, whose name is the job's with one more word
        owner = owner.rpartition("-")[0]
    key = name.removeprefix(f"{owner}-")
    stem, _, end = key.rpartition("-")
    is_revision = len(end) == defaults.REVISION_DIGITS and set(end) <= set("0123456789abcdef")
    return stem if stem and is_revision else key


def _other_object(finding: Finding, found: Sequence[Pods], resource: Resource) -> str:
    """Why a finding may be wrong, because another object of the program decides it; empty if it is right."""
    if resource.is_patch:
        holder = resource.body if finding.template is None else finding.template.body
        return "" if _is_there(holder, finding.where) else "the object that it changes may have it"
    pods = next((pods for pods in found if pods.template is finding.template), None)
    if pods is None:
        return ""
    other = pods.job if pods.job and finding.where in OF_JOBS else pods.elsewhere
    # the search reads all of the pods, so it is left out where it decides nothing
    return f"{other} may have it" if other and not _is_there(pods.template.body, finding.where) else ""


def _is_there(value: Any, where: str) -> bool:
    """True if the path leads to a value; True too if it is no path in the object. An item of a list is its name, its index (`volumes[0]` or
    `volumes.0`), or any of them."""
    if not where:
        return True
    where = where.removeprefix(".")
    if isinstance(value, dict):
        names = {key: value[key] for key in value if _begins(where, key)}
    elif isinstance(value, list):
        items = list(enumerate(value))
        named = {str(item["name"]): item for _, item in items if isinstance(item, dict) and "name" in item}
        indexed = {form: item for index, item in items for form in (str(index), f"[{index}]")}
        names = {name: item for name, item in {**indexed, **named}.items() if _begins(where, name)}
        if not names:
            return any(_is_there(item, where) for item in value if isinstance(item, dict))
    else:
        return False
    return any(_is_there(item, where[len(name) :]) for name, item in names.items())


def _begins(where: str, name: str) -> bool:
    """True if the path begins with the whole name."""
    return where.startswith(name) and where[len(name) : len(name) + 1] in ("", ".", "[")


def _place(finding: Finding) -> str:
    """The path in the object."""
    template, where = finding.template, finding.where
    if template is None or not template.place:
        return where
    if template.part and f"{where}.".startswith(f"{template.part}."):
        return f"{template.place}{where.removeprefix(template.part)}"
    is_path = not template.part and where.startswith(("spec", "metadata"))
    return f"{template.place}.{where}" if is_path else f"{template.place}, {where}"


def _waivers(resource: Resource) -> Sequence[Waiver]:
    """The waivers that trainform rendered into the object. Text that is none counts as none."""
    annotations = value_at(resource.body, "metadata.annotations")
    text = annotations.get(defaults.WAIVERS_ANNOTATION) if isinstance(annotations, dict) else None
    if not isinstance(text, str):
        return ()
    try:
        return WAIVERS.validate_json(text)
    except ValidationError:
        return ()


def unseen(resource: Resource) -> Iterator[str]:
    """What no rule sees of an object, because another object has it or no rule is made for it: a rule on amounts or images then finds nothing.
    What trainform's own objects have from elsewhere, `check` has told, but for what only a patch can bring."""
    pods = pods_of(resource.body)
    if not resource.is_ours:
        yield from _elsewhere(resource, pods)
        yield from not_judged(resource.body)
    sources = dict.fromkeys(source for each in pods for source in taken(each.template))
    for where, kind, name in sources:
        if not resource.is_ours or where.endswith(".envFrom"):
            yield f"the variables of {where} are judged only as far as this stack makes the {kind} {name}"


def _elsewhere(resource: Resource, pods: Sequence[Pods]) -> Iterator[str]:
    """The objects that have the rest of the pods."""
    others = dict.fromkeys(each.elsewhere for each in pods if each.elsewhere)
    if group_and_kind(resource.body) in described_kinds():
        others = {**others, "the object that it changes": None} if resource.is_patch else others
        others = others if pods or others else {"another object": None}
    yield from (f"the pods are held to no rule as far as {other} has them" for other in others)


def environment_verdict(resource: Resource, environment: Environment) -> Verdict:
    """What is wrong if the object belongs to another environment than the one by which it is judged, and what no rule sees of it."""
    try:
        return Verdict(tuple(_wrong_environment(resource, environment)), elsewhere=tuple(unseen(resource)))
    except NotKnownError as error:
        return Verdict(not_known=(f"{error.place} is known only at `pulumi up`",))
    except UNREADABLE as error:
        return Verdict((_unreadable(error),))


def _wrong_environment(resource: Resource, environment: Environment) -> Iterator[str]:
    name = resource.label(defaults.ENVIRONMENT_LABEL)
    if name is not None and name != environment.name:
        yield (
            f"trainform rendered the object for the environment {name}, and this stack belongs to {environment.name}: "
            "use a stack for each environment"
        )
    for body in _objects(resource.body):
        namespace = value_at(body, "metadata.namespace")
        in_cluster = group_and_kind(body) in CLUSTER_SCOPED
        if isinstance(namespace, str) and namespace != environment.namespace.name and not in_cluster:
            yield (
                f"the object is in the namespace {namespace}, and the environment {environment.name} has "
                f"{environment.namespace.name}: its limits are made for the jobs there. Use that namespace, or the stack of another environment"
            )


def _objects(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The object, and those in it if it is a list of them."""
    yield body
    items = value_at(body, "items")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield from _objects(item)


def cluster_verdict(settings: dict[str, Any], environment: Environment) -> Verdict:
    """What is wrong if the settings of a provider of Kubernetes lead to another cluster than the environment's, or to another namespace."""
    try:
        return Verdict(
            tuple(_wrong_cluster(settings, environment)), elsewhere=tuple(_any_cluster(settings, environment))
        )
    except NotKnownError as error:
        return Verdict(not_known=(f"{error.place} is known only at `pulumi up`",))


def _wrong_cluster(settings: dict[str, Any], environment: Environment) -> Iterator[str]:
    for field, own in (("context", environment.cluster.context), ("namespace", environment.namespace.name)):
        given = settings.get(field)
        if given and own is not None and given != own:
            yield (
                f"the provider has the {field} {given}, and the environment {environment.name} has {own}: its limits are made for the jobs "
                f"there. Use that {field}, or the stack of another environment"
            )


def _any_cluster(settings: dict[str, Any], environment: Environment) -> Iterator[str]:
    if environment.cluster.context is not None and not settings.get("context"):
        yield (
            f"it names no context, so the current one decides in which cluster objects are made; the environment {environment.name} has "
            f"{environment.cluster.context}"
        )
