"""Findings about security: what a change adds to what pods may do, also where the environment allows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import value_at
from trainform.console.lines import MASK, UNKNOWN
from trainform.console.secrets import masked
from trainform.manifests.templates import Place as Spot
from trainform.manifests.templates import Template, places
from trainform.review import steps
from trainform.review.context import Context, JobReview
from trainform.review.job_change import job_change
from trainform.review.kinds import Kind, kind
from trainform.review.model import Finding, Place
from trainform.review.preview import Step
from trainform.rules.limits.pod_security import CONTROLS, Control, Openings
from trainform.spec.names import qualified, split_registry

MUTABLE = kind("TR-SECURITY-7")
REGISTRY = kind("TR-SECURITY-8")
LITERAL = kind("TR-SECURITY-9")
ADMISSION = kind("TR-SECURITY-10")

DIGEST = "@sha256:"
HIDDEN = (MASK, UNKNOWN)
IMAGES = ("image", "environment.registries")
"""The fields that decide about an image."""
_STANDARD = Openings(False, (), ())
_CONTROLS = {control.name: control for control in CONTROLS}
_HOST_NETWORK = Control(
    "hostNetwork",
    lambda body: places(body, "spec.hostNetwork"),
    lambda spot, openings: openings.host_network or spot.value in (None, False),
    "",
)


class Danger(Struct, frozen=True):
    """Something that pods may do, by a control of the Pod Security Standards, and the fields that cause it."""

    kind: Kind
    control: Control
    fields: tuple[str, ...] = ()


DANGERS = (
    Danger(kind("TR-SECURITY-1"), _CONTROLS["privileged"]),
    Danger(kind("TR-SECURITY-2"), _CONTROLS["hostPathVolumes"]),
    Danger(kind("TR-SECURITY-3"), _HOST_NETWORK, ("network.host",)),
    Danger(kind("TR-SECURITY-4"), _CONTROLS["hostNamespaces"]),
    Danger(kind("TR-SECURITY-5"), _CONTROLS["capabilities_baseline"], ("network.rdma", "environment.rdma")),
    Danger(kind("TR-SECURITY-6"), _CONTROLS["runAsUser"], ("run_as",)),
)


class Subject(Struct, frozen=True):
    """An object with pods, and the job to which it belongs; None for an object of another program."""

    step: Step
    job: JobReview | None
    context: Context

    def finding(
        self,
        about: Kind,
        roles: Sequence[str],
        where: str,
        values: tuple[Any, Any],
        fields: Sequence[str],
        **words: str,
    ) -> Finding:
        """Return a finding about a place in the pods of some roles, caused by one of the fields. The object of a job
        has the revision in its name, so its identity is the job."""
        name = steps.name(self.step)
        owner = name if self.job is None else self.job.name
        pods = f"{', '.join(roles) or self.step.kind} of {owner}"
        field, place = ": ".join(filter(None, [", ".join(roles), where])), self._place(roles, fields)
        return about.finding(name, field, *values, place=place, identity=owner, where=where, pods=pods, **words)

    def _place(self, roles: Sequence[str], fields: Sequence[str]) -> Place | None:
        """Return the place of the first change that can be the cause; without one, of the first field that is set."""
        if self.job is None:
            return None
        happens = job_change(self.context, self.job)
        paths = [f"roles.{role}.{field}" for role in roles for field in fields]
        paths += [*fields, *(f"roles.{role}.pod_overrides" for role in roles), "manifest_overrides"]
        changed = happens.causes.under(*paths)
        if changed:
            return changed[0].place
        experiment = {} if self.job.after is None else {**self.job.after.resolved}
        paths += [f"roles.{role}" for role in roles]
        found = next((path for path in paths if value_at(experiment, path)), None)
        return None if found is None else self.context.locate(found)


def find(context: Context) -> Iterator[Finding]:
    """Yield what is new in objects that are created, changed or replaced, and warnings of Pod Security Admission."""
    for message in context.preview.messages:
        if defaults.POD_SECURITY in message.text:
            yield ADMISSION.finding(context.stack, after=message.text)
    jobs = {step.urn: job for job in context.jobs for step in (*filter(None, [job.job]), *job.steps)}
    for step in context.preview.steps:
        if step.is_object and step.new is not None and steps.action(step) not in ("none", "delete"):
            job = jobs.get(step.urn)
            yield from _of_subject(Subject(_with_old(step, job), job, context))


def _with_old(step: Step, job: JobReview | None) -> Step:
    """Return the step with the object that it takes the place of: where names have the revision, the old object of a
    job is deleted in a step of its own."""
    if step.old is not None or job is None:
        return step
    gone = (each for each in job.steps if steps.action(each) == "delete" and each.type == step.type)
    stem = step.name.rpartition("-")[0]
    return structs.replace(step, old=next((each.old for each in gone if each.name.rpartition("-")[0] == stem), None))


def _of_subject(subject: Subject) -> Iterator[Finding]:
    old, new = (steps.templates(subject.step, state) for state in (subject.step.old, subject.step.new))
    yield from _of_dangers(old, new, subject)
    yield from _images(old, new, subject)
    if not steps.is_record(subject.step):  # the pods have the variables of the record too
        for where in subject.step.plain_secrets:
            yield subject.finding(LITERAL, (), where, (None, MASK), ())


def _of_dangers(old: Iterable[Template], new: Iterable[Template], subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each danger and place, with all roles that have it now and did not have it before."""
    environment = subject.context.environment
    openings = _STANDARD if environment is None else Openings.of(environment)
    before = {*_dangers(old)}
    found: dict[tuple[Danger, Spot], list[str]] = {}
    for danger, spot, role in dict.fromkeys(_dangers(new)):
        if (danger, spot, role) not in before:
            found.setdefault((danger, spot), []).append(role)
    for (danger, spot), roles in found.items():
        value, is_allowed = masked(spot.value), danger.control.allowed(spot, openings)
        about, allowed = (
            (danger.kind.weighing("low"), "; the environment allows it") if is_allowed else (danger.kind, "")
        )
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        yield subject.finding(about, roles, spot.where, (None, value), danger.fields, shown=shown, allowed=allowed)


def _dangers(templates: Iterable[Template]) -> Iterator[tuple[Danger, Spot, str]]:
    for template in templates:
        for danger in DANGERS:
            for where, value in danger.control.looks_at(template.body):
                spot = Spot(where, _plain(value))
                if spot.value not in HIDDEN and not danger.control.allowed(spot, _STANDARD):
                    yield danger, spot, template.role


def _plain(value: Any) -> Any:
    """Return the value, or its text where it has another form than it should."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _images(old: Iterable[Template], new: Iterable[Template], subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each image that is new and has no digest, or comes from another registry than before."""
    was, now = _by_place(old), _by_place(new)
    found: dict[tuple[Kind, str, str], list[tuple[str, str]]] = {}
    for at, image in now.items():
        known = None if was.get(at) in HIDDEN else was.get(at)
        if image in (was.get(at), *HIDDEN):
            continue
        if DIGEST not in image and (known is None or DIGEST in known):
            found.setdefault((MUTABLE, image, ""), []).append(at)
        if known is not None and _registry(known) != _registry(image):
            found.setdefault((REGISTRY, _registry(image), _registry(known)), []).append(at)
    for (about, registry, former), spots in found.items():
        roles, first = [*dict.fromkeys(role for role, _ in spots)], spots[0]
        images = masked(was.get(first)), masked(now[first])
        yield subject.finding(about, roles, first[1], images, IMAGES, registry=registry, former=former)


def _registry(image: str) -> str:
    return split_registry(qualified(image))[0]


def _by_place(templates: Iterable[Template]) -> dict[tuple[str, str], str]:
    """Return the image of each container by its role and its place."""
    return {
        (template.role, f"{where}.image"): container["image"]
        for template in templates
        for where, container in template.named_containers
        if isinstance(container.get("image"), str)
    }
