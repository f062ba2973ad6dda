"""What the pods of a job see of its volumes on each side of a preview. Overrides count: the objects say it, and not the
experiment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.context import JobReview

CLAIM = "persistentVolumeClaim"
NO_DATA = ("configMap", "secret", "emptyDir", "projected", "downwardAPI")
"""Sources of volumes that hold nothing from before the pod."""

Seen = Mapping[str, Mapping[str, frozenset[str]]]
"""What stands at each path of the pods of each role."""


def mounts(job: JobReview, *, old: bool) -> Seen:
    """The data that the pods of each role see, by path; empty where the preview has no pods of the job."""
    found: dict[str, dict[str, set[str]]] = {}
    for step in job.steps:
        for template in steps.templates(step, step.old if old else step.new):
            of_role = found.setdefault(template.role, defaultdict(set))
            for path, said in _of_template(template):
                of_role[path].add(said)
    return {role: {path: frozenset(said) for path, said in paths.items()} for role, paths in found.items()}


def claim_said(claim: object) -> str:
    """A claim as a mount names it."""
    return f"the claim {claim}"


def mount_said(source: str, folder: object = None, read_only: object = False) -> str:
    """What a mount shows: `the claim sdxl-lora-checkpoints (folder first) read-only`."""
    return "".join(
        [source, f" (folder {folder})" if folder not in (None, "") else "", " read-only" if read_only else ""]
    )


def _of_template(template: Template) -> Iterator[tuple[str, str]]:
    sources = {str(volume.get("name")): _source(volume) for volume in template.volumes()}
    for container in mappings(template.spec.get("containers")):
        for mount in mappings(container.get("volumeMounts")):
            source, read_only = sources.get(str(mount.get("name")), ("", False))
            if source:
                folder = mount.get("subPath", mount.get("subPathExpr"))
                yield str(mount.get("mountPath")), mount_said(source, folder, read_only or mount.get("readOnly"))


def _source(volume: Mapping[str, Any]) -> tuple[str, bool]:
    """What the volume shows, and whether nobody may write to it; empty where it has no data from before."""
    claim = mapping(volume.get(CLAIM))
    if claim:
        return claim_said(claim.get("claimName")), claim.get("readOnly") is True
    kind = next((key for key, value in volume.items() if key != "name" and value is not None), None)
    return ("" if kind is None or kind in NO_DATA else f"a volume of the type {kind}"), False
