"""Objects that are too large for etcd. A dry run stores nothing, so no server reports them before `up`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.model import Plan

_FIX = (
    "put large values into a ConfigMap, or into a file of the image or of a volume, or use fewer roles, steps or "
    "replicas"
)
_FIX_OF_PORTS = "use `ports: shared`, or fewer replicas: each replica with ports of its own has a pod template"


def size_problems(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    """Yield a problem for each object that is too large. `manifests`: the objects after `manifest_overrides`."""
    for manifest in manifests:
        size = len(json.dumps(manifest.body, ensure_ascii=False, separators=(",", ":")).encode())
        if size > defaults.LARGEST_OBJECT:
            key = override_key(manifest)
            per_replica = manifest.is_job and any(role.per_replica for role in plan.roles)
            path = f"manifest_overrides.{key}" if key in plan.manifest_overrides else ""
            reason = (
                f"the object {key} has {size} bytes, and etcd stores at most {defaults.LARGEST_OBJECT} beside what "
                "servers add"
            )
            yield Problem(
                "network.ports" if per_replica else path, None, reason, _FIX_OF_PORTS if per_replica else _FIX
            )
