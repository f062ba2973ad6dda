"""The experiment that a rollback restores, and its release. Pure functions of releases and Pulumi's history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.deployed.earlier import EarlierDeployment
from trainform.deployed.releases.promote import experiment_for_release, origin, recorded
from trainform.deployed.releases.release import Origin, PromotionRecord, Release, Rollback
from trainform.manifests.manifest import mapping
from trainform.spec.release import digest


class RestoredExperiment(Struct, frozen=True):
    """The experiment that a rollback restores. release: its name; None if it was deployed without one."""

    release: str | None
    experiment: dict[str, Any]
    origin: Origin


class Checkpoint(Struct, frozen=True):
    """A claim to which the deployed experiment writes, and from which the restored one resumes."""

    claim: str
    written_by: str
    """The revision that is deployed; if that is unknown, the release that the stack follows."""
    mount: str
    """The path at which the restored experiment mounts it."""
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


def _volumes(experiment: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the volumes that are claims."""
    for key, volume in mapping(experiment.get("storage")).items():
        if volume.get("claim") is not None or volume.get("size") is not None:
            yield key, volume


def _claim(experiment: Mapping[str, Any], key: str) -> str:
    claim = experiment["storage"][key].get("claim")
    return f"{experiment['name']}-{key}" if claim is None else str(claim)


class Past(Struct, frozen=True):
    """The releases of a stack. current: the followed one; None: the file. deployed: those deployed; None: unknown."""

    releases: Mapping[str, Release]
    current: str | None
    deployed: Collection[str] | None = None

    def restored_by(self, name: str) -> str:
        """Return the release whose content counts: of a rollback the one that it restores."""
        back = self.releases[name].rollback
        return name if back is None or back.to is None or back.to not in self.releases else back.to

    def followed(self, name: str | None) -> Iterator[str]:
        """Yield the releases that the stack has followed, from this one back."""
        while name is not None and name in self.releases:
            yield name
            name = self.releases[name].promoted.replaces

    def earlier(self) -> list[str]:
        """Return the releases to which a rollback can go, the newest first and each once. A rollback of a rollback goes
        further back, and not to what was rolled back."""
        if self.current is None:
            return []
        now = self.releases[self.restored_by(self.current)]
        if now.rollback is not None:  # it restores what was deployed before there were releases
            return []
        found = dict.fromkeys(map(self.restored_by, self.followed(now.name)))
        return [name for name in found if self.releases[name].content != now.content]

    def was_deployed(self, name: str) -> bool:
        """Return False for a release that was deployed neither by itself nor by a rollback to it."""
        if self.deployed is None:
            return True
        return name in {self.restored_by(each) for each in self.deployed if each in self.releases}

    def before(self, found: Iterable[EarlierDeployment], *, failed: bool) -> Iterator[EarlierDeployment]:
        """Yield the deployments without a release to which a rollback can go, the newest first: those that differ from
        what the stack runs now. failed: the last `pulumi up` has failed, so the newest deployment is an earlier one."""
        current = None if self.current is None else self.releases[self.current]
        now = None if current is None else current.content
        restores = None if current is None else current.rollback
        oldest = current.origin.updated if current is not None and restores is not None and not restores.to else None
        for each in found:
            content = digest(each.record.whole)
            if now is None and not failed:
                now = content
            is_later = oldest is not None and each.update.ended >= oldest
            if content != now and each.update.release not in self.releases and not is_later:
                yield each

    def restored(self, name: str) -> RestoredExperiment:
        """Return what a rollback to the release restores."""
        found = self.releases[self.restored_by(name)]
        return RestoredExperiment(found.name, found.experiment, found.origin)


def restored_deployment(found: EarlierDeployment, stack: str, environment: str) -> RestoredExperiment:
    """Return the deployment of the stack (PROJECT/STACK). TrainformError if this version cannot read it."""
    experiment = experiment_for_release(recorded(found.record, stack))
    return RestoredExperiment(None, experiment, origin(stack, environment, found.record, found.update))


def rollback(restored: RestoredExperiment, current: str | None, stack: str, reason: str, by: str, at: str) -> Release:
    """Return the release of a rollback: the whole earlier experiment, with its evidence. current: the release that the
    stack follows. at: in UTC, to the second."""
    promoted = PromotionRecord(by=by, at=at, source=stack, target=stack, replaces=current, gates={}, waived=[])
    back = Rollback(of=current, to=restored.release, reason=reason)
    return Release(experiment=restored.experiment, origin=restored.origin, promoted=promoted, rollback=back)
