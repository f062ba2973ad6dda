"""Effects as data: one for each job and each object that matters, with a sentence template."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform.backends.backend import value_at
from trainform.cluster.phases import Phase
from trainform.console.sections import counted, listed
from trainform.errors import list_names
from trainform.review import steps
from trainform.review.causes import VERSION, because
from trainform.review.changes import field_differences
from trainform.review.context import Context
from trainform.review.job_change import JobChange, accelerators, job_change
from trainform.review.model import Change, Effect, EffectKind, Thing
from trainform.review.mounts import kept_claims
from trainform.review.preview import Step
from trainform.review.settings import all_settings, platform_causes

SENTENCES: Mapping[str, tuple[EffectKind, str]] = {
    # jobs
    "job create": ("create", "Creates {the}{note}."),
    "job update": ("update", "Changes {the} in place{why}."),
    "job scale": ("scale", "Scales {note} in place{why}."),
    "job suspend": ("stop", "Suspends {the}: its pods end."),
    "job resume": ("update", "Resumes {the}: its pods start again."),
    "job replace": ("replace", "Replaces {the}{why}."),
    "job stop and create": ("replace", "Stops {the}{why}."),  # of a new one that does not start now
    "job delete": ("delete", "Deletes {the}."),
    "job stop": ("stop", "Deletes {the}."),
    "job absent": ("none", "{The} is not in the cluster, and `pulumi up` without --refresh does not create it again."),
    "job unknown": ("unknown", "Unknown change of {the}: the engine calls it `{operation}`."),
    "claim stays": ("keep", "Keeps {the}, mounted at {path} as before."),
    "recorded": ("update", "Changes what is recorded as deployed of {object}, and nothing that runs{why}."),
    "version": ("update", "Records another version of trainform for {object}: {versions}."),
    # objects
    "create": ("create", "Creates {the}{note}."),
    "update": ("update", "Changes {the}{note}{why}."),
    "replace": ("replace", "Replaces {the}{note}{why}{kept}."),
    "delete": ("delete", "Deletes {the}{note}."),
    "unknown": ("unknown", "Unknown change of {the}: the engine calls it `{operation}`."),
    "several": ("update", "{verb} {count}."),
    "refused": ("update", "Would replace {the}{why}, but keeps it: its replacement has the same name{refused}."),
    "leave": ("leave", "Takes {the} out of the stack; it stays in the cluster with its data, since it is kept."),
    "give up": ("update", "Stops setting fields of {the}, which stays in the cluster."),
    "no longer kept": ("update", "No longer keeps {the}: the next `pulumi destroy` deletes it."),
    # the stack
    "settings": ("update", "Changes settings of {the}: {paths}."),
    "none": ("none", "Nothing changes."),
    "incomplete": ("unknown", "{What} unknown: the preview {ended}."),
}
"""The kind of the effect and its sentence, by case."""

WORDS: Mapping[str, Thing] = {
    steps.NAMESPACE: "namespace",
    steps.QUEUE: "queue",
    steps.CLAIM: "claim",
    steps.SECRET: "Secret",
    steps.PRIORITY_CLASS: "priority class",
}
"""Kinds of which each object has its own sentence, the one that contains the others first."""
VERBS = {"create": "Creates", "update": "Changes", "replace": "Replaces", "delete": "Deletes"}
MOST_SETTINGS = 5
"""Settings of an environment that a sentence names."""
SIZE = "spec.resources.requests.storage"
KEEP = ".keep"  # the end of the path of the option that keeps a claim
INCOMPLETE, FAILED = "is not complete", "failed"

_Causes = Callable[[Step], list[Change]]


def effects(context: Context) -> list[Effect]:
    """Return all that happens: each job with its objects, then what belongs to no job. One effect `none` if nothing
    happens. If the preview failed or is not complete, the last effect says that there may be more."""
    found = [effect for job in context.jobs for effect in _of_job(job_change(context, job))]
    found += _of_objects(steps.others(context), lambda step: platform_causes(step, context))
    found += _of_settings(context)
    happens = any(effect.kind not in ("keep", "none") for effect in found)
    if context.preview.failed or context.preview.incomplete:
        what = "Other changes are" if happens else "What would change is"
        ended = FAILED if context.preview.failed else INCOMPLETE
        rest = _effect("incomplete", "stack", context.stack, What=what, ended=ended)
        return [*found, rest] if happens else [rest]
    return found if happens else [_effect("none", "stack", context.stack), *found]


def _effect(
    case: str,
    thing: Thing,
    name: str,
    causes: Iterable[Change] = (),
    data: Mapping[str, Any] | None = None,
    **parts: Any,
) -> Effect:
    """Return the effect of this case. data: its other fields. parts: of its sentence."""
    kind, sentence = SENTENCES[case]
    fields = {"kind": kind, "thing": thing, "object": name, "causes": [*causes], **(data or {})}
    why = f" {because(fields['causes'])}" if fields["causes"] else ""
    values = {"the": f"the {thing} {name}", "The": f"The {thing} {name}", "note": "", "object": name, "why": why}
    return Effect(**fields, sentence=sentence.format(**{**values, **parts}))


def _of_settings(context: Context) -> Iterator[Effect]:
    for settings in all_settings(context):
        causes = [
            Change(place=context.locate(f"environment.{each.path}"), before=each.before, after=each.after)
            for each in settings.changed
        ]
        paths = list_names([f"`{setting.path}`" for setting in settings.changed], MOST_SETTINGS)
        if paths:
            yield _effect("settings", "environment", settings.after.name, causes, paths=paths)


# --- jobs


def _of_job(happens: JobChange) -> Iterator[Effect]:
    job = happens.job
    rest = tuple(step for step in job.steps if step != job.job and not steps.is_record(step))
    if happens.kind != "none":  # launch scripts and Services of a new revision follow from it
        yield job_effect(happens)
        rest = tuple(step for step in rest if _is_own(step) or steps.action(step) == "unknown")
    elif happens.job.job is not None and happens.state == "absent":
        yield _effect("job absent", "job", happens.name, data={"state": happens.state})
    if happens.kind == "replace":
        for claim, paths in kept_claims(job).items():
            yield _effect("claim stays", "claim", claim, path=listed(paths))
    of_objects = [*_of_objects(rest, lambda step: object_causes(step, happens))]
    yield from of_objects
    if any(steps.is_record(step) and steps.action(step) == "update" for step in job.steps):
        if happens.kind == "none" and not of_objects and happens.causes.visible:
            yield _effect("recorded", "record", job.name, happens.causes.visible)
        if happens.versions:
            causes = happens.causes.under(VERSION)
            yield _effect("version", "record", job.name, causes, versions=happens.versions)


def job_effect(happens: JobChange, case: str = "") -> Effect:
    """Return what happens to the job object. case: another sentence than that of what happens."""
    if not case:
        case = "job stop" if happens.kind == "delete" and happens.state == "running" else f"job {happens.kind}"
    new = happens.kind == "create"
    size = _size(happens, after=new)
    before: Any = None if new else happens.name
    after: Any = None if happens.kind == "delete" else happens.next_name
    note, why, causes = _already_deployed(happens), happens.reason, [*happens.reasons]
    if happens.scaled:
        before = {each.role: each.before for each in happens.scaled}
        after = {each.role: each.after for each in happens.scaled}
        note = listed([each.text for each in happens.scaled])
        scaled = {f"roles.{each.role}.replicas" for each in happens.scaled}
        more = because([change for change in causes if change.place.path not in scaled])
        why = f"and changes the job {more}" if more else ""
    up = happens.shown_age if happens.state == "running" else ""
    state = "" if new else happens.state
    data = {"before": before, "after": after, "state": state, "age": up, "size": size, "causes": causes}
    the = f"the job {happens.next_name}{_in_brackets(size)}" if new else _the_job(happens, size)
    operation = "" if happens.job.job is None else happens.job.job.operation
    late = "; it starts suspended" if happens.kind in ("create", "replace") and happens.suspended else ""
    note, why = f"{note}{late}", f" {why}{late}" if why else late
    name = happens.next_name if new else happens.name
    return _effect(case, "job", name, data=data, the=the, why=why, note=note, operation=operation)


def _already_deployed(happens: JobChange) -> str:
    """Return what is known of a job that is created although it is deployed."""
    step, deployed = happens.job.job, "" if happens.job.before is None else happens.job.before.job
    if happens.again and step is not None and step.old is not None:
        return " again, since it is not in the cluster"
    which = "it" if deployed == happens.next_name else deployed
    return f"; {which} is recorded as deployed and is not in Pulumi's state" if deployed else ""


def _the_job(happens: JobChange, size: str) -> str:
    """Return the existing job with what the cluster reports: `the running job sdxl-lora-1f3a9c (32 a800, up 16 h)`."""
    word = f"{happens.state} " if happens.state in ("running", "finished") else ""
    phase = "" if happens.live is None or happens.live.phase == Phase.RUNNING else happens.live.phase
    up = f"up {happens.shown_age}" if happens.state == "running" and happens.shown_age else ""
    absent = "not in the cluster" if happens.state == "absent" else ""
    known = ", ".join(filter(None, [size, phase, up, absent]))
    unknown = f"whether it runs is unknown: {happens.not_read}" if happens.not_read else ""
    return f"the {word}job {happens.name}{_in_brackets('; '.join(filter(None, [known, unknown])))}"


def _size(happens: JobChange, *, after: bool) -> str:
    """Return the accelerators of the job, or its pods where it has none; empty if unknown."""
    record = happens.job.after if after else happens.job.before
    if record is None or record.model is None:
        return ""
    held = [f"{count} {kind}" for kind, count in accelerators(happens, after=after).items()]
    return ", ".join(held) if held else counted(sum(role.replicas for role in record.model.roles.values()), "pod")


# --- objects


def _of_objects(given: Iterable[Step], causes: _Causes) -> Iterator[Effect]:
    """Yield the effects on other objects than jobs: one for each that matters, and one for several others of a kind."""
    groups: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in sorted(filter(steps.is_resource, given), key=_order):
        groups[step.type, steps.action(step)].append(step)
    for (_, happens), found in groups.items():
        kind = steps.kind(found[0])
        if _is_own(found[0]) or len(found) == 1 or happens not in VERBS:
            yield from (effect for step in found for effect in _of_object(step, causes(step)))
        else:
            data = {"kind": happens, "after": len(found)}
            yield _effect("several", "object", kind, data=data, verb=VERBS[happens], count=counted(len(found), kind))


def _order(step: Step) -> tuple[int, str, str]:
    kind = steps.kind(step)
    return [*WORDS].index(kind) if _is_own(step) else len(WORDS), kind, steps.name(step)


def _is_own(step: Step) -> bool:
    """Return True for an object that always has its own sentence."""
    return step.is_object and steps.kind(step) in WORDS


def _of_object(step: Step, causes: list[Change]) -> Iterator[Effect]:
    others = [change for change in causes if not change.place.path.endswith(KEEP)]
    if steps.no_longer_kept(step):
        yield _about(step, "no longer kept", [change for change in causes if change not in others], why="")
    happens = steps.action(step)
    if happens != "none":
        yield _changed(step, happens, others if happens in ("update", "replace") else [])


def _changed(step: Step, happens: steps.Action, causes: list[Change]) -> Effect:
    kept = step.old is not None and step.old.keep
    if happens == "replace" and kept and steps.is_one_object(step):
        return _about(step, "refused", causes, refused=refused(step))
    if happens == "delete" and (kept or steps.gives_up(step)):
        return _about(step, "leave" if kept else "give up")
    is_claim, goes = steps.kind(step) == steps.CLAIM, happens in ("delete", "replace") and not kept
    sizes = [value_at(steps.body(step, state), SIZE) for state in (step.old, step.new)]
    resized = happens == "update" and is_claim and sizes[0] != sizes[1]
    renamed = happens == "replace" and steps.name(step) != steps.name_before(step)
    notes = [
        f" from {sizes[0]} to {sizes[1]}" if resized else "",
        " and everything in it" if goes and steps.kind(step) == steps.NAMESPACE else "",
        f" by {steps.name(step)}" if renamed else "",
        " (or adopts an existing one with its data)" if happens == "create" and is_claim and step.state.keep else "",
        ": a secret value changed" if happens == "update" and _has_new_values(step) else "",
    ]
    data = {"kept": kept, **({"before": sizes[0], "after": sizes[1]} if resized else {})}
    stays = "; the old one is kept" if kept else ""
    return _about(step, happens, causes, data, note="".join(notes), kept=stays, operation=step.operation)


def _about(
    step: Step, case: str, causes: Iterable[Change] = (), data: Mapping[str, Any] | None = None, **parts: str
) -> Effect:
    kind, name = steps.kind(step), steps.name_before(step)
    thing = WORDS.get(kind, "object") if step.is_object else "object"
    the = f"the {kind if thing == 'object' else thing} {name}"
    return _effect(case, thing, name, causes, data, the=the, **parts)


def _has_new_values(step: Step) -> bool:
    if steps.kind(step) != steps.SECRET:
        return False
    return any(found.keys[0] in steps.SECRET_VALUES for found in field_differences(step))


def refused(step: Step) -> str:
    """Return what follows from an `up` that would give a kept object another spec."""
    was, will = (steps.body(step, state).get("spec") for state in (step.old, step.new))
    return "" if was == will else "; its spec differs, so `pulumi up` will be refused here"


def object_causes(step: Step, of_job: JobChange) -> list[Change]:
    """Return the changes of the experiment or the environment that change an object of a job."""
    kind = steps.kind(step)
    if kind == steps.CLAIM:
        volumes = [f"storage.{key}" for key in of_job.volumes_of(steps.name(step))]
        return of_job.causes.under(*volumes, "environment.storage_classes")
    paths = {steps.QUEUE: ("queue", "environment.accelerators"), steps.SECRET: ("ssh",)}
    return of_job.causes.under(*paths.get(kind, ()))


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
