"""A report as sections of items, the same for every form that people read: one home for what is said, and in which
order. Of several stacks, a summary stands first: which one asks for a closer look, and what they cost in sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from trainform.errors import list_names
from trainform.review.forms.sections import (
    LONGEST,
    LONGEST_DESTRUCTIVE,
    MOST_ITEMS,
    MOST_ROWS,
    Block,
    Drawing,
    Fold,
    Item,
    Row,
    Section,
    Table,
    bounded,
    counted,
    cut,
    shown,
)
from trainform.review.model import (
    Capacity,
    Category,
    Change,
    Cost,
    Effect,
    EngineMessage,
    Finding,
    Money,
    NotChecked,
    ObjectChange,
    Outcome,
    Place,
    Report,
    Review,
    Selection,
    WaiverUse,
)

NONE_REACHED = "None in what the preview has reached before it failed."
Thing = TypeVar("Thing")


def sections(report: Report) -> list[Section]:
    """The report in the order in which it is read. A section that says nothing is left out, but for those whose silence
    would be a claim."""
    none = NONE_REACHED if report.outcome is Outcome.failed else "None."
    made = [
        Section(f"Review of {report.stack}", tuple(_summary(report))),
        Section(
            "What happens",
            _or_none(_most(report.effects, _effect, lambda effect: effect.kind), "Nothing changes."),
        ),
        Section("Who uses what changes", tuple(_most(report.dependents, lambda users: Item(users.sentence)))),
        Section("Findings", _or_none(_most(report.findings, _finding, _weight), none)),
        Section("Cost", tuple(cost_items(report.cost))),
        Section("Capacity", tuple(capacity_items(report.capacity))),
        Section("Changes", _or_none(_changes(report), none)),
        Section("Picture", tuple(map(Drawing, report.pictures))),
        Section("In the cluster", tuple(_most(report.live, lambda fact: Item(fact.sentence)))),
        Section("Waivers", tuple(_most(report.waivers, _waiver, lambda use: use.state))),
        Section("Messages of the engine", tuple(_most(report.messages, _message, lambda message: message.severity))),
        Section("Not checked", tuple(_left_out(report))),
        Section(
            "Secrets",
            (Item(f"{counted(report.masked, 'secret value')} {'is' if report.masked == 1 else 'are'} masked."),),
        ),
    ]
    return bounded(made)


def _most(
    things: Sequence[Thing], item: Callable[[Thing], Item], kind: Callable[[Thing], str] | None = None
) -> Iterator[Item]:
    """An item for each of the first things, and how many others there are. kind: a word by which they are counted."""
    yield from map(item, things[:MOST_ITEMS])
    others = things[MOST_ITEMS:]
    if others:
        counts = Counter([] if kind is None else map(kind, others))
        by_kind = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        yield Item(f"And {len(others)} more{f': {by_kind}' if by_kind else ''}.")


def _most_rows(rows: Sequence[Row], each: int = 1) -> tuple[Row, ...]:
    """The first rows, and how many fields the others are of. each: rows of a field."""
    left_out = len(rows) // each - MOST_ROWS
    return tuple(rows) if left_out <= 0 else (*rows[: MOST_ROWS * each], Row("", f"And {left_out} more."))


def _weight(finding: Finding) -> str:
    return "waived" if finding.waived else finding.level


def levels(findings: Iterable[Finding]) -> str:
    """How many findings count, by level, the worst first: `1 high, 2 medium`; and how many are waived."""
    counts = Counter(map(_weight, findings))
    return ", ".join(f"{counts[word]} {word}" for word in ("high", "medium", "low", "waived") if counts[word])


def located(place: Place) -> str:
    """The path, with file and line where they are known, and with the path there where the file sets the field for one
    environment."""
    line = f"{place.file}:{place.line}" if place.line else place.file
    where = ", ".join(filter(None, [place.origin, line]))
    return f"{place.path} ({where})" if place.path and where else place.path if place.path else where


# --- sections


def _summary(report: Report) -> Iterator[Item]:
    yield Item(report.headline)
    found = levels(report.findings)
    yield Item(f"Outcome: {report.outcome.value}{f' ({found})' if found else ''}.")
    names = {"experiment": report.experiment, "environment": report.environment}
    said = [f"{word} {name}" for word, name in names.items() if name]
    if said:
        released = f", by release {report.release}" if report.release else ""
        yield Item(f"It is the {' in the '.join(said)}{released}.")


def _effect(effect: Effect) -> Item:
    return Item(effect.sentence, _most_rows([row for cause in effect.causes for row in _cause(cause)], each=2))


def _cause(cause: Change) -> Iterator[Row]:
    yield Row("cause", located(cause.place), verbatim=True)
    yield _changed(cause.before, cause.after, LONGEST)


def _changed(before: Any, after: Any, longest: int) -> Row:
    return Row("change", f"{shown(before, longest)} → {shown(after, longest)}", verbatim=True)


def _finding(finding: Finding) -> Item:
    rows = [
        Row("object", finding.object, verbatim=True),
        *_where(finding),
        *_values(finding),
        Row("why", finding.why),
        Row("fix", finding.fix),
        Row("finding", finding.fingerprint, verbatim=True),
        *([Row("waived", "A waiver of the experiment accepts it.")] if finding.waived else []),
    ]
    return Item(finding.title, tuple(row for row in rows if row.text), finding.level, finding.code)


def _where(finding: Finding) -> Iterator[Row]:
    """The field, and the place that causes it where that is another one."""
    if finding.place is None or finding.place.path != finding.field:
        yield Row("field", finding.field, verbatim=True)
    if finding.place is not None:
        label = "field" if finding.place.path == finding.field else "cause"
        yield Row(label, located(finding.place), verbatim=True)


JUDGED = (Category.limits, Category.capacity)
"""Categories of findings about what is wanted, whatever was there before."""


def _values(finding: Finding) -> Iterator[Row]:
    """What changes, or the value that is judged. What is about no field has no value: the title says it."""
    if finding.category in JUDGED:
        yield Row("value", "" if finding.after is None else shown(finding.after), verbatim=True)
    elif (finding.before, finding.after) != (None, None) and (finding.field or finding.place is not None):
        yield _changed(finding.before, finding.after, LONGEST)


def cost_items(cost: Cost) -> Iterator[Item]:
    """The cost in sentences."""
    if cost.unknown:
        yield Item(cost.unknown)
    if cost.before is not None or cost.after is not None:
        yield Item(f"Per hour: {per_hour(cost)}.")
    elif not cost.unknown:
        yield Item("Nothing here has a cost per hour.")
    if cost.total is not None:
        yield Item(f"In all: {cost.total.text}{'' if cost.hours is None else f' for {cost.hours} h'}.")
    if cost.prices_of is not None:
        age = "" if cost.price_age_days is None else f", {counted(cost.price_age_days, 'day')} old"
        yield Item(f"The oldest price is of {cost.prices_of}{age}.")


def per_hour(cost: Cost) -> str:
    """Both sides, and their difference where it is known: `96.00 USD → 128.00 USD (+32.00 USD per hour, +33.3 %)`."""
    missing = "none" if cost.known else "not known"
    before, after = (missing if money is None else money.text for money in (cost.before, cost.after))
    if cost.before is cost.after is None:
        return missing
    percent = "" if cost.percent is None else f", {cost.percent} %"
    change = "" if cost.difference is None else f" ({_signed(cost.difference)} per hour{percent})"
    return f"{before} → {after}{change}"


def _signed(money: Money) -> str:
    return money.text if money.amount < 0 else f"+{money.text}"


BASES = {"cluster": "what the cluster has and holds now", "environment": "the environment's file alone", "none": ""}


def capacity_items(capacity: Capacity) -> Iterator[Item]:
    """Whether the pods fit, in a sentence."""
    rows = [Row("basis", BASES[capacity.basis])] if BASES[capacity.basis] else []
    for lack in capacity.shortages:
        asked = f"{lack.resource}: {lack.missing} missing; {lack.asked} asked, {lack.available} available"
        holders = f"; held by {', '.join(lack.holders)}" if lack.holders else ""
        rows.append(Row("missing", f"{asked}{holders}", verbatim=True))
    yield Item(capacity.sentence, tuple(rows))


def _changes(report: Report) -> Iterator[Block]:
    destructive = [change for change in report.objects if change.destructive]
    yield from _most(destructive, lambda change: _object(change, LONGEST_DESTRUCTIVE), lambda change: change.operation)
    others = [change for change in report.objects if not change.destructive]
    if others:
        items = _most(others, lambda change: _object(change, LONGEST), lambda change: change.operation)
        yield Fold(f"Further changes ({counted(len(others), 'object')})", tuple(items))


def _object(change: ObjectChange, longest: int) -> Item:
    fields = [
        Row("", f"{field.path}: {shown(field.before, longest)} → {shown(field.after, longest)}", verbatim=True)
        for field in change.fields
    ]
    rows = [*_most_rows(fields)]
    if not change.fields_known:
        rows.append(Row("", "The preview does not say which fields differ."))
    return Item(f"{change.operation} {change.kind} {change.name}", tuple(rows))


STATES = {"applies": "applies", "void": "is void", "expired": "has expired", "refused": "is refused"}


def _waiver(use: WaiverUse) -> Item:
    why = f": {use.why}" if use.why else "."
    rows = (
        Row("finding", use.fingerprint, verbatim=True),
        Row("owner", f"{use.owner}, until {use.until}", verbatim=True),
        Row("reason", use.reason, verbatim=True),
    )
    return Item(f"The waiver of {use.code} {STATES[use.state]}{why}", rows)


def _message(message: EngineMessage) -> Item:
    """The message with each of its lines on one of its own."""
    about = f"{message.object}: " if message.object else ""
    told = [line.strip() for line in cut(message.text, LONGEST_DESTRUCTIVE).splitlines()]
    shown = [line for line in told if line]
    rows = tuple(Row("", line, verbatim=True) for line in shown[1:])
    return Item(f"{message.severity}: {about}{''.join(shown[:1])}", rows)


def _left_out(report: Report) -> Iterator[Block]:
    yield from _or_none(_most(report.not_checked, _not_checked), "Nothing was left out.")
    if report.limits:
        yield Item(report.limits)


def _not_checked(part: NotChecked) -> Item:
    return Item(f"{part.what}: {part.reason}" if part.what else part.reason)


def _or_none(blocks: Iterable[Block], otherwise: str) -> tuple[Block, ...]:
    found = tuple(blocks)
    return found if found else (Item(otherwise),)


# --- several stacks

COLUMNS = ("stack", "what happens", "outcome", "findings", "cost per hour", "capacity")
MOST_FILES = 5
"""Files that are named for a stack; the JSON has all of them."""
FITS = {
    "now": "fits now",
    "later": "fits when others finish",
    "never": "never fits",
    "unknown": "not known",
    "unchanged": "unchanged",
}


def documents(review: Review) -> list[list[Section]]:
    """The documents in the order in which they are read; the first section of each has its title."""
    each = [*map(sections, review.stacks)]
    return each if len(each) == 1 and review.selection is None else [_overview(review), *each]


def weighs(report: Report) -> bool:
    """True if the report of the stack is not to be folded: something is destroyed, or there is something to be said."""
    return report.outcome in (Outcome.failed, Outcome.findings) or any(change.destructive for change in report.objects)


def _overview(review: Review) -> list[Section]:
    chosen = review.selection
    found = levels(finding for report in review.stacks for finding in report.findings)
    outcome = Item(f"Outcome: {review.outcome.value}{f' ({found})' if found else ''}.")
    first = [*_without_preview(review), outcome]
    made = [Section(f"Review of {counted(len(review.stacks), 'stack')}", tuple(first))]
    if review.stacks:
        made.append(Section("Stacks", (Table((COLUMNS, *map(_stack_row, review.stacks))),)))
    if chosen is not None:
        made.append(Section(f"Touched since {chosen.since}", tuple(_touched(chosen))))
    if len(review.stacks) > 1:
        made.append(Section("Cost in sum", tuple(cost_items(review.cost))))
    return bounded(made)


def _without_preview(review: Review) -> Iterator[Item]:
    """What is said of stacks that are gone, and of a review of no stack: first of all, since no report is of them."""
    if review.selection is None:
        return
    since, removed = review.selection.since, review.selection.removed
    yield from (Item(gone(stack)) for stack in removed)
    if not review.stacks:
        yield Item(f"No {'other ' if removed else ''}stack is touched by what changed since {since}.")


def _touched(chosen: Selection) -> Iterator[Block]:
    """Which files touch which stack."""
    if chosen.touched:
        rows = ((stack, list_names(files, MOST_FILES)) for stack, files in chosen.touched.items())
        yield Table((("stack", "changed files"), *rows))
    yield Item(f"The change began at the commit {chosen.base}.")


def gone(stack: str) -> str:
    """What is said of a stack whose file of config is gone."""
    why = f"The file of config of the stack {stack} is gone, so there is no preview of it"
    return f"{why}: its resources stay in the cluster until `pulumi destroy -s {stack}`."


def _stack_row(report: Report) -> tuple[str, ...]:
    found = levels(report.findings)
    return (
        report.stack,
        report.headline,
        report.outcome.value,
        found if found else "none",
        per_hour(report.cost),
        FITS[report.capacity.verdict],
    )
