"""The doctor's findings for people. They fit the terminal, every path stands whole on one line, and what is missing comes last, with its fix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from trainform.doctor.model import Check, Finding, Findings, State, Verdict, fixes
from trainform.escaping import escaped
from trainform.terminal.lines import wrapped

GAP = "  "
LABEL = 20  # columns of the names on the left
Line = tuple[str, str]
"""The state that gives it its colour, "" for none, and the text."""


def lines(checks: Sequence[Check], findings: Findings, found: Sequence[Verdict], width: int) -> Iterator[Line]:
    """What is there, what could not be looked at, what that means for the verbs, and what is missing."""
    made = [check for check in checks if check.name in findings]
    for check in made:
        finding = findings[check.name]
        if finding.state is State.OK:
            yield from _labelled(_words(check.name), finding.text, width)
    yield from _not_checked(made, findings, width)
    yield ("", "")
    yield from (("", line) for line in _verdicts(found))
    for state in (State.NOTE, State.MISSING):
        yield from _wanting(made, findings, state, width)


def _labelled(label: str, text: str, width: int) -> Iterator[Line]:
    """The label beside the first line of the text, the others below that one."""
    texts = wrapped(text, width - LABEL)
    for first, line in zip(itertools.chain([label], itertools.repeat("")), texts, strict=False):
        yield ("", f"{first:<{LABEL}}{line}")


def _not_checked(checks: Iterable[Check], findings: Findings, width: int) -> Iterator[Line]:
    """Checks that wait for the same stand together."""
    names: dict[str, list[str]] = {}
    for check in checks:
        if findings[check.name].state is State.UNKNOWN:
            names.setdefault(findings[check.name].text, []).append(_words(check.name))
    for reason, waiting in names.items():
        for line in wrapped(f"not checked: {', '.join(waiting)} ({reason})", width):
            yield (State.UNKNOWN, line)


def _verdicts(found: Sequence[Verdict]) -> Iterator[str]:
    """Verbs that lack the same stand in one line."""
    verbs: dict[str, list[str]] = {}
    for verdict in found:
        reasons = [f"{_listed(verdict.missing)} missing"] if verdict.missing else []
        reasons += [f"{_listed(verdict.unknown)} not checked"] if verdict.unknown and not verdict.missing else []
        key = f"{'ready' if verdict.ready else 'not ready'}|{'; '.join(reasons)}"
        verbs.setdefault(key, []).append(verdict.verb)
    for line, named in verbs.items():
        state, _, reason = line.partition("|")
        yield f"{state}: {', '.join(named)}{f' ({reason})' if reason else ''}"


def _wanting(checks: Sequence[Check], findings: Findings, state: State, width: int) -> Iterator[Line]:
    """What is missing, or could be better, in groups that one fix mends; what mends most comes first."""
    groups: dict[str, list[Check]] = {}
    mended = fixes(checks, findings)
    for check in checks:
        if findings[check.name].state is state:
            # without a fix each stands by itself
            groups.setdefault(mended.get(check.name, f"|{check.name}"), []).append(check)
    for fix, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield ("", "")
        for check in group:
            yield from _told(check, findings[check.name], width)
        if not fix.startswith("|"):
            yield ("", escaped(f"{GAP}fix: {fix}"))  # in one line, so that it can be pasted


def _told(check: Check, finding: Finding, width: int) -> Iterator[Line]:
    verbs = f" (for {', '.join(check.verbs)})" if check.verbs else ""
    for line in wrapped(f"{finding.state}: {_words(check.name)}{verbs}", width):
        yield (finding.state, line)
    for line in wrapped(finding.text, width - len(GAP)):
        yield ("", f"{GAP}{line}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_words, names))


def _words(name: str) -> str:
    return name.replace("_", " ")
