"""What ends a job while some of its pods still run: the success of a role. Merge patches are not part of it."""

from __future__ import annotations

from collections.abc import Collection

from trainform.plan.model import Ending, Plan


def ends_with_role(plan: Plan, name: str | None, condition: str = "") -> tuple[Ending, ...]:
    """The ending by the success of all pods of the role; empty if there is no such role, or no other one."""
    if name is None or len(plan.roles) == 1:
        return ()
    return (Ending(f"the role {name}{condition}", (name,)),)


def ends_by(role: str | None, ends_with: Collection[Ending]) -> bool:
    """True if the success of the role is enough to end the job."""
    return any(role in ending.roles for ending in ends_with)
