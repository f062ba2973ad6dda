"""Objects that are too large for the API server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from trainform import defaults
from trainform.backends.patches import override_key
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan

# Counting stops at this size: some objects grow with the square of the input (every init container mounts every checkout), and the text
# of such an object could fill the memory.
COUNTED = 4 * defaults.LARGEST_OBJECT
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def size_problems(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    """A problem for each object that is too large for etcd. `manifests`: the objects after `manifest_overrides`."""
    for manifest in manifests:
        size = _bytes(manifest.body)
        if size > defaults.LARGEST_OBJECT:
            key = override_key(manifest)
            shown = f"{size}" if size < COUNTED else f"more than {COUNTED}"
            yield Problem(
                f"manifest_overrides.{key}" if key in plan.manifest_overrides else "",
                None,
                f"the object {key} has {shown} bytes, and etcd stores at most {defaults.LARGEST_OBJECT}",
                _fix(plan, key),
            )


def _fix(plan: Plan, key: str) -> str:
    if any(role.per_replica for role in plan.roles):
        return (
            "use `ports: shared`, or fewer replicas: with ports of its own each replica has a pod template of its own"
        )
    if key == "launch-script":
        return "use fewer replicas: the object lists the hosts of all replicas"
    return "put large values into a ConfigMap or the image, or use fewer roles"


def _bytes(body: Any) -> int:
    """The length of the body as JSON, in which objects are sent and stored; `COUNTED` if it is longer than that."""
    return len(_ENCODER.encode(body).encode()) if _counted(body) < COUNTED else COUNTED


def _counted(body: Any) -> int:
    """The number of characters in keys and texts, without making the JSON; counting stops at `COUNTED`."""
    count, remaining = 0, [body]
    while remaining and count < COUNTED:
        value = remaining.pop()
        if isinstance(value, str):
            count += len(value)
        elif isinstance(value, dict):
            count += sum(map(len, value))
            remaining.extend(value.values())
        elif isinstance(value, list):
            count += len(value)  # the commas
            remaining.extend(value)
    return count
