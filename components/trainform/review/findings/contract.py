"""Findings about what a training program relies on: the size of its world, its ranks, its launcher and its mounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trainform.plan.world import in_world, plan_world
from trainform.review.context import Context
from trainform.review.fate import Fate, fate
from trainform.review.kinds import kind
from trainform.review.model import Finding, Place
from trainform.review.mounts import Mount, mounts
from trainform.spec.experiment import Experiment

WORLD = kind("TR-CONTRACT-1")
RANKS = kind("TR-CONTRACT-2")
LAUNCHER = kind("TR-CONTRACT-3")
MOUNTS = kind("TR-CONTRACT-5")
MISSING = kind("TR-CONTRACT-6")


def find(context: Context) -> Iterator[Finding]:
    """Yield what the new pods lack, then the findings of each job that exists before and after."""
    for missing in context.missing:
        title = f"The new pods need {missing}, which does not exist."
        yield MISSING.finding(context.stack, after=missing, title=title)
    for job in context.jobs:
        happens = fate(context, job)
        if happens.kind not in ("none", "create", "delete") or happens.again:
            yield from _of_job(happens, context)


def _of_job(happens: Fate, context: Context) -> Iterator[Finding]:
    old, new = (None if side is None else side.model for side in (happens.before, happens.after))
    if old is not None and new is not None:
        yield from _world(old, new, context)
        if _ranked(old) != _ranked(new):
            title = f"The ranked roles of {new.name} are {_names(new)} in order of rank, and were {_names(old)}."
            yield RANKS.finding(
                new.name, "roles", [*_ranked(old)], [*_ranked(new)], title=title, place=context.locate("roles")
            )
        if old.launcher.kind != new.launcher.kind:
            title = f"The program of {new.name} is started by {new.launcher.kind} and no longer by {old.launcher.kind}."
            place = context.locate(f"launcher.{new.launcher.kind}")
            yield LAUNCHER.finding(new.name, "launcher", old.launcher.kind, new.launcher.kind, title=title, place=place)
        yield from _mounts(happens, old, new, context)


def _world(old: Experiment, new: Experiment, context: Context) -> Iterator[Finding]:
    """In an elastic job whose bounds stay, ranks come and go as the program expects."""
    was, will = plan_world(old), plan_world(new)
    if was.bounds is not None and was.bounds == will.bounds:
        return
    before, after = ({"nodes": world.nodes, "processes": world.processes} for world in (was, will))
    if before != after:
        title = (
            f"The training world of {new.name} has {will.nodes} nodes and {will.processes} processes, "
            f"and had {was.nodes} nodes and {was.processes} processes."
        )
        yield WORLD.finding(
            new.name, "world", before, after, title=title, place=context.locate(_changed_role(old, new))
        )


def _changed_role(old: Experiment, new: Experiment) -> str:
    """The path of the first role that makes the world another size; if none does, that of all, or of the launcher whose
    processes are others."""
    for name, role in new.roles.items():
        was = old.roles.get(name)
        if was is None or (was.ranked, was.accelerators) != (role.ranked, role.accelerators):
            return f"roles.{name}"
        if was.replicas != role.replicas:
            return f"roles.{name}.replicas"
    return "roles" if old.roles.keys() != new.roles.keys() else "launcher"


def _ranked(experiment: Experiment) -> tuple[str, ...]:
    return tuple(name for name in experiment.roles if in_world(experiment, name))


def _names(experiment: Experiment) -> str:
    return ", ".join(_ranked(experiment))


def _mounts(happens: Fate, old: Experiment, new: Experiment, context: Context) -> Iterator[Finding]:
    """What the pods of the ranked roles see."""
    pods = mounts(happens.job, old=True), mounts(happens.job, old=False)
    by_mount = {volume.mount: key for key, volume in reversed(new.storage.items())}
    for name in _ranked(new):
        if name not in old.roles or not all(name in side for side in pods):
            continue
        was, will = (side[name] for side in pods)
        for path in sorted(was.keys() | will.keys()):
            before, after = (_and(side.get(path)) for side in (was, will))
            if before != after:
                place = context.locate(_where(happens, by_mount, name, path))
                yield _mount(new, name, path, before, after, place)


def _and(found: Iterable[Mount] | None) -> str | None:
    return None if found is None else " and ".join(sorted(map(str, found)))


def _where(happens: Fate, by_mount: Mapping[str, str], role: str, path: str) -> str:
    """The field of the experiment that says what is at the path: an override if one has changed."""
    overrides = happens.causes.under(f"roles.{role}.pod_overrides")
    if overrides:
        return overrides[0].place.path
    key = by_mount.get(path)
    return "storage" if key is None else f"storage.{key}"


def _mount(new: Experiment, role: str, path: str, before: str | None, after: str | None, place: Place) -> Finding:
    if after is None:
        said = f"no longer has {before} at {path}"
    elif before is None:
        said = f"has {after} at {path}, where nothing was mounted"
    else:
        said = f"has {after} at {path}, and had {before}"
    found = MOUNTS.weighing("low") if before is None else MOUNTS
    title = f"The ranked role {role} of {new.name} {said}."
    return found.finding(new.name, f"roles.{role}: {path}", before, after, title=title, place=place)
