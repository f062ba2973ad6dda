"""How a reader calls the resources of accelerators."""

from __future__ import annotations

from collections.abc import Mapping

from trainform.spec.environment import Environment


def resource_names(environment: Environment | None) -> Mapping[str, str]:
    """The kind of accelerators for each resource that one kind alone has: `baidu.com/a800_80g_cgpu` is a800."""
    kinds = {} if environment is None else environment.accelerators
    resources = [kind.resource for kind in kinds.values()]
    return {kind.resource: name for name, kind in kinds.items() if resources.count(kind.resource) == 1}
