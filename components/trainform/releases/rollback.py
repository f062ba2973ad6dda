"""Which earlier thing a rollback of a stack restores, and the release that says so. Pure functions of releases and of
what Pulumi's history has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.deployed.earlier import EarlierDeployment
from trainform.manifests.shapes import mapping
from trainform.plan.record import Record
from trainform.releases.model import Origin, Promoted, Release, Rollback
from trainform.releases.promote import as_released, origin, recorded
from trainform.spec.release import digest


class Restored(Struct, frozen=True):
    """What a rollback restores. release: its name; None if it was deployed without one."""

    release: str | None
    experiment: dict[str, Any]
    origin: Origin


class Checkpoint(Struct, frozen=True):
    """A claim to which the deployed experiment writes, and from which the restored one resumes."""

    claim: str
    written_by: str
    """The revision that is deployed; if that is unknown, the release that the stack follows."""
    mount: str
    """Where the restored experiment mounts it."""
    keep: bool
    """`pulumi destroy` leaves the claim."""


def checkpoints(restored: Mapping[str, Any], deployed: Mapping[str, Any], written_by: str) -> list[Checkpoint]:
    """Return the claims that the deployed experiment can write to and that the restored one mounts too."""
    written = {_claim(deployed, key): volume for key, volume in _volumes(deployed) if not volume.get("read_only")}
    found = list[Checkpoint]()
    for key, volume in _volumes(restored):
        claim = _claim(restored, key)
        theirs = written.get(claim)
        if theirs is None or len({theirs.get("sub_path"), volume.get("sub_path")} - {None}) > 1:
            continue
        keep = volume.get("claim") is not None or volume.get("keep") is True
        found.append(Checkpoint(claim, written_by, str(volume["mount"]), keep))
    return found


def _volumes(experiment: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return mapping(experiment.get("storage")).items()


def _claim(experiment: Mapping[str, Any], key: str) -> str:
    claim = experiment["storage"][key].get("claim")
    return f"{experiment['name']}-{key}" if claim is None else str(claim)


def restored_by(name: str, releases: Mapping[str, Release]) -> str:
    """The release whose content counts: of a rollback the one that it restores."""
    back = releases[name].rollback
    return name if back is None or back.to is None or back.to not in releases else back.to


def chain(current: str | None, releases: Mapping[str, Release]) -> Iterator[str]:
    """The releases that a stack has followed, from the current one back, each by the release that it replaces."""
    while current is not None and current in releases:
        yield current
        current = releases[current].promoted.replaces


def earlier_releases(current: str, releases: Mapping[str, Release]) -> list[str]:
    """The releases to which a rollback can go, the newest first: what the stack has followed before the thing that it
    follows now, each once. A rollback of a rollback goes further back, and not to what was rolled back."""
    now = restored_by(current, releases)
    if releases[now].rollback is not None:  # it restores what was deployed before there were releases
        return []
    found = dict.fromkeys(restored_by(name, releases) for name in chain(now, releases))
    return [name for name in found if releases[name].content != releases[now].content]


def first_deployed(names: Iterable[str], releases: Mapping[str, Release], deployed: Collection[str]) -> str | None:
    """The first of these releases that was deployed: by itself, or by a rollback to it."""
    restored = {restored_by(name, releases) for name in deployed if name in releases}
    return next((name for name in names if name in restored), None)


def earlier_deployments_of(
    found: Iterable[EarlierDeployment], current: Release | None, passed: Collection[str], *, failed: bool
) -> Iterator[EarlierDeployment]:
    """The deployments to which a rollback can go, the newest first: those that differ from what the stack runs now.
    current: the release that it follows; None: it follows the experiment's file. passed: releases that are none of
    these. failed: the last `pulumi up` has failed, so that the newest deployment is an earlier one too."""
    now = None if current is None else current.content
    back = None if current is None else current.rollback
    oldest = current.origin.updated if current is not None and back is not None and back.to is None else None
    for each in found:
        content = digest(_base(each.record))
        if now is None and not failed:
            now = content
        is_later = oldest is not None and each.update.ended >= oldest
        if content != now and each.update.release not in passed and not is_later:
            yield each


def _base(record: Record) -> dict[str, Any]:
    return record.experiment if record.base is None else record.base


def of_release(name: str, releases: Mapping[str, Release]) -> Restored:
    """The release as what is restored."""
    return Restored(name, releases[name].experiment, releases[name].origin)


def of_deployment(found: EarlierDeployment, stack: str, environment: str) -> Restored:
    """What the stack had deployed. stack: PROJECT/STACK. TrainformError if another version of trainform has recorded
    it, and this one cannot read it."""
    experiment = as_released(recorded(found.record, stack))
    return Restored(None, experiment, origin(stack, environment, found.record, found.update))


def rollback(restored: Restored, current: str | None, stack: str, reason: str, by: str, at: str) -> Release:
    """The release of a rollback: the whole earlier experiment, with its evidence. current: the release that the stack
    follows; None: the experiment's file. at: in UTC, to the second."""
    promoted = Promoted(by=by, at=at, source=stack, target=stack, replaces=current, gates={}, waived=[])
    back = Rollback(of=current, to=restored.release, reason=reason)
    return Release(experiment=restored.experiment, origin=restored.origin, promoted=promoted, rollback=back)
