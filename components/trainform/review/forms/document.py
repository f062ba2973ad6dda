"""A report as sections of items, the same for every form that people read: one home for what is said, and in which order."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

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
    Picture,
    Place,
    Report,
    RoleChange,
    RoleFacts,
    WaiverUse,
)
from trainform.review.stand_ins import CHANGED_MASK, MASKED, UNKNOWN

LONGEST, LONGEST_DESTRUCTIVE = 120, 1000
"""Characters of a value that are shown: a longer one is cut, and its length is said. What is lost for good is shown at more length."""
LONGEST_SENTENCE = 2000
MOST_ITEMS, MOST_ROWS = 500, 200
"""Items of a section and rows of an item that are shown: nobody reads more. What else there is, is counted by what it does; the JSON has all of it."""
MOST_ITEMS_IN_ALL, FEWEST_ITEMS = 10_000, 50
"""Of many stacks, the items of one section in all of them together, and those of a stack that are shown in any case: a page of more opens too slowly."""
NOT_SET = "not set"
NONE_REACHED = "None in what the preview has reached before it failed."
Thing = TypeVar("Thing")
_STAND_INS = frozenset({MASKED, CHANGED_MASK, UNKNOWN})


@dataclasses.dataclass(frozen=True)
class Row:
    """A line below an item. label: one of our words, "" for none. text: a sentence, or a value or path to be shown as it is (`verbatim`)."""

    label: str
    text: str
    verbatim: bool = False


@dataclasses.dataclass(frozen=True)
class Item:
    """A sentence with rows below it. level: of a finding, "" for anything else. code: the name of its kind."""

    text: str
    rows: tuple[Row, ...] = ()
    level: str = ""
    code: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """Cells by row; the first row has the names of the columns."""

    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Fold:
    """Items that a form may hide behind their title: nothing is lost for good by them."""

    title: str
    items: tuple[Item, ...]


@dataclasses.dataclass(frozen=True)
class Drawing:
    """The picture of a job, for forms that can show one; a terminal cannot."""

    picture: Picture


Block = Item | Table | Fold | Drawing


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the report. The first one has the report's title."""

    title: str
    blocks: tuple[Block, ...]


def share(stacks: int) -> int:
    """The items of a section that are shown of each of so many stacks."""
    return MOST_ITEMS if stacks == 0 else min(MOST_ITEMS, max(FEWEST_ITEMS, MOST_ITEMS_IN_ALL // stacks))


def sections(report: Report, most: int = MOST_ITEMS) -> list[Section]:
    """The report in the order in which it is read. A section that says nothing is left out, but for those whose silence would be a claim. most: items
    of a section that are shown."""
    none = NONE_REACHED if report.outcome is Outcome.failed else "None."
    made = [
        Section(f"Review of {report.stack}", tuple(_summary(report))),
        Section("What happens", _or_none(_most(most, report.effects, _effect, lambda effect: effect.kind), "Nothing changes.")),
        Section("Who uses what changes", tuple(_most(most, report.dependents, lambda users: Item(users.sentence)))),
        Section("Findings", _or_none(_most(most, report.findings, _finding, _weight), none)),
        Section("Cost", tuple(cost_items(report.cost))),
        Section("Capacity", tuple(capacity_items(report.capacity))),
        Section("Changes", _or_none(_changes(report, most), none)),
        Section("Picture", tuple(map(Drawing, report.pictures))),
        Section("In the cluster", tuple(_most(most, report.live, lambda fact: Item(fact.sentence)))),
        Section("Waivers", tuple(_most(most, report.waivers, _waiver, lambda use: use.state))),
        Section("Messages of the engine", tuple(_most(most, report.messages, _message, lambda message: message.severity))),
        Section("Not checked", tuple(_left_out(report, most))),
        Section("Secrets", (Item(f"{counted(report.masked, 'secret value')} {'is' if report.masked == 1 else 'are'} masked."),)),
    ]  # fmt: skip
    return bounded(made)


def bounded(made: Iterable[Section]) -> list[Section]:
    """The sections that say something, without texts that nobody reads to their end."""
    return [Section(cut(part.title), tuple(map(_bounded, part.blocks))) for part in made if part.blocks]


def _bounded(block: Block) -> Block:
    """The block with the beginnings of long texts: a preview may hold names of any length."""
    match block:
        case Table():
            return Table(tuple(tuple(cut(cell, LONGEST_SENTENCE) for cell in row) for row in block.rows))
        case Fold():
            return Fold(block.title, tuple(map(_bounded_item, block.items)))
        case Item():
            return _bounded_item(block)
        case Drawing():
            return block


def _bounded_item(item: Item) -> Item:
    rows = tuple(dataclasses.replace(row, text=cut(row.text, 2 * LONGEST_SENTENCE)) for row in item.rows)
    return dataclasses.replace(item, text=cut(item.text, LONGEST_SENTENCE), code=cut(item.code), rows=rows)


def _most(
    most: int, things: Sequence[Thing], item: Callable[[Thing], Item], kind: Callable[[Thing], str] | None = None
) -> Iterator[Item]:
    """An item for each of the first things, and how many others there are. kind: a word by which they are counted."""
    yield from map(item, things[:most])
    others = things[most:]
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


def shown(value: Any, longest: int = LONGEST) -> str:
    """The value as JSON on one line, cut where it is long; what stands for a value that is not shown stays as it is."""
    if value is None:
        return NOT_SET
    if isinstance(value, str) and value in _STAND_INS:
        return value
    return cut(json.dumps(value, ensure_ascii=False, sort_keys=True), longest)


def cut(text: str, longest: int = LONGEST) -> str:
    """The beginning of a long text, with the number of characters of the whole."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def located(place: Place) -> str:
    """The path, with file and line where they are known, and with the path there where the file sets the field for one environment."""
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


def _changes(report: Report, most: int) -> Iterator[Block]:
    if report.roles:
        yield Table((("role", "pods", "ranks", "accelerators of a pod", "image"), *map(_role, report.roles[:most])))
    if len(report.roles) > most:
        yield Item(f"And {len(report.roles) - most} more roles.")
    destructive = [change for change in report.objects if change.destructive]
    yield from _most(
        most, destructive, lambda change: _object(change, LONGEST_DESTRUCTIVE), lambda change: change.operation
    )
    others = [change for change in report.objects if not change.destructive]
    if others:
        items = _most(most, others, lambda change: _object(change, LONGEST), lambda change: change.operation)
        yield Fold(f"Further changes ({counted(len(others), 'object')})", tuple(items))


def _role(role: RoleChange) -> tuple[str, ...]:
    before, after = ((None,) * 4 if facts is None else _facts(facts) for facts in (role.before, role.after))
    note = " (new)" if role.before is None else " (removed)" if role.after is None else ""
    return (f"{role.name}{note}", *(_both(old, new) for old, new in zip(before, after, strict=True)))


def _facts(facts: RoleFacts) -> tuple[str, ...]:
    accelerators = ", ".join(f"{count} {kind}" for kind, count in sorted(facts.accelerators.items()))
    return str(facts.replicas), "yes" if facts.ranked else "no", accelerators if accelerators else "none", facts.image


def _both(before: str | None, after: str | None) -> str:
    """A fact before and after; once where it stays, or where the role is there on one side alone."""
    return " → ".join(cut(text) for text in dict.fromkeys((before, after)) if text is not None)


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


def _left_out(report: Report, most: int) -> Iterator[Block]:
    yield from _or_none(_most(most, report.not_checked, _not_checked), "Nothing was left out.")
    if report.limits:
        yield Item(report.limits)


def _not_checked(part: NotChecked) -> Item:
    return Item(f"{part.what}: {part.reason}" if part.what else part.reason)


def _or_none(blocks: Iterable[Block], otherwise: str) -> tuple[Block, ...]:
    found = tuple(blocks)
    return found if found else (Item(otherwise),)


def counted(number: int, noun: str) -> str:
    """The number with its noun: `1 stack`, `0 stacks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
