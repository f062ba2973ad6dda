"""The doctor's findings as text. They fit the terminal, paths are never broken, and what is missing comes last, with its fix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from trainform.doctor.model import Check, Finding, Findings, State, Verdict, fixes
from trainform.escaping import escaped, wrapped

GAP = "  "
LABEL = 20  # columns of the names on the left
Line = tuple[str, str]
"""The state, which sets the colour ("" for none), and the text."""


def lines(checks: Sequence[Check], findings: Findings, found: Sequence[Verdict], width: int) -> Iterator[Line]:
    """Yield what was found, what could not be checked, which commands are ready, and what is missing."""
    made = [check for check in checks if check.name in findings]
    for check in made:
        finding = findings[check.name]
        if finding.state is State.OK:
            yield from _labelled(_title(check.name), finding.text, width)
    yield from _not_checked(made, findings, width)
    yield ("", "")
    yield from (("", line) for line in _verdicts(found))
    for state in (State.NOTE, State.MISSING):
        yield from _wanting(made, findings, state, width)


def _labelled(label: str, text: str, width: int) -> Iterator[Line]:
    """Yield the text with the label beside its first line."""
    texts = wrapped(text, width - LABEL)
    for first, line in zip(itertools.chain([label], itertools.repeat("")), texts, strict=False):
        yield ("", f"{first:<{LABEL}}{line}")


def _not_checked(checks: Iterable[Check], findings: Findings, width: int) -> Iterator[Line]:
    """Yield the checks that could not be made, grouped by reason."""
    names: dict[str, list[str]] = {}
    for check in checks:
        if findings[check.name].state is State.UNKNOWN:
            names.setdefault(findings[check.name].text, []).append(_title(check.name))
    for reason, waiting in names.items():
        for line in wrapped(f"not checked: {', '.join(waiting)} ({reason})", width):
            yield (State.UNKNOWN, line)


def _verdicts(found: Sequence[Verdict]) -> Iterator[str]:
    """Yield the commands, grouped by what is missing."""
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
    """Yield the findings of one state, grouped by fix; the fix for most checks comes first."""
    groups: dict[str, list[Check]] = {}
    fix_of = fixes(checks, findings)
    for check in checks:
        if findings[check.name].state is state:
            # a finding without a fix is its own group
            groups.setdefault(fix_of.get(check.name, f"|{check.name}"), []).append(check)
    for fix, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield ("", "")
        for check in group:
            yield from _finding_lines(check, findings[check.name], width)
        if not fix.startswith("|"):
            yield ("", escaped(f"{GAP}fix: {fix}"))  # on one line, so that it can be pasted


def _finding_lines(check: Check, finding: Finding, width: int) -> Iterator[Line]:
    verbs = f" (for {', '.join(check.verbs)})" if check.verbs else ""
    for line in wrapped(f"{finding.state}: {_title(check.name)}{verbs}", width):
        yield (finding.state, line)
    for line in wrapped(finding.text, width - len(GAP)):
        yield ("", f"{GAP}{line}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_title, names))


def _title(name: str) -> str:
    return name.replace("_", " ")
