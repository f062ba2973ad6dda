"""Invalid values of options: the errors of typer and pydantic as problems with reason and fix."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from trainform.errors import Problem
from trainform.spec.explain import REASONS
from trainform.spec.names import did_you_mean

WHOLE = ("must be a whole number", "write it in digits, without a fraction: 2")
# pydantic's type of error -> reason and fix; other types are explained as for values in files
OF_OPTIONS = {
    "int_parsing": WHOLE,
    "int_parsing_size": WHOLE,
    "float_parsing": ("must be a number", "write it in digits, with a point before a fraction: 2.5"),
}
_CHOICES = re.compile("'([^']*)'")


def value_problem(error: Any) -> Problem | None:
    """Return the problem with a value that typer refuses, None if the error is about something else."""
    cause = error.__cause__
    if not isinstance(cause, ValidationError) or getattr(error, "param", None) is None:
        return None
    detail = cause.errors(include_url=False)[0]
    option, given, kind = max(error.param.opts, key=len), detail["input"], detail["type"]
    _, is_choice, listed = detail["msg"].rpartition(" is not one of ")
    if is_choice:
        choices = _CHOICES.findall(listed)
        fix = did_you_mean(str(given), choices) or "write one of them"
        return Problem(option, given, f"is not one of {', '.join(choices)}", fix)
    known = REASONS | OF_OPTIONS
    if kind not in known:
        return None
    reason, fix = known[kind]
    bounds = {name: f"{bound:.12g}" for name, bound in detail.get("ctx", {}).items() if isinstance(bound, int | float)}
    return Problem(option, given, reason.format_map(bounds), fix.format_map(bounds))
