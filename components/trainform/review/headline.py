"""The first line of a report: one true sentence of what happens, then the cost and the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from trainform.review.context import Context
from trainform.review.effects import MORE, NOT_WHOLE, NOTHING, clause
from trainform.review.fate import Fate, JobFate, fate
from trainform.review.findings.data import NAMESPACE_GONE
from trainform.review.kept import kept_volumes
from trainform.review.model import Cost, Effect, Finding

MOST_NAMED = 5
"""Claims that the headline names; of more it says how many there are."""
OF_MANY: Mapping[JobFate, str] = {
    "replace": "replaces",
    "scale": "scales",
    "update": "changes in place",
    "create": "creates",
    "delete": "deletes",
    "unknown": "does something unknown to",
}
"""What happens to several jobs, the heaviest first."""
LEVELS: tuple[Literal["high", "medium", "low"], ...] = ("high", "medium", "low")
CREATES = "Creates "
OF_LOST = ("Deletes the namespace ", "Replaces the namespace ")
"""How the effects begin that say less of a namespace than the finding that everything in it goes."""
WEIGHT = ("stop", "delete", "replace", "unknown", "scale", "update", "create", "keep", "none")


def headline(context: Context, effects: Sequence[Effect], findings: Sequence[Finding], cost: Cost) -> str:
    """What happens, what it costs, and how many findings there are: "Scales the elastic role worker 3 → 5 in place.
    +24.00 USD/h."."""
    known = [effect for effect in effects if effect.sentence != MORE]
    more = MORE if len(known) < len(effects) else ""
    lost = [finding.title for finding in findings if finding.code == NAMESPACE_GONE.code]
    if lost:  # told before all else, since claims and jobs go with it
        known = [effect for effect in known if not effect.sentence.startswith(OF_LOST)]
    happens = _what_happens(context, known)
    if lost:
        happens = " ".join([*lost[:MOST_NAMED], *([] if happens == NOTHING else [happens])])
    costs = "" if happens in (NOTHING, NOT_WHOLE) else _cost(cost)
    return " ".join(filter(None, [happens, more, costs, _counted(findings)]))


def _what_happens(context: Context, effects: Sequence[Effect]) -> str:
    fates = [found for job in context.jobs if (found := fate(context, job)).kind != "none"]
    if len(fates) == 1:
        return _of_one(fates[0], effects)
    if fates:
        return _of_many(fates)
    heaviest = sorted(
        (effect for effect in effects if effect.kind != "keep"), key=lambda effect: WEIGHT.index(effect.kind)
    )
    if not heaviest:
        return NOTHING
    told = (
        heaviest[:2] if all(effect.sentence.startswith(f"{CREATES}the ") for effect in heaviest[:2]) else heaviest[:1]
    )
    first, *second = (effect.sentence.removesuffix(".") for effect in told)
    said = " and ".join([first, *(sentence.removeprefix(CREATES) for sentence in second)])
    more = len(heaviest) - len(told)
    return f"{said}." + (f" {more} more effect{'s' if more > 1 else ''}." if more else "")


def _of_one(happens: Fate, effects: Sequence[Effect]) -> str:
    said = _scaled(happens) if happens.kind == "scale" else clause(happens)
    lost = [effect.object for effect in effects if effect.kind == "delete" and " the claim " in effect.sentence]
    kept = [(key, claim) for key, claim, volume in kept_volumes(happens) if volume.claim is None]
    if happens.kind == "replace" and kept:
        stays = [f"{key} stay{'' if key.endswith('s') else 's'} in {claim}" for key, claim in kept]
        said += f"; {_named(stays)}"
    if lost:
        said += f"; the claim{'s' if len(lost) > 1 else ''} {_named(lost)} {'are' if len(lost) > 1 else 'is'} deleted"
    return f"{said}."


def _named(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return f"{', '.join(texts[:MOST_NAMED])}{more}"


def _scaled(happens: Fate) -> str:
    """The short form: `Scales the elastic role worker 3 → 5 in place`."""
    roles = [
        f"the {'elastic ' if scaled.elastic else ''}role {scaled.role} {scaled.before} → {scaled.after}"
        for scaled in happens.scaled
    ]
    return f"Scales {', '.join(roles)} in place"


def _of_many(fates: Sequence[Fate]) -> str:
    counts = Counter(happens.kind for happens in fates)
    running = sum(happens.is_running for happens in fates if happens.kind in ("replace", "delete"))
    parts = [f"{said} {_jobs(counts[kind])}" for kind, said in OF_MANY.items() if counts[kind]]
    said = ", ".join(parts)
    if running:
        said += f"; {running} of them {'run' if running > 1 else 'runs'} now and {'end' if running > 1 else 'ends'}"
    return f"{said[0].upper()}{said[1:]}."


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def _cost(cost: Cost) -> str:
    """The difference per hour, with its sign; that it is not known where it is not; empty where nothing has a price."""
    if cost.difference is None:
        return "" if cost.known else "What it costs is not known."
    return f"{cost.difference.amount:+.2f} {cost.difference.currency}/h."


def _counted(findings: Sequence[Finding]) -> str:
    """The findings that nobody has waived, by level: `1 high and 2 medium findings.`."""
    counts = Counter(finding.level for finding in findings if not finding.waived)
    parts = [f"{counts[level]} {level}" for level in LEVELS if counts[level]]
    if not parts:
        return ""
    *first, last = parts
    total = sum(counts.values())
    return f"{', '.join(first)}{' and ' if first else ''}{last} finding{'' if total == 1 else 's'}."
