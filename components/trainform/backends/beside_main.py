"""Containers that merge patches put beside the main one, and that may keep a pod from its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainform.manifests.shapes import mappings
from trainform.manifests.templates import Template


def beside_main_notes(templates: Iterable[Template], main: str) -> Iterator[str]:
    """A note for each role whose pods have other containers. main: the name of the main one. A container of the start that Kubernetes starts again
    (`restartPolicy: Always`) goes when the others have ended, and is none of these."""
    found: dict[tuple[str, str], None] = {}
    for template in templates:
        for container in mappings(template.spec.get("containers")) if template.replicas else ():
            if container.get("name") != main:
                found[template.role, str(container.get("name"))] = None
    for role, name in found:
        yield (
            f"role {role}: a pod has ended only when its container {name} has ended too, and the job waits for it; write it in `initContainers`, with "
            "`restartPolicy: Always`, to let it go with the others"
        )
