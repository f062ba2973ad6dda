"""Findings about security: what the pods of new objects may do and those of the old ones could not. Whether the environment allows it, its limits say;
here stands what this change adds, also where it is allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform.manifests.templates import Template
from trainform.review import objects
from trainform.review.context import Context
from trainform.review.difference import without_secrets
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding
from trainform.review.preview import MASKED, UNKNOWN, State, Step
from trainform.rules.limits.images import qualified
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import Place, places
from trainform.rules.limits.pod_security import CONTROLS, Openings, effective
from trainform.rules.limits.secrets import secrets_of
from trainform.spec.environment import Environment
from trainform.spec.names import split_registry


def _kind(number: int, level: Any, title: str, why: str, fix: str) -> Kind:
    return Kind(f"TR-SECURITY-{number}", Category.security, level, title, why, fix)


REMOVE = "Remove it, or have the platform team say that the job needs it."
PRIVILEGED = _kind(
    1, "high", "A container becomes privileged.", "It may do everything on its node, to everybody's pods there.", REMOVE
)
HOST_PATH = _kind(
    2,
    "high",
    "A path of the node is mounted.",
    "The pods read or write what belongs to the node and to others.",
    REMOVE,
)
HOST_NETWORK = _kind(
    3,
    "medium",
    "Pods use the network of their node.",
    "They see its traffic and its ports, and no network policy holds for them.",
    REMOVE,
)
HOST_NAMESPACES = _kind(
    4,
    "high",
    "Pods share the processes or the memory of their node.",
    "They see and reach what others run there.",
    REMOVE,
)
CAPABILITY = _kind(
    5,
    "medium",
    "A container gets a further capability.",
    "It may do what the kernel keeps from other containers.",
    REMOVE,
)
ROOT = _kind(
    6,
    "medium",
    "A container runs as root by its number.",
    "A flaw in the container runtime or the kernel then gives away the node.",
    "Write `run_as: {user: 1000}` with the number of a user of the image.",
)
MUTABLE = _kind(
    7,
    "low",
    "An image is named by a tag alone.",
    "The tag may be another image tomorrow, and on each node: what was reviewed is then not what runs.",
    "Write image@sha256:… as your registry shows it.",
)
REGISTRY = _kind(
    8,
    "medium",
    "An image comes from another registry.",
    "Whoever can push to that registry decides what runs.",
    "Make sure that the registry is one that your team trusts, or push the image to the one from before.",
)
LITERAL = _kind(
    9,
    "high",
    "A secret stands in an object as plain text.",
    "Everybody who may read the object, the state or a preview can read it.",
    "Put it into a Secret, and name its entry: `{secret: {name: SECRET, key: KEY}}`. Then change it, since it has been seen.",
)
KINDS = (PRIVILEGED, HOST_PATH, HOST_NETWORK, HOST_NAMESPACES, CAPABILITY, ROOT, MUTABLE, REGISTRY, LITERAL)

_STANDARD = Openings(False, (), ())
_BY_NAME = {control.name: control for control in CONTROLS}


@dataclasses.dataclass(frozen=True)
class Danger:
    """Something that pods may do. looks: the places in a pod template. harmless: True if what stands there is none, with what is open."""

    kind: Kind
    looks: Callable[[Mapping[str, Any]], Iterable[Place]]
    harmless: Callable[[Place, Openings], bool]


def _of_control(kind: Kind, name: str) -> Danger:
    """What a control of the Pod Security Standards judges."""
    control = _BY_NAME[name]
    return Danger(kind, control.looks_at, control.allowed)


DANGERS = (
    _of_control(PRIVILEGED, "privileged"),
    _of_control(HOST_PATH, "hostPathVolumes"),
    Danger(
        HOST_NETWORK,
        lambda body: places(body, "spec.hostNetwork"),
        lambda place, openings: openings.host_network or place.value in (None, False),
    ),
    _of_control(HOST_NAMESPACES, "hostNamespaces"),
    _of_control(CAPABILITY, "capabilities_baseline"),
    Danger(ROOT, lambda body: effective(body, "runAsUser"), lambda place, openings: bool(place.value != 0)),
)


@dataclasses.dataclass(frozen=True)
class Found:
    """A danger in the pods of a role of an object."""

    kind: Kind
    role: str
    place: Place
    allowed: bool = False


def find(context: Context) -> Iterator[Finding]:
    """What is new in the objects that are created, changed or replaced."""
    for step in context.preview.steps:
        if step.is_object and step.new is not None and objects.fate(step) not in ("none", "delete"):
            yield from _of_step(step, context)


def _of_step(step: Step, context: Context) -> Iterator[Finding]:
    owner = _owner(step, context)
    old, new = objects.templates(step, step.old), objects.templates(step, step.new)
    before = {_identity(found) for found in _dangers(old, None)}
    for found in _dangers(new, context.environment):
        if _identity(found) not in before:
            yield _finding(found, step, owner)
    yield from _images(old, new, step, owner)
    yield from _literals(step, owner)


def _owner(step: Step, context: Context) -> str:
    """The name of the job, whose object has its revision in its name; of another object its own."""
    return next((job.name for job in context.jobs if step in (job.job, *job.steps)), objects.name(step))


def _dangers(templates: Iterable[Template], environment: Environment | None) -> Iterator[Found]:
    """Each danger in the pods once."""
    openings = _STANDARD if environment is None else Openings.of(environment)
    for template in templates:
        for danger in DANGERS:
            for place in dict.fromkeys(Place(where, _plain(value)) for where, value in danger.looks(template.body)):
                if place.value not in (MASKED, UNKNOWN) and not danger.harmless(place, _STANDARD):
                    yield Found(danger.kind, template.role, place, danger.harmless(place, openings))


def _plain(value: Any) -> Any:
    """The value, or its text where it has another form than it should."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _identity(found: Found) -> tuple[Kind, str, str, object]:
    return found.kind, found.role, found.place.where, found.place.value


def _finding(found: Found, step: Step, owner: str) -> Finding:
    allowed = " The environment allows it." if found.allowed else ""
    value = without_secrets(found.place.value)
    said = f"{found.place.where} = {str(value).lower() if isinstance(value, bool) else value}"
    title = f"{_words(found.kind)} in the pods of {found.role or step.kind} of {owner}: {said}.{allowed}"
    return found.kind.finding(
        objects.name(step),
        f"{found.role}: {found.place.where}" if found.role else found.place.where,
        None,
        value,
        title=title,
        level="low" if found.allowed else None,
        identity=owner,
    )


def _words(kind: Kind) -> str:
    return kind.title.removesuffix(".")


def _images(old: Iterable[Template], new: Iterable[Template], step: Step, owner: str) -> Iterator[Finding]:
    was = dict(_by_place(old))
    for (role, where), image in _by_place(new):
        before = was.get((role, where))
        if image == before or image in (MASKED, UNKNOWN):
            continue
        field = f"{role}: {where}" if role else where
        shown_before, shown_after = without_secrets(before), without_secrets(image)
        if "@sha256:" not in image:
            title = f"The image of {role or step.kind} of {owner} has no digest: {shown_after}."
            yield MUTABLE.finding(objects.name(step), field, shown_before, shown_after, title=title, identity=owner)
        registries = [None if text is None else split_registry(qualified(text))[0] for text in (before, image)]
        if before is not None and before not in (MASKED, UNKNOWN) and registries[0] != registries[1]:
            title = f"The image of {role or step.kind} of {owner} comes from {registries[1]}, and came from {registries[0]}."
            yield REGISTRY.finding(objects.name(step), field, shown_before, shown_after, title=title, identity=owner)


def _by_place(templates: Iterable[Template]) -> Iterator[tuple[tuple[str, str], str]]:
    """The image of each container by its role and its place."""
    for template in templates:
        for where, container in template.named_containers():
            if isinstance(container.get("image"), str):
                yield (template.role, f"{where}.image"), container["image"]


def _literals(step: Step, owner: str) -> Iterator[Finding]:
    """Secrets as plain text at places where none stood before. Their values are never shown."""
    if objects.is_record(step):  # what it says of variables stands in the pods too
        return
    before = set(_secret_places(step, step.old))
    for where in dict.fromkeys(_secret_places(step, step.new)):
        if where not in before:
            title = f"A secret stands as plain text in the {objects.kind(step)} of {owner}: {where}."
            yield LITERAL.finding(objects.name(step), where, None, MASKED, title=title, identity=owner)


def _secret_places(step: Step, state: State | None) -> Iterator[str]:
    body = objects.body(step, state)
    judged = Judged({step.name: body}, objects.templates(step, state))
    for finding in secrets_of(judged):
        yield finding.where if finding.template is None else f"{finding.template.role}: {finding.where}"
