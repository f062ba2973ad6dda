"""What the validators of the models raise: the reason and the fix that a message shows."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

REFUSED = "refused"
"""The type of these errors. `explain` makes a `Problem` of each."""


def refusal(reason: str, fix: str) -> PydanticCustomError:
    """Return the error of a wrong value, a ValueError. `reason` is a sentence about the value."""
    return PydanticCustomError(REFUSED, "{reason}; {fix}", {"reason": reason, "fix": fix})
