"""Findings about what a training program relies on: the size of its world, its ranks, its launcher and its mounts."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.plan.world import in_world, plan_world
from trainform.review.context import Context
from trainform.review.job_change import JobChange, job_change
from trainform.review.kinds import kind
from trainform.review.model import Finding, Place
from trainform.review.mounts import mounts
from trainform.spec.experiment import Experiment

WORLD = kind("TR-CONTRACT-1")
RANKS = kind("TR-CONTRACT-2")
LAUNCHER = kind("TR-CONTRACT-3")
MOUNTS = kind("TR-CONTRACT-5")
GONE_MOUNT = kind("TR-CONTRACT-5", "gone")
NEW_MOUNT = kind("TR-CONTRACT-5", "new")
MISSING = kind("TR-CONTRACT-6")


def find(context: Context) -> Iterator[Finding]:
    """Yield what the new pods lack, then the findings of each job that exists before and after."""
    for missing in context.missing:
        yield MISSING.finding(context.stack, after=missing)
    for job in context.jobs:
        happens = job_change(context, job)
        old, new = (None if record is None else record.model for record in (job.before, job.after))
        if old is None or new is None or (happens.kind in ("none", "create", "delete") and not happens.again):
            continue
        yield from _world(happens, old, new, context)
        was, will = _ranked(old), _ranked(new)
        if was != will:
            names = {"was": ", ".join(was), "will": ", ".join(will)}
            yield RANKS.finding(new.name, "roles", was, will, place=context.locate("roles"), **names)
        kinds = old.launcher.kind, new.launcher.kind
        if kinds[0] != kinds[1]:
            yield LAUNCHER.finding(new.name, "launcher", *kinds, place=context.locate(f"launcher.{kinds[1]}"))
        yield from _mounts(happens, old, new, context)


def _world(happens: JobChange, old: Experiment, new: Experiment, context: Context) -> Iterator[Finding]:
    """In an elastic job whose bounds stay, ranks come and go as the program expects."""
    was, will = plan_world(old), plan_world(new)
    before, after = ({"nodes": world.nodes, "processes": world.processes} for world in (was, will))
    if before != after and (was.bounds is None or was.bounds != will.bounds):
        yield WORLD.finding(new.name, "world", before, after, place=_place(happens, context, "roles", "launcher"))


def _ranked(experiment: Experiment) -> list[str]:
    return [name for name in experiment.roles if in_world(experiment, name)]


def _place(happens: JobChange, context: Context, *paths: str) -> Place:
    """Return where the first change at one of the paths stands, in their order; without one, the first path."""
    found = (change.place for path in paths for change in happens.causes.under(path))
    return next(found, context.locate(paths[0]))


def _mounts(happens: JobChange, old: Experiment, new: Experiment, context: Context) -> Iterator[Finding]:
    """Yield what the pods of the ranked roles see differently."""
    pods = mounts(happens.job, old=True), mounts(happens.job, old=False)
    volumes = (volume for side in (old, new) for volume in reversed(side.storage.items()))
    by_mount = {volume.mount: f"storage.{key}" for key, volume in volumes}
    for role in (role for role in _ranked(new) if role in old.roles and all(role in side for side in pods)):
        was, will = (
            {path: " and ".join(sorted(map(str, found))) for path, found in side[role].items()} for side in pods
        )
        for path in sorted(was.keys() | will.keys()):
            before, after = was.get(path), will.get(path)
            if before != after:
                place = _place(happens, context, f"roles.{role}.pod_overrides", by_mount.get(path, "storage"))
                about = GONE_MOUNT if after is None else NEW_MOUNT if before is None else MOUNTS
                field = f"roles.{role}: {path}"
                yield about.finding(new.name, field, before, after, place=place, role=role, path=path)
