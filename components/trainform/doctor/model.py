"""Checks, their findings, and what these mean for each verb. Pure: looking is done elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from trainform.spec.environment import Environment

# Everything that a user may want to do, and what it is where the name alone does not say it. Verbs without a check need nothing
# but this installation.
VERBS = {
    "init": "",
    "new": "",
    "check": "",
    "plan": "",
    "render": "",
    "schema": "",
    "preview": "`pulumi preview` of an experiment",
    "up": "`pulumi up` of an experiment",
    "environment": "`pulumi up` of the environment's own stack",
    "rehearse": "",
    "sandbox": "",
    "demo": "",
    "toolchain": "",
    "test": "`make test`",
}


class State(StrEnum):
    """What a check has found."""

    OK = "ok"
    NOTE = "note"
    """Nothing is missing, and there is something to know."""
    MISSING = "missing"
    UNKNOWN = "not checked"
    """It could not be looked at: something else is missing, or we may not know."""


class Closable(Protocol):
    """A connection."""

    def close(self) -> None:
        """End it."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """text: what is there, or why not. fix: the command that mends it. details: the same for programs, and for later checks. value: a
    connection that later checks use."""

    state: State
    text: str
    fix: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    value: Closable | None = dataclasses.field(default=None, compare=False, repr=False)


Findings = Mapping[str, Finding]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is looked at: the project's folder, the environment, where one is given, and how long all of it may take."""

    root: Path
    environment: Environment | None
    seconds: float

    @property
    def patience(self) -> float:
        """Seconds for one program or server: less than the whole, so that the look can still say which one does not answer."""
        return 0.8 * self.seconds

    @property
    def context(self) -> str | None:
        """The environment's context; None: the current one."""
        return None if self.environment is None else self.environment.cluster.context


def always(asked: Asked) -> bool:
    """There is something to look for whatever is asked."""
    return True


@dataclasses.dataclass(frozen=True)
class Check:
    """verbs: those that cannot do without it. needs: checks without whose success there is nothing to look at. after: further checks whose
    findings it reads. fix: the command that mends it, where the look knows no better one. applies: whether there is anything to look for."""

    name: str
    look: Callable[[Asked, Findings], Finding]
    fix: str = ""
    verbs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    applies: Callable[[Asked], bool] = always


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What keeps a verb from working, and what it needs and could not be looked at; names of checks."""

    verb: str
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """True where nothing is known to be missing."""
        return not self.missing


def verdicts(checks: Iterable[Check], findings: Findings) -> list[Verdict]:
    """One for each verb, in their order."""
    made = [check for check in checks if check.name in findings]

    def needed(verb: str, state: State) -> tuple[str, ...]:
        return tuple(check.name for check in made if verb in check.verbs and findings[check.name].state is state)

    return [Verdict(verb, needed(verb, State.MISSING), needed(verb, State.UNKNOWN)) for verb in VERBS]


def fixes(checks: Sequence[Check], findings: Findings) -> dict[str, str]:
    """The command that mends each thing that is missing, or could be better; by check."""
    wanting = (State.MISSING, State.NOTE)
    found = {check.name: findings[check.name] for check in checks if check.name in findings}
    return {name: finding.fix for name, finding in found.items() if finding.state in wanting and finding.fix}
