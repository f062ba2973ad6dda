"""Checks, their findings, and which commands can work with these findings. Pure data; other modules run the checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from trainform.spec.environment import Environment

# The commands of trainform and Pulumi, with a description if the name alone is not clear. A command without a check needs only this
# installation.
VERBS = {
    "init": "",
    "new": "",
    "check": "",
    "plan": "",
    "render": "",
    "schema": "",
    "preview": "`pulumi preview` of an experiment",
    "review": "",
    "apply": "",
    "up": "`pulumi up` of an experiment",
    "environment": "`pulumi up` of the environment's own stack",
    "destroy": "",
    "promote": "",
    "history": "",
    "rollback": "",
    "drift": "",
    "stacks": "",
    "diff": "",
    "rehearse": "",
    "sandbox": "",
    "demo": "",
    "toolchain": "",
    "test": "`make test`",
}


class State(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    """Nothing is missing, but there is something that the user should know."""
    MISSING = "missing"
    UNKNOWN = "not checked"
    """The check could not be made: something else is missing, or there is no permission."""


class Closable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None:
        """Close it."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of one check. `text`: what was found, or why not. `fix`: the command that corrects it. `details`: data for programs and for
    later checks. `value`: a connection that later checks use."""

    state: State
    text: str
    fix: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    value: Closable | None = dataclasses.field(default=None, compare=False, repr=False)


Findings = Mapping[str, Finding]


class Request(Struct, frozen=True):
    """What is checked: the project's folder, the environment (None: no environment), and how many seconds all checks may take."""

    root: Path
    environment: Environment | None
    seconds: float

    @property
    def timeout(self) -> float:
        """Seconds for one program or server: less than for all checks, so that the check can still name the one that does not answer."""
        return 0.8 * self.seconds

    @property
    def context(self) -> str | None:
        """The environment's context, None for the current one."""
        return None if self.environment is None else self.environment.cluster.context


def always(request: Request) -> bool:
    """Return True: the check applies to every request."""
    return True


class Check(Struct, frozen=True):
    """One check. `verbs`: the commands that need it. `needs`: checks that must succeed first. `after`: other checks whose findings it reads.
    `fix`: the default fix, if `look` returns none. `applies`: False if there is nothing to check."""

    name: str
    look: Callable[[Request, Findings], Finding]
    fix: str = ""
    verbs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    applies: Callable[[Request], bool] = always


class Verdict(Struct, frozen=True):
    """The checks that failed for a command, and those that could not be made."""

    verb: str
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """True if nothing is known to be missing."""
        return not self.missing


def verdicts(checks: Iterable[Check], findings: Findings) -> list[Verdict]:
    """Return a verdict for each command."""
    made = [check for check in checks if check.name in findings]

    def needed(verb: str, state: State) -> tuple[str, ...]:
        return tuple(check.name for check in made if verb in check.verbs and findings[check.name].state is state)

    return [Verdict(verb, needed(verb, State.MISSING), needed(verb, State.UNKNOWN)) for verb in VERBS]


def fixes(checks: Sequence[Check], findings: Findings) -> dict[str, str]:
    """Return the fix for each check with the state missing or note, by check."""
    wanting = (State.MISSING, State.NOTE)
    found = {check.name: findings[check.name] for check in checks if check.name in findings}
    return {name: finding.fix for name, finding in found.items() if finding.state in wanting and finding.fix}
