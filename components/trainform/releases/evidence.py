"""What the release that a stack names lacks: it was promoted to another stack, or under other gates than the environment asks for now. Anybody can write the
name of a release into a stack's file, which no gate sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, list_names, shorten
from trainform.releases.files import read_release
from trainform.releases.gates import asked_gates
from trainform.releases.model import Release
from trainform.spec.environment import Environment

PASSED = ("passed", "waived")
"""Results of a gate with which a release is written."""


class Lack(Struct, frozen=True):
    """gate: the one that the release does not have, as the environment asks for it now; "" if it was not promoted to this stack. release: its name. target: the
    stack to which it was promoted. text: all of it as a sentence."""

    gate: str
    release: str
    target: str
    text: str


def lacks_of(
    stack: str, experiment: str, release: str | None, environment: Environment, root: Path
) -> tuple[Lack, ...]:
    """What the release lacks that a stack of the environment names. Nothing where it names none, where the environment asks for no gate, or where the release
    cannot be read, which the check of its file says."""
    if release is None or not asked_gates(environment.promotion):
        return ()
    try:
        return tuple(lacks(stack.rpartition("/")[2], read_release(experiment, release, root), environment))
    except InputError:
        return ()


def lacks(stack: str, release: Release, environment: Environment) -> Iterator[Lack]:
    """The same of a release that is read. stack: without its project. A rollback has no gates: it goes back to what the stack had before."""
    name, target, asked = release.name, release.promoted.target, asked_gates(environment.promotion)
    if asked and target != stack:
        target = shorten(release.told.promoted.target)
        gates = f"{'the gate' if len(asked) == 1 else 'the gates'} of {environment.name}: {', '.join(asked)}"
        text = f"The stack {stack} names release {name}, which was promoted to {target} and not to {stack}. Nobody has judged {gates}."
        yield Lack("", name, target, text)
    elif release.rollback is None:
        for gate in asked:
            if gate == "from" and _is_from_elsewhere(release, environment):
                sources, origin = list_names(environment.promotion.sources), shorten(release.told.origin.environment)
                text = f"The environment {environment.name} takes releases from {sources} only, and release {name} is from {origin}."
                yield Lack(gate, name, target, text)
            elif release.promoted.gates.get(gate) not in PASSED:
                text = f"The environment {environment.name} asks for the gate {gate}, which release {name} has neither passed nor waived."
                yield Lack(gate, name, target, text)


def _is_from_elsewhere(release: Release, environment: Environment) -> bool:
    """True if the gate passed for environments of which the release's is none any more. What `soak` asked for then is not known."""
    passed = release.promoted.gates.get("from") == "passed"
    return passed and release.origin.environment not in environment.promotion.sources
