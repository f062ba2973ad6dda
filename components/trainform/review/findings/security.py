"""Findings about security: what the pods of new objects may do and those of the old ones could not. The limits of the
environment say whether it is allowed; these findings say what the change adds, also where it is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.workloads import value_at
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.fate import fate
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding, Place
from trainform.review.preview import Step
from trainform.review.stand_ins import MASKED, UNKNOWN
from trainform.rules.limits.places import Place as Spot
from trainform.rules.limits.places import places
from trainform.rules.limits.pod_security import CONTROLS, Openings, effective
from trainform.secrets import masked
from trainform.spec.environment import Environment
from trainform.spec.names import qualified, split_registry

PRIVILEGED = kind("TR-SECURITY-1")
HOST_PATH = kind("TR-SECURITY-2")
HOST_NETWORK = kind("TR-SECURITY-3")
HOST_NAMESPACES = kind("TR-SECURITY-4")
CAPABILITY = kind("TR-SECURITY-5")
ROOT = kind("TR-SECURITY-6")
MUTABLE = kind("TR-SECURITY-7")
REGISTRY = kind("TR-SECURITY-8")
LITERAL = kind("TR-SECURITY-9")
ADMISSION = kind("TR-SECURITY-10")

DIGEST = "@sha256:"
HIDDEN = (MASKED, UNKNOWN)
_STANDARD = Openings(False, (), ())
_BY_NAME = {control.name: control for control in CONTROLS}
IMAGE, MAPPING = "image", "environment.registries"
"""The field of an experiment with an image, and that of an environment which gives images other names."""


class Danger(Struct, frozen=True):
    """Something that pods may do. looks: the places in a pod template. harmless: whether a place is none, with what is
    open. fields: those of the experiment and the environment that cause it, apart from merge patches."""

    kind: Kind
    looks: Callable[[Mapping[str, Any]], Iterable[Spot]]
    harmless: Callable[[Spot, Openings], bool]
    fields: tuple[str, ...] = ()


def _of_control(about: Kind, name: str, *fields: str) -> Danger:
    """Return what a control of the Pod Security Standards judges."""
    control = _BY_NAME[name]
    return Danger(about, control.looks_at, control.allowed, fields)


DANGERS = (
    _of_control(PRIVILEGED, "privileged"),
    _of_control(HOST_PATH, "hostPathVolumes"),
    Danger(
        HOST_NETWORK,
        lambda body: places(body, "spec.hostNetwork"),
        lambda spot, openings: openings.host_network or spot.value in (None, False),
        ("network.host",),
    ),
    _of_control(HOST_NAMESPACES, "hostNamespaces"),
    _of_control(CAPABILITY, "capabilities_baseline", "network.rdma", "environment.rdma"),
    Danger(
        ROOT,
        lambda body: effective(body, "runAsUser"),
        lambda spot, openings: bool(spot.value != 0),
        ("run_as",),
    ),
)


class Subject(Struct, frozen=True):
    """An object with pods, and the job to which it belongs; None for an object of another program."""

    step: Step
    job: JobReview | None
    context: Context

    @property
    def owner(self) -> str:
        """The name of the job, whose object has the revision in its name; of another object its own name."""
        return steps.name(self.step) if self.job is None else self.job.name

    def place(self, roles: Sequence[str], fields: Sequence[str]) -> Place | None:
        """Return the place of the first change of the experiment that can be the cause; without one, of the first field
        that is set. None for an object of another program."""
        if self.job is None:
            return None
        happens = fate(self.context, self.job)
        own = [f"roles.{role}.{field}" for role in roles for field in fields]
        paths = [*own, *fields, *(f"roles.{role}.pod_overrides" for role in roles), "manifest_overrides"]
        changed = happens.causes.under(*paths) or happens.causes.under(*([MAPPING] if IMAGE in fields else []))
        if changed:
            return changed[0].place
        paths += [f"roles.{role}" for role in roles]
        experiment = {} if happens.after is None else {**happens.after.resolved}
        found = next((path for path in paths if value_at(experiment, path)), None)
        return None if found is None else self.context.locate(found)

    def finding(
        self, about: Kind, roles: Sequence[str], where: str, before: Any, after: Any, title: str, fields: Sequence[str]
    ) -> Finding:
        """Return a finding about a place in the pods of some roles, caused by one of the fields."""
        return about.finding(
            steps.name(self.step),
            ": ".join(filter(None, [", ".join(roles), where])),
            before,
            after,
            title=title,
            place=self.place(roles, fields),
            identity=self.owner,
        )

    def pods(self, roles: Iterable[str]) -> str:
        """Return the pods of the roles in words."""
        named = ", ".join(dict.fromkeys(roles))
        return f"{named or self.step.kind} of {self.owner}"


def find(context: Context) -> Iterator[Finding]:
    """Yield what is new in objects that are created, changed or replaced, and warnings of Pod Security Admission."""
    for message in context.preview.messages:
        if defaults.POD_SECURITY in message.text:
            yield ADMISSION.finding(context.stack, after=message.text)
    jobs = {step.urn: job for job in context.jobs for step in (*filter(None, [job.job]), *job.steps)}
    for step in context.preview.steps:
        if step.is_object and step.new is not None and steps.fate(step) not in ("none", "delete"):
            job = jobs.get(step.urn)
            yield from _of_subject(Subject(_with_old(step, job), job, context))


def _with_old(step: Step, job: JobReview | None) -> Step:
    """Return the step with the object that it takes the place of: where names have the revision, the old object of a
    job is deleted in a step of its own."""
    if step.old is not None or job is None:
        return step
    gone = (each for each in job.steps if steps.fate(each) == "delete")
    old = (each.old for each in gone if _without_revision(each) == _without_revision(step))
    return structs.replace(step, old=next(old, None))


def _without_revision(step: Step) -> tuple[str, str]:
    return step.type, step.name.rpartition("-")[0]


def _of_subject(subject: Subject) -> Iterator[Finding]:
    old, new = (steps.templates(subject.step, state) for state in (subject.step.old, subject.step.new))
    yield from _of_dangers(old, new, subject, subject.context.environment)
    yield from _images(old, new, subject)
    if not steps.is_record(subject.step):  # the pods have the variables of the record too
        for where in subject.step.plain_secrets:
            title = f"A secret stands as plain text in {subject.pods(())}: {where}."
            yield subject.finding(LITERAL, (), where, None, MASKED, title, ())


def _of_dangers(
    old: Iterable[Template], new: Iterable[Template], subject: Subject, environment: Environment | None
) -> Iterator[Finding]:
    """Yield a finding for each danger and place, with all roles that have it now and did not have it before."""
    openings = _STANDARD if environment is None else Openings.of(environment)
    before = {*_dangers(old)}
    found: dict[tuple[Danger, Spot], list[str]] = {}
    for danger, spot, role in dict.fromkeys(_dangers(new)):
        if (danger, spot, role) not in before:
            found.setdefault((danger, spot), []).append(role)
    for (danger, spot), roles in found.items():
        is_allowed = danger.harmless(spot, openings)
        about, value = danger.kind.weighing("low") if is_allowed else danger.kind, masked(spot.value)
        shown = str(value).lower() if isinstance(value, bool) else value
        allowed = "; the environment allows it" if is_allowed else ""
        title = f"{about.title.removesuffix('.')}: {spot.where} = {shown} in {subject.pods(roles)}{allowed}."
        yield subject.finding(about, roles, spot.where, None, value, title, danger.fields)


def _dangers(templates: Iterable[Template]) -> Iterator[tuple[Danger, Spot, str]]:
    for template in templates:
        for danger in DANGERS:
            for where, value in danger.looks(template.body):
                spot = Spot(where, _plain(value))
                if spot.value not in HIDDEN and not danger.harmless(spot, _STANDARD):
                    yield danger, spot, template.role


def _plain(value: Any) -> Any:
    """Return the value, or its text where it has another form than it should."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _images(old: Iterable[Template], new: Iterable[Template], subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each image that is new and has no digest, or comes from another registry than before."""
    was = dict(_by_place(old))
    mutable: dict[str, list[tuple[str, str]]] = {}
    moved: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for at, image in _by_place(new):
        before = was.get(at)
        if image == before or image in HIDDEN:
            continue
        known = None if before in HIDDEN else before
        if DIGEST not in image and (known is None or DIGEST in known):
            mutable.setdefault(image, []).append(at)
        if known is not None and _registry(known) != _registry(image):
            moved.setdefault((_registry(image), _registry(known)), []).append(at)
    now = dict(_by_place(new))
    for (registry, former), spots in moved.items():
        title = f"The image of {subject.pods(role for role, _ in spots)} comes from {registry}, and came from {former}."
        yield _image_finding(REGISTRY, spots, was, now, title, subject)
    for image, spots in mutable.items():
        title = f"The image of {subject.pods(role for role, _ in spots)} has no digest: {masked(image)}."
        yield _image_finding(MUTABLE, spots, was, now, title, subject)


def _image_finding(
    about: Kind,
    at: Sequence[tuple[str, str]],
    was: Mapping[tuple[str, str], str],
    now: Mapping[tuple[str, str], str],
    title: str,
    subject: Subject,
) -> Finding:
    roles = [*dict.fromkeys(role for role, _ in at)]
    return subject.finding(about, roles, at[0][1], masked(was.get(at[0])), masked(now[at[0]]), title, (IMAGE,))


def _registry(image: str) -> str:
    return split_registry(qualified(image))[0]


def _by_place(templates: Iterable[Template]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the image of each container by its role and its place."""
    for template in templates:
        for where, container in template.named_containers():
            if isinstance(container.get("image"), str):
                yield (template.role, f"{where}.image"), container["image"]
