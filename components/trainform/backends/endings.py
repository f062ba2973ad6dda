"""What ends a job while some of its pods still run: the success of a role. Where a merge patch changes
it, the plan does not show it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trainform.plan.model import Ending, Plan

_FIELDS = frozenset(["successPolicy", "policies", "minSuccess"])


def ends_with_role(plan: Plan, name: str | None, condition: str = "") -> tuple[Ending, ...]:
    """The ending by the success of all pods of the role; empty if there is no such role, or no other one."""
    if name is None or len(plan.roles) == 1:
        return ()
    return (Ending(f"the role {name}{condition}", (name,)),)


def ends_by(role: str | None, ends_with: Collection[Ending]) -> bool:
    """True if the success of the role is enough to end the job."""
    return any(role in ending.roles for ending in ends_with)


def patched_endings(plan: Plan) -> list[str]:
    """The fields with a merge patch that decides what ends the job."""
    return [
        field
        for key, patch in plan.manifest_overrides.items()
        for field in dict.fromkeys(_patched_fields(patch.get("spec"), f"manifest_overrides.{key}.spec"))
    ]


def _patched_fields(patch: object, path: str) -> Iterator[str]:
    if isinstance(patch, list):
        for item in patch:
            yield from _patched_fields(item, path)
    elif isinstance(patch, dict):
        for key, part in patch.items():
            below = f"{path}.{key}"
            yield from [below] if key in _FIELDS else _patched_fields(part, below)
