"""What the release that a stack names lacks: it was promoted to another stack, or under other gates than the
environment asks for now. Anybody can write the name of a release into a stack's file, which no gate sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, list_names, shorten
from trainform.releases.gates import asked_gates
from trainform.releases.model import Release, release_of
from trainform.spec.environment import Environment
from trainform.spec.release import read_release_file

PASSED = ("passed", "waived")
"""Results of a gate with which a release is written."""


class Lack(Struct, frozen=True):
    """gate: the one that the release does not have, as the environment asks for it now; "" if it was not promoted to
    this stack. release: its name. target: the stack to which it was promoted; "" if nobody can read it. text: all of it
    as a sentence."""

    gate: str
    release: str
    target: str
    text: str


def lacks_of(
    stack: str, experiment: str, release: str | None, environment: Environment, root: Path
) -> tuple[Lack, ...]:
    """What the release lacks that a stack of the environment names. Nothing where it names none, where the environment
    asks for no gate, or where the file cannot be read, which its check says. That looks at the experiment alone:
    evidence in a form that nobody knows is no evidence."""
    if release is None or not asked_gates(environment.promotion):
        return ()
    short = stack.rpartition("/")[2]
    try:
        content = read_release_file(experiment, release, root)
    except InputError:
        return ()
    try:
        return tuple(lacks(short, release_of(content.data, content.source), environment))
    except InputError:
        why = "in a form that this version of trainform does not know: nobody can read who judged it"
        return (Lack("", release, "", f"The stack {short} names release {release}, {why}. {_not_judged(environment)}"),)


def lacks(stack: str, release: Release, environment: Environment) -> Iterator[Lack]:
    """The same of a release that is read. stack: without its project. A rollback has no gates: it goes back to what the
    stack had before."""
    name, target, asked = release.name, release.promoted.target, asked_gates(environment.promotion)
    if asked and target != stack:
        target = shorten(release.told.promoted.target)
        text = (
            f"The stack {stack} names release {name}, which was promoted to {target} and not to {stack}. "
            f"{_not_judged(environment)}"
        )
        yield Lack("", name, target, text)
    elif release.rollback is None:
        for gate in asked:
            if gate == "from" and _is_from_elsewhere(release, environment):
                sources, origin = list_names(environment.promotion.sources), shorten(release.told.origin.environment)
                text = (
                    f"The environment {environment.name} takes releases from {sources} only, and release {name} is "
                    f"from {origin}."
                )
                yield Lack(gate, name, target, text)
            elif release.promoted.gates.get(gate) not in PASSED:
                text = (
                    f"The environment {environment.name} asks for the gate {gate}, which release {name} has neither "
                    "passed nor waived."
                )
                yield Lack(gate, name, target, text)


def _not_judged(environment: Environment) -> str:
    asked = asked_gates(environment.promotion)
    return (
        f"Nobody has judged {'the gate' if len(asked) == 1 else 'the gates'} of {environment.name}: {', '.join(asked)}."
    )


def _is_from_elsewhere(release: Release, environment: Environment) -> bool:
    """True if the gate passed for environments of which the release's is none any more. What `soak` asked for then is
    not known."""
    passed = release.promoted.gates.get("from") == "passed"
    return passed and release.origin.environment not in environment.promotion.sources
