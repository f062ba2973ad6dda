"""An author who does what the messages of `check` say."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from tests.support.rendering import plan_job
from trainform.errors import InputError, Problem
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse

ROUNDS = 8


def planned(data: dict[str, Any], environment: Environment) -> tuple[Plan | None, Sequence[Problem]]:
    """Return the experiment's plan, or what `check` complains of."""
    parsed = parse(Experiment, copy.deepcopy(data))
    if parsed.model is None or parsed.problems:
        return None, [*parsed.problems]
    try:
        return plan_job(parsed.model, environment), ()
    except InputError as refused:
        return None, refused.problems


def obeyed(data: dict[str, Any], environment: Environment) -> Plan | None:
    """Return the plan after the author has removed what messages complain of, again and again; None where that does not
    help."""
    for _ in range(ROUNDS):
        plan, problems = planned(data, environment)
        if plan is not None:
            return plan
        if sum(_removed(data, problem) for problem in problems) == 0:  # of all, not of the first that can be
            return None
    return None


def _removed(data: Any, problem: Problem) -> bool:
    """Whether there was something to remove."""
    *above, last = re.split(r"\.|\[", problem.path.replace("]", ""))
    for part in above:
        data = data.get(part) if isinstance(data, dict) else None
    return isinstance(data, dict) and data.pop(last, None) is not None
