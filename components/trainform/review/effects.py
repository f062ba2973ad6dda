"""What happens, a sentence for each effect, with its causes. What nobody can know is said, and never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from trainform.backends.workloads import value_at
from trainform.review import steps
from trainform.review.causes import MOST_NAMED, VERSION, because
from trainform.review.changes import field_differences
from trainform.review.context import Context
from trainform.review.fate import Fate, JobFate, accelerators, fate
from trainform.review.kept import kept_volumes
from trainform.review.model import Change, Effect
from trainform.review.platform import platform_causes
from trainform.review.preview import Step
from trainform.review.settings import settings_effects

NOTHING = "Nothing changes."
NOT_WHOLE = "It is not known what changes: the preview is not whole."
MORE = "It is not known what else changes: the preview is not whole."
OF_THEIR_OWN = (steps.NAMESPACE, steps.QUEUE, steps.CLAIM, steps.SECRET, steps.PRIORITY_CLASS)
"""Kinds of which each object has a sentence, the one that holds the others first."""
WORDS = {
    steps.CLAIM: "claim",
    steps.QUEUE: "queue",
    steps.SECRET: "Secret",
    steps.NAMESPACE: "namespace",
    steps.PRIORITY_CLASS: "priority class",
}
SAME, REFRESH = "same", "refresh"
VERBS = {"create": "creates", "update": "changes", "replace": "replaces", "delete": "deletes"}
AFTER_KEEP = {
    False: "the next `pulumi destroy` deletes it",
    True: "it is protected, so `pulumi destroy` refuses to delete it, and deletes it when that ends",
}
"""What becomes of a claim that is no longer kept, by whether it is protected."""
SIZE = "spec.resources.requests.storage"
KEEP = ".keep"  # the end of the path of the option that keeps a claim


def effects(context: Context) -> list[Effect]:
    """Everything that happens: each job with its claims and other objects, then what belongs to no job. One effect
    `none` if nothing does. Of a preview that is not whole the last one is that more may happen."""
    found = [effect for job in context.jobs for effect in _of_job(fate(context, job))]
    found += _of_objects(steps.others(context), lambda step: platform_causes(step, context), "")
    found += settings_effects(context)
    found += _of_refresh(context)
    found += _though_inputs_differ(context)
    happens = any(effect.kind != "keep" for effect in found)
    if context.preview.incomplete:
        unknown = Effect(kind="unknown", object=context.stack, sentence=MORE if happens else NOT_WHOLE)
        return [*found, unknown] if happens else [unknown]
    return found if happens else [Effect(kind="none", object=context.stack, sentence=NOTHING), *found]


def _of_job(happens: Fate) -> Iterator[Effect]:
    job = happens.job
    rest = tuple(step for step in job.steps if step != job.job and not steps.is_record(step))
    found = [
        *_job_effect(happens),
        *_kept(happens),
        *_of_objects(rest, lambda step: object_causes(step, happens), job.name),
    ]
    yield from found
    if any(steps.is_record(step) and steps.fate(step) == "update" for step in job.steps):
        yield from _recorded(happens, alone=not found)


def _recorded(happens: Fate, *, alone: bool) -> Iterator[Effect]:
    """What is recorded as deployed, where nothing else changes, and where another version of trainform records it."""
    name, visible = happens.job.name, happens.causes.visible
    if alone and happens.causes.changes:
        why = "".join([f", {because(visible)}" if visible else "", f": {happens.versions}" if happens.versions else ""])
        sentence = f"Leaves what runs of {name} as it is; only what is recorded as deployed changes{why}."
        yield Effect(kind="update", object=name, sentence=sentence, causes=[*happens.causes.changes])
    elif happens.versions:
        sentence = f"Records another version of trainform for {name}: {happens.versions}."
        yield Effect(kind="update", object=name, sentence=sentence, causes=happens.causes.under(VERSION))


def _job_effect(happens: Fate) -> Iterator[Effect]:
    if happens.kind == "none":
        return
    name = happens.next_name if happens.kind == "create" else happens.name
    stops = happens.kind == "delete" and happens.is_running
    yield Effect(
        kind="stop" if stops else happens.kind, object=name, sentence=f"{clause(happens)}.", causes=[*happens.reasons]
    )


def clause(happens: Fate) -> str:
    """What happens to the job object, as a sentence without its end."""
    return _CLAUSES[happens.kind](happens)


def _created(happens: Fate) -> str:
    facts = _in_brackets(_size(happens, after=True))
    step = happens.job.job
    if happens.again and step is not None and step.old is not None:
        why = "it is not in the cluster (the former `pulumi up` ended half way, or it was deleted)"
        return f"Creates the job {happens.next_name}{facts} again: {why}"
    if happens.again:
        return (
            f"Creates the job {happens.next_name}{facts} again, which is recorded as deployed and is no longer in "
            "Pulumi's state"
        )
    old = happens.before
    if old is not None and old.job:
        return (
            f"Creates the job {happens.next_name}{facts}; the job {old.job}, which is recorded as deployed, is not "
            "in Pulumi's state"
        )
    return f"Creates the job {happens.next_name}{facts}"


def _replaced(happens: Fate) -> str:
    why = happens.reason
    return f"Replaces {_the_job(happens)} {why}"


def _scaled(happens: Fate) -> str:
    roles = [
        f"the {'elastic ' if scaled.elastic else ''}role {scaled.role} from {scaled.before} to "
        f"{_replicas(scaled.after)}"
        for scaled in happens.scaled
    ]
    said = f"Scales {_and(roles)} in place"
    paths = {f"roles.{scaled.role}.replicas" for scaled in happens.scaled}
    more = [change for change in happens.reasons if change.place.path not in paths]
    return f"{said}; the job changes in place {because(more)} too" if more else said


def _changed(happens: Fate) -> str:
    return " ".join(filter(None, [f"Changes {_the_job(happens)} in place", happens.because]))


def _deleted(happens: Fate) -> str:
    return f"Deletes {_the_job(happens)}"


def _unknown(happens: Fate) -> str:
    step = happens.job.job
    operation = "nothing" if step is None else step.operation
    return (
        f"Does something to the job {happens.name} that this version of trainform does not know: the engine calls it "
        f"`{operation}`"
    )


_CLAUSES: Mapping[JobFate, Callable[[Fate], str]] = {
    "none": lambda happens: f"Leaves the job {happens.name} as it is",
    "create": _created,
    "replace": _replaced,
    "scale": _scaled,
    "update": _changed,
    "delete": _deleted,
    "unknown": _unknown,
}


def _the_job(happens: Fate) -> str:
    """The job object with what the cluster says of it: `the running job sdxl-lora-1f3a9c (up 16 h, 32 a800)`."""
    size = _size(happens, after=False)
    live = happens.live
    if happens.is_running:
        up = f"up {happens.shown_age}" if happens.shown_age else ""
        phase = happens.live.phase if happens.live is not None and happens.live.phase != "Running" else ""
        return f"the running job {happens.name}{_in_brackets(', '.join(filter(None, [phase, up, size])))}"
    if happens.not_read:
        unknown = f"whether it runs is not known: {happens.not_read}"
        return f"the job {happens.name}{_in_brackets('; '.join(filter(None, [size, unknown])))}"
    if live is None:
        return f"the job {happens.name}{_in_brackets(', '.join(filter(None, ['not in the cluster', size])))}"
    finished = "finished " if happens.is_finished else ""
    return f"the {finished}job {happens.name}{_in_brackets(', '.join(filter(None, [live.phase, size])))}"


def _size(happens: Fate, *, after: bool) -> str:
    """The accelerators of the job, or its pods where it has none; empty if nobody knows."""
    side = happens.after if after else happens.before
    if side is None or side.model is None:
        return ""
    held = [f"{count} {kind}" for kind, count in accelerators(happens, after=after).items()]
    pods = sum(role.replicas for role in side.model.roles.values())
    return ", ".join(held) if held else _counted(pods, "pod")


def _kept(happens: Fate) -> Iterator[Effect]:
    """What stays where it is although the job is replaced or stopped."""
    if happens.kind != "replace":
        return
    for key, claim, volume in kept_volumes(happens):
        sentence = f"The volume {key} stays in the claim {claim}: claim and mount path ({volume.mount}) are unchanged."
        yield Effect(kind="keep", object=claim, sentence=sentence)


def _of_objects(given: Iterable[Step], causes: Callable[[Step], list[Change]], owner: str) -> Iterator[Effect]:
    """The effects on objects beside the job object: a sentence for each that matters, and one for all others together.
    owner: the job whose objects they are; empty if they are of none."""
    found = sorted(
        (step for step in given if steps.is_resource(step)), key=lambda step: (steps.kind(step), steps.name(step))
    )
    for kind in OF_THEIR_OWN:
        for step in found:
            if step.is_object and steps.kind(step) == kind:
                yield from _of_object(step, causes(step))
    rest = [step for step in found if not step.is_object or steps.kind(step) not in OF_THEIR_OWN]
    yield from _together([step for step in rest if steps.fate(step) not in ("none", "unknown")], owner)
    yield from (_not_known(step) for step in rest if steps.fate(step) == "unknown")


def _of_object(step: Step, causes: list[Change]) -> Iterator[Effect]:
    happens, name = steps.fate(step), steps.name_before(step)
    named = f"the {WORDS[steps.kind(step)]} {name}"
    of_keep = [change for change in causes if change.place.path.endswith(KEEP)]
    if steps.no_longer_kept(step):
        protected = step.new is not None and step.new.protect
        sentence = f"No longer keeps {named}: {AFTER_KEEP[protected]}."
        yield Effect(kind="update", object=name, sentence=sentence, causes=of_keep)
    if steps.no_longer_protected(step):
        sentence = f"No longer protects {named}: a later `pulumi destroy` may delete it."
        yield Effect(kind="update", object=name, sentence=sentence)
    if happens == "unknown":
        yield _not_known(step)
    elif happens != "none":
        others = [change for change in causes if not change.place.path.endswith(KEEP)]
        reasons = others if happens in ("update", "replace") else []
        stays = happens == "replace" and _is_kept(step) and steps.is_one_object(step)
        said = f"Would replace {named}" if stays else _sentence(step, named, happens)
        sentence = " ".join(filter(None, [said, because(reasons)]))
        if stays:
            sentence = f"{sentence}, but it stays: it is kept, and its replacement has the same name{refused(step)}"
        kind = "update" if stays or steps.leaves(step) or steps.gives_up(step) else happens
        yield Effect(kind=kind, object=name, sentence=f"{sentence}.", causes=reasons)


def _sentence(step: Step, named: str, happens: steps.Fate) -> str:
    changed = [*field_differences(step)] if happens == "update" else []
    if happens == "update" and steps.kind(step) == steps.CLAIM:
        was, will = (None if state is None else value_at({**state.inputs}, SIZE) for state in (step.old, step.new))
        if was != will:
            return f"Changes {named} from {was} to {will}"
    if steps.kind(step) == steps.SECRET and any(found.keys[0] in steps.SECRET_VALUES for found in changed):
        return f"Changes {named}: a secret value changed"
    if steps.leaves(step):
        return f"Takes {named} out of the stack; it stays in the cluster with its data, since it is kept"
    if steps.gives_up(step):
        return f"Takes back what the stack sets of {named}, which stays in the cluster"
    if happens == "create" and steps.kind(step) == steps.CLAIM and step.state.keep:
        return f"Creates {named} (or takes over one of this name with its data, if it was kept before)"
    by = f" by {steps.name(step)}" if happens == "replace" and steps.name(step) != steps.name_before(step) else ""
    stays = (
        " (the engine does not delete the old one, which is kept)" if happens == "replace" and _is_kept(step) else ""
    )
    return f"{VERBS[happens].capitalize()} {named}{by}{stays}"


def _is_kept(step: Step) -> bool:
    return step.old is not None and step.old.keep


def refused(step: Step) -> str:
    """What becomes of an `up` that would give a kept object another spec."""
    was, will = (steps.body(step, state).get("spec") for state in (step.old, step.new))
    return "" if was == will else "; its spec differs, so `pulumi up` will be refused here"


def object_causes(step: Step, of_job: Fate) -> list[Change]:
    """Why an object beside the job object changes, as far as the experiment or the environment says how it is."""
    return of_job.causes.under(*_paths(step, of_job))


def _paths(step: Step, of_job: Fate) -> tuple[str, ...]:
    """Where the experiment and the environment say how the object is."""
    if steps.kind(step) == steps.QUEUE:
        return ("queue", "environment.accelerators")
    if steps.kind(step) == steps.SECRET:
        return ("ssh",)
    if steps.kind(step) != steps.CLAIM:
        return ()
    keys = of_job.volumes_of_claims.get(steps.name(step), ())
    return (*(f"storage.{key}" for key in dict.fromkeys(keys)), "environment.storage_classes")


def _of_refresh(context: Context) -> Iterator[Effect]:
    """What a refresh alone changes, and that in the stack's state only: no other step is about the object."""
    planned = {step.urn for step in context.preview.steps if step.operation != REFRESH}
    for step in context.preview.refreshed:
        if step.urn not in planned and steps.is_resource(step):
            named = f"the {WORDS.get(steps.kind(step), steps.kind(step))} {steps.name_before(step)}"
            sentence = (
                f"Takes {named} out of the stack's state: the refresh has not found it in the cluster."
                if step.new is None
                else f"Takes into the stack's state what the refresh has found of {named}."
            )
            yield Effect(kind="update", object=steps.name_before(step), sentence=sentence)


def _though_inputs_differ(context: Context) -> Iterator[Effect]:
    """Objects of which the engine says that nothing changes, although the program gives them something else than the
    state has."""
    for step in context.preview.steps:
        if step.operation != SAME or not steps.is_resource(step) or steps.is_record(step):
            continue
        paths = [f"`{found.path}`" for found in field_differences(step)]
        if paths:
            more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
            named = f"the {WORDS.get(steps.kind(step), steps.kind(step))} {steps.name(step)}"
            differs = f"although the program gives it another {', '.join(paths[:MOST_NAMED])}{more}"
            yield Effect(
                kind="keep",
                object=steps.name(step),
                sentence=f"Leaves {named} as it is: the engine calls it unchanged, {differs}.",
            )


def _not_known(step: Step) -> Effect:
    sentence = f"Unknown change of the {steps.kind(step)} {steps.name(step)}: the engine calls it `{step.operation}`."
    return Effect(kind="unknown", object=steps.name(step), sentence=sentence)


def _together(given: list[Step], of_job: str) -> Iterator[Effect]:
    """One sentence for all of them: "Beside it creates 1 ConfigMap and deletes 1 ConfigMap."."""
    if not given:
        return
    parts = []
    for verb, spelled in VERBS.items():
        kinds = Counter(steps.kind(step) for step in given if steps.fate(step) == verb)
        if kinds:
            parts.append(f"{spelled} {_and([_counted(count, kind) for kind, count in kinds.items()])}")
    fates = {steps.fate(step) for step in given}
    kind = next(iter(fates)) if len(fates) == 1 else "update"
    said = f"{'; '.join(parts)}."
    if of_job:
        yield Effect(kind=kind, object=of_job, sentence=f"Beside the job of {of_job}: {said}")
    else:
        yield Effect(kind=kind, object=steps.name(given[0]), sentence=f"{said[0].upper()}{said[1:]}")


def _replicas(count: int) -> str:
    return _counted(count, "replica")


def _counted(count: int, word: str) -> str:
    plural = "es" if word.endswith(("s", "x", "ch")) else "s"
    return f"{count} {word}" if count == 1 else f"{count} {word}{plural}"


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _and(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
