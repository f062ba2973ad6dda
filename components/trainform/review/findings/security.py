"""Findings about security: what the pods of new objects may do and those of the old ones could not. Whether the
environment allows it, its limits say; here stands what this change adds, also where it is allowed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.causes import causes
from trainform.review.context import Context, JobReview
from trainform.review.difference import Difference, differences
from trainform.review.kinds import Kind
from trainform.review.model import Category, Finding, Place
from trainform.review.preview import State, Step
from trainform.review.stand_ins import MASKED, UNKNOWN
from trainform.review.wanted import after
from trainform.rules.limits.places import Place as Spot
from trainform.rules.limits.places import places
from trainform.rules.limits.pod_security import CONTROLS, Openings, effective
from trainform.rules.limits.secrets import by_name, secrets_in, without_content
from trainform.secrets import masked
from trainform.spec.environment import Environment
from trainform.spec.names import qualified, split_registry
from trainform.spec.roles import Role


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
    "Put it into a Secret, and name its entry: `{secret: {name: SECRET, key: KEY}}`. Then change it, since it has "
    "been seen.",
)
ADMISSION = _kind(
    10,
    "high",
    "The namespace's Pod Security level does not admit the pods.",
    "Where the level is enforced, the job is created and its pods are refused, so that it waits forever.",
    "Change what the message names, or have the platform team change the labels of the namespace.",
)
KINDS = (PRIVILEGED, HOST_PATH, HOST_NETWORK, HOST_NAMESPACES, CAPABILITY, ROOT, MUTABLE, REGISTRY, LITERAL, ADMISSION)

DIGEST = "@sha256:"
_STANDARD = Openings(False, (), ())
_BY_NAME = {control.name: control for control in CONTROLS}


class Danger(Struct, frozen=True):
    """Something that pods may do. looks: the places in a pod template. harmless: True if what stands there is none,
    with what is open."""

    kind: Kind
    looks: Callable[[Mapping[str, Any]], Iterable[Spot]]
    harmless: Callable[[Spot, Openings], bool]


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
        lambda spot, openings: openings.host_network or spot.value in (None, False),
    ),
    _of_control(HOST_NAMESPACES, "hostNamespaces"),
    _of_control(CAPABILITY, "capabilities_baseline"),
    Danger(ROOT, lambda body: effective(body, "runAsUser"), lambda spot, openings: bool(spot.value != 0)),
)


IMAGE, MAPPING = "image", "environment.registries"
"""The field of an experiment with an image, and that of an environment which gives images other names."""


class Found(Struct, frozen=True):
    """A danger in the pods of a role of an object."""

    kind: Kind
    role: str
    spot: Spot
    allowed: bool = False


class Subject(Struct, frozen=True):
    """An object with pods. owner: its job, whose object has the revision in its name; of another object its own name.
    place: where the experiment has a field of a role; None for an object of another program."""

    step: Step
    owner: str
    place: Callable[[str, str], Place | None]

    def finding(
        self, kind: Kind, role: str, where: str, before: Any, after: Any, title: str, field: str = ""
    ) -> Finding:
        """A finding about a place in the pods of a role. field: that of the experiment which says it."""
        return kind.finding(
            steps.name(self.step),
            f"{role}: {where}" if role else where,
            before,
            after,
            title=title,
            place=self.place(role, field),
            identity=self.owner,
        )

    def pods(self, role: str) -> str:
        """The pods of a role in words."""
        return f"{role or self.step.kind} of {self.owner}"


def find(context: Context) -> Iterator[Finding]:
    """What is new in the objects that are created, changed or replaced, and what Pod Security Admission warns of."""
    for message in context.preview.messages:
        if defaults.POD_SECURITY in message.text:
            yield ADMISSION.finding(context.stack, after=message.text)
    owners = {
        step.urn: owner
        for owner in map(_Owner, context.jobs)
        for step in (*filter(None, [owner.job.job]), *owner.job.steps)
    }
    for step in context.preview.steps:
        if step.is_object and step.new is not None and steps.fate(step) not in ("none", "delete"):
            owner = owners.get(step.urn)
            yield from _of_subject(_subject(_with_old(step, owner), owner, context), context.environment)


class _Owner(Struct, frozen=True, dict=True):
    """A job, with what is asked for each of its objects."""

    job: JobReview

    @functools.cached_property
    def roles(self) -> Mapping[str, Role]:
        """As they will be; none where nobody knows."""
        new = after(self.job)
        return new.model.roles if new is not None and new.model is not None else {}

    @functools.cached_property
    def remapped(self) -> bool:
        """Whether the environment gives images other names than before, and the experiment names the same ones."""
        made = causes(self.job)
        named = any(change.place.path.endswith(IMAGE) for change in made.changes)
        return bool(made.under(MAPPING)) and not named

    @functools.cached_property
    def gone(self) -> Mapping[tuple[str, str], State | None]:
        """The first deleted object of each type and name without a revision."""
        deleted = (step for step in self.job.steps if steps.fate(step) == "delete")
        return {_without_revision(step): step.old for step in reversed([*deleted])}


def _with_old(step: Step, owner: _Owner | None) -> Step:
    """The step with the object that it takes the place of: where names have the revision, the old object of a job is
    deleted beside the new one."""
    if step.old is not None or owner is None:
        return step
    return structs.replace(step, old=owner.gone.get(_without_revision(step)))


def _without_revision(step: Step) -> tuple[str, str]:
    return step.type, step.name.rpartition("-")[0]


def _subject(step: Step, owner: _Owner | None, context: Context) -> Subject:
    if owner is None:
        return Subject(step, steps.name(step), lambda role, field: None)
    roles = owner.roles

    def place(role: str, field: str) -> Place | None:
        if field == IMAGE and owner.remapped:
            return context.locate(MAPPING)
        if role not in roles:
            return context.locate(field) if field else None
        if field:
            own = getattr(roles[role], field, None) is not None
            return context.locate(f"roles.{role}.{field}" if own else field)
        return context.locate(f"roles.{role}")

    return Subject(step, owner.job.name, place)


def _of_subject(subject: Subject, environment: Environment | None) -> Iterator[Finding]:
    old, new = (steps.templates(subject.step, state) for state in (subject.step.old, subject.step.new))
    before = {_identity(found) for found in _dangers(old, None)}
    for found in _dangers(new, environment):
        if _identity(found) not in before:
            yield _finding(found, subject)
    yield from _images(old, new, subject)
    yield from _literals(subject)


def _dangers(templates: Iterable[Template], environment: Environment | None) -> Iterator[Found]:
    """Each danger in the pods once."""
    openings = _STANDARD if environment is None else Openings.of(environment)
    for template in templates:
        for danger in DANGERS:
            for spot in dict.fromkeys(Spot(where, _plain(value)) for where, value in danger.looks(template.body)):
                if spot.value not in (MASKED, UNKNOWN) and not danger.harmless(spot, _STANDARD):
                    yield Found(danger.kind, template.role, spot, danger.harmless(spot, openings))


def _plain(value: Any) -> Any:
    """The value, or its text where it has another form than it should."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _identity(found: Found) -> tuple[Kind, str, str, object]:
    return found.kind, found.role, found.spot.where, found.spot.value


def _finding(found: Found, subject: Subject) -> Finding:
    value = masked(found.spot.value)
    said = f"{found.spot.where} = {str(value).lower() if isinstance(value, bool) else value}"
    allowed = "; the environment allows it" if found.allowed else ""
    title = f"{found.kind.title.removesuffix('.')}: {said} in {subject.pods(found.role)}{allowed}."
    kind = found.kind.weighing("low") if found.allowed else found.kind
    return subject.finding(kind, found.role, found.spot.where, None, value, title)


def _images(old: Iterable[Template], new: Iterable[Template], subject: Subject) -> Iterator[Finding]:
    was = dict(_by_place(old))
    mutable: dict[str, list[tuple[str, str]]] = {}  # the places of each image without a digest
    for (role, where), image in _by_place(new):
        before = was.get((role, where))
        if image == before or image in (MASKED, UNKNOWN):
            continue
        pods, sides = subject.pods(role), (masked(before), masked(image))
        if DIGEST not in image and (before in (None, MASKED, UNKNOWN) or DIGEST in str(before)):
            mutable.setdefault(image, []).append((role, where))
        registry = _registry(image)
        if before not in (None, MASKED, UNKNOWN) and _registry(str(before)) != registry:
            title = f"The image of {pods} comes from {registry}, and came from {_registry(str(before))}."
            yield subject.finding(REGISTRY, role, where, *sides, title, IMAGE)
    for image, at in mutable.items():
        pods = subject.pods(", ".join(dict.fromkeys(role for role, _ in at)))
        sides = masked(was.get(at[0])), masked(image)
        title = f"The image of {pods} has no digest: {sides[1]}."
        yield subject.finding(MUTABLE, *at[0], *sides, title, IMAGE)


def _registry(image: str) -> str:
    return split_registry(qualified(image))[0]


def _by_place(templates: Iterable[Template]) -> Iterator[tuple[tuple[str, str], str]]:
    """The image of each container by its role and its place."""
    for template in templates:
        for where, container in template.named_containers():
            if isinstance(container.get("image"), str):
                yield (template.role, f"{where}.image"), container["image"]


def _literals(subject: Subject) -> Iterator[Finding]:
    """Secrets as plain text at places where none stood before. Their values are never shown."""
    step = subject.step
    if steps.is_record(step):  # what it says of variables stands in the pods too
        return
    bodies = (without_content(steps.body(step, state)) for state in (step.old, step.new))
    for found in differences(*bodies):
        before = _secret_places(found, found.before)
        for where in _secret_places(found, found.after):
            if where not in before:
                title = f"A secret stands as plain text in {subject.pods('')}: {where}."
                yield subject.finding(LITERAL, "", where, None, MASKED, title)


def _secret_places(found: Difference, value: Any) -> list[str]:
    """Where secrets stand as plain text on one side of a difference; nowhere where it is nested too deep to be read."""
    key = str(found.keys[-2] if len(found.keys) > 1 and found.keys[-1] == "value" else found.keys[-1])
    try:
        secrets = [*secrets_in({key: value}, by_name)]
    except RecursionError:
        return []
    return [f"{found.path}{secret.where.removeprefix(key)}" for secret in secrets]
