"""The volumes that the pods of a job see before and after, and those that keep their data in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any

from msgspec import Struct

from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import JobReview

CLAIM = "persistentVolumeClaim"
STAYS = ("none", "update")  # what happens to a claim that keeps its data
NO_DATA = ("configMap", "secret", "emptyDir", "projected", "downwardAPI")  # nothing from before the pod


class Mount(Struct, frozen=True):
    """A volume at a path of a pod."""

    name: str
    """Of the claim, or the type of another volume."""
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
            for path, mount in mounts_of(template):
                of_role[path].add(mount)
    return {role: {path: frozenset(each) for path, each in paths.items()} for role, paths in found.items()}


def mounts_of(template: Template) -> Iterator[tuple[str, Mount]]:
    """Yield the volumes with data that a pod mounts, each with its path."""
    sources = {str(volume.get("name")): _source(volume) for volume in template.volumes()}
    for container in mappings(template.spec.get("containers")):
        for mount in mappings(container.get("volumeMounts")):
            source = sources.get(str(mount.get("name")))
            if source is not None:
                folder = mount.get("subPath", mount.get("subPathExpr")) or ""
                read_only = source.read_only or bool(mount.get("readOnly"))
                path = str(mount.get("mountPath"))
                yield path, Mount(source.name, source.is_claim, str(folder), read_only)


def _source(volume: Mapping[str, Any]) -> Mount | None:
    claim = mapping(volume.get(CLAIM))
    if claim:
        return Mount(str(claim.get("claimName")), read_only=claim.get("readOnly") is True)
    kind = next((key for key, value in volume.items() if key != "name" and value is not None), None)
    return None if kind is None or kind in NO_DATA else Mount(kind, is_claim=False)


def kept_claims(job: JobReview) -> dict[str, list[str]]:
    """Return the claims that stay and that all pods see unchanged, with their mount paths."""
    was, will = (mounts(job, old=old) for old in (True, False))
    changed = {steps.name(step) for step in steps.of_kind(job.steps, steps.CLAIM) if steps.action(step) not in STAYS}
    before, after = (_places_of_claims(side, was.keys() & will.keys()) for side in (was, will))
    return {
        claim: sorted({path for _, path, _ in places})
        for claim, places in after.items()
        if claim not in changed and places == before.get(claim)
    }


def _places_of_claims(seen: Seen, roles: Set[str]) -> Mapping[str, set[tuple[str, str, Mount]]]:
    found: dict[str, set[tuple[str, str, Mount]]] = defaultdict(set)
    for role in roles:
        for path, each in seen[role].items():
            for mount in each:
                if mount.is_claim:
                    found[mount.name].add((role, path, mount))
    return found
