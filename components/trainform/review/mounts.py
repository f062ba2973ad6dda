"""The volumes that the pods of a job see on each side of a preview, with merge patches, and which of them keep their
data in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.plan.roles import claim_name
from trainform.review import steps
from trainform.review.context import JobReview
from trainform.review.fate import Fate
from trainform.spec.experiment import Experiment
from trainform.spec.storage import Volume

CLAIM = "persistentVolumeClaim"
NO_DATA = ("configMap", "secret", "emptyDir", "projected", "downwardAPI")
"""Sources of volumes that hold nothing from before the pod."""


class Mount(Struct, frozen=True):
    """A volume at a path of a pod. name: of the claim, or of the type of another volume."""

    name: str
    is_claim: bool = True
    folder: str = ""
    read_only: bool = False

    def __str__(self) -> str:
        source = f"the claim {self.name}" if self.is_claim else f"a volume of the type {self.name}"
        return f"{source}{f' (folder {self.folder})' if self.folder else ''}{' read-only' if self.read_only else ''}"


Seen = Mapping[str, Mapping[str, frozenset[Mount]]]
"""The mounts by role and path."""


def mounts(job: JobReview, *, old: bool) -> Seen:
    """Return the mounts with data that the pods of each role see; empty where the preview has no pods of the job."""
    found: dict[str, dict[str, set[Mount]]] = {}
    for step in job.steps:
        for template in steps.templates(step, step.old if old else step.new):
            of_role = found.setdefault(template.role, defaultdict(set))
            for path, mount in _mounts_of(template):
                of_role[path].add(mount)
    return {role: {path: frozenset(each) for path, each in paths.items()} for role, paths in found.items()}


def _mounts_of(template: Template) -> Iterator[tuple[str, Mount]]:
    sources = {str(volume.get("name")): _source(volume) for volume in template.volumes()}
    for container in mappings(template.spec.get("containers")):
        for mount in mappings(container.get("volumeMounts")):
            source = sources.get(str(mount.get("name")))
            if source is not None:
                folder = mount.get("subPath", mount.get("subPathExpr"))
                read_only = source.read_only or bool(mount.get("readOnly"))
                yield (
                    str(mount.get("mountPath")),
                    Mount(source.name, source.is_claim, str(folder) if folder else "", read_only),
                )


def _source(volume: Mapping[str, Any]) -> Mount | None:
    claim = mapping(volume.get(CLAIM))
    if claim:
        return Mount(str(claim.get("claimName")), read_only=claim.get("readOnly") is True)
    kind = next((key for key, value in volume.items() if key != "name" and value is not None), None)
    return None if kind is None or kind in NO_DATA else Mount(kind, is_claim=False)


def kept_volumes(happens: Fate) -> list[tuple[str, str, Volume]]:
    """Return name, claim and volume of each volume that keeps its data: its claim stays, and all pods see it unchanged
    at the same paths."""
    if happens.before is None or happens.after is None or happens.before.model is None or happens.after.model is None:
        return []
    old, new = happens.before.model, happens.after.model
    was, will = mounts(happens.job, old=True), mounts(happens.job, old=False)
    both = was.keys() & will.keys()
    claims = {steps.name(step): steps.fate(step) for step in steps.of_kind(happens.job.steps, steps.CLAIM)}
    found = []
    for key, volume in new.storage.items():
        claim = claim_name(new, key)
        # a claim that exists already is not touched by this stack
        stays = volume.claim is not None or claims.get(claim, "none") in ("none", "update")
        seen = [{place for role in both for place in _places(side[role], role, claim)} for side in (was, will)]
        in_sight = not both or any(path == volume.mount for _, path, _ in seen[1])
        if stays and in_sight and seen[0] == seen[1] and _stated(old, key) == _stated(new, key):
            found.append((key, claim, volume))
    return found


def _places(paths: Mapping[str, frozenset[Mount]], role: str, claim: str) -> Iterator[tuple[str, str, Mount]]:
    for path, each in paths.items():
        yield from ((role, path, mount) for mount in each if mount.is_claim and mount.name == claim)


def _stated(experiment: Experiment, key: str) -> tuple[object, ...] | None:
    volume = experiment.storage.get(key)
    if volume is None:
        return None
    return claim_name(experiment, key), volume.mount, volume.sub_path, volume.read_only, volume.roles
