"""Objects that no API server takes, because they are too large."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from trainform.backends.patches import override_key
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan

# Counting ends here: some objects grow with the square of what the user writes (every init container mounts every checkout), and the text
# of one could fill the memory.
COUNTED = 4 * defaults.LARGEST_OBJECT
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def size_problems(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    """Objects that are larger than etcd keeps. `manifests` are the objects as they are made, after `manifest_overrides`."""
    for manifest in manifests:
        size = _bytes(manifest.body)
        if size > defaults.LARGEST_OBJECT:
            key = override_key(manifest)
            shown = f"{size}" if size < COUNTED else f"more than {COUNTED}"
            yield Problem(
                f"manifest_overrides.{key}" if key in plan.manifest_overrides else "",
                None,
                f"makes the object {key} {shown} bytes long; etcd keeps at most {defaults.LARGEST_OBJECT}",
                _fix(plan, key),
            )


def _fix(plan: Plan, key: str) -> str:
    if any(role.per_replica for role in plan.roles):
        return (
            "use `ports: shared`, or fewer replicas: with ports of its own each replica has a pod template of its own"
        )
    if key == "launch-script":
        return "use fewer replicas: it lists the hosts of all"
    return "put large values into a ConfigMap or the image, or use fewer roles"


def _bytes(body: Any) -> int:
    """The length as JSON, in which objects are sent and kept; `COUNTED` where it is no less."""
    return len(_ENCODER.encode(body).encode()) if _counted(body) < COUNTED else COUNTED


def _counted(body: Any) -> int:
    """The characters of keys and texts, as far as to `COUNTED`, without making the JSON."""
    count, left = 0, [body]
    while left and count < COUNTED:
        value = left.pop()
        if isinstance(value, str):
            count += len(value)
        elif isinstance(value, dict):
            count += sum(map(len, value))
            left.extend(value.values())
        elif isinstance(value, list):
            count += len(value)  # the commas
            left.extend(value)
    return count
