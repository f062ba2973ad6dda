"""Capabilities that are added to a container and that its processes do not get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template

IPC_LOCK = "IPC_LOCK"
_PINNED = (
    ": RDMA then registers no more memory than the node's limit of locked memory; leave `run_as` out, or let the platform team make that limit "
    "(memlock) unlimited in the nodes' container runtime"
)


def capability_notes(templates: Iterable[Template]) -> Iterator[str]:
    """A note for each role with containers to which capabilities are added and that run as another user than root. Kubernetes puts them into the bounding
    set, and ambient sets, with which such a process would have them, are not there (kubernetes/enhancements#2763)."""
    found: dict[str, None] = {}
    for template in templates:
        for where, container in template.named_containers():
            added, user = _added(container), other_user(template.spec, container)
            if added and user is not None:
                why = _PINNED if IPC_LOCK in added else ""
                found[
                    f"role {template.role} ({where}): a process of {user} does not get the added {' and '.join(added)}, which only root's have{why}"
                ] = None
    yield from found


def _added(container: dict[str, Any]) -> list[str]:
    added = mapping(mapping(container.get("securityContext")).get("capabilities")).get("add")
    return [str(name) for name in added] if isinstance(added, list) else []


def other_user(pod: dict[str, Any], container: dict[str, Any]) -> str | None:
    """The user of the container's processes in words, if it is not root; None if it is, or if the image decides."""
    contexts = [mapping(each.get("securityContext")) for each in (container, pod)]
    user, non_root = (
        next((context[field] for context in contexts if context.get(field) is not None), None)
        for field in ("runAsUser", "runAsNonRoot")
    )
    if user is not None:
        return None if user == 0 else f"user {user}"
    return "a user other than root" if non_root is True else None
