"""The error that the validators of the models raise, with reason and fix for the message."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

REFUSED = "refused"
"""The error type of pydantic, which `explain` turns into a `Problem`."""


def refusal(reason: str, fix: str) -> PydanticCustomError:
    """Return the error of a wrong value, a ValueError. `reason` is a sentence about the value."""
    return PydanticCustomError(REFUSED, "{reason}; {fix}", {"reason": reason, "fix": fix})
