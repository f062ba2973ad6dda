"""A report as sections, the same for every form that people read: a summary, at most 12 lines for a usual change, then
the details. Of several stacks an overview stands first, then the stacks with something to read, the worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainform.errors import list_names
from trainform.review import model
from trainform.review.forms.sections import Block, Item, Row, Section, Table, below, bounded, counted, cut, each, shown
from trainform.review.model import Category, Finding, Outcome, Report

MOST_CAUSES, MOST_FILES = 2, 5  # that a summary names; files of a stack
LONGEST_CAUSE = 60  # characters of a value
DIGEST = len("sha256:") + 12  # characters of an image's digest
LEVELS = ("high", "medium", "low", "waived")
OUTCOMES = (Outcome.failed, Outcome.findings, Outcome.incomplete, Outcome.clean)
OWNER, PLATFORM, LEAD = "the owner of the run", "the platform team", "the lead"
APPROVERS = dict.fromkeys(Category, PLATFORM) | {
    **dict.fromkeys((Category.data, Category.restart, Category.drift, Category.unknown), OWNER),
    Category.cost: LEAD,
}
"""Who has to agree to a high finding, by its category."""
STATES = {"void": "is void", "expired": "has expired", "refused": "is refused"}
FINDINGS = "Findings"


def documents(review: model.Review, *, every: bool = True) -> list[list[Section]]:
    """Return the documents in the order in which they are read: the first section of each is its summary and has its
    title, the others are its details. every: of several stacks also those of which the overview says all."""
    alone = len(review.stacks) == 1 and review.selection is None
    reports = [report for report in by_severity(review.stacks) if alone or every or weighs(report)]
    found = [[summary(report), *details(report)] for report in reports]
    return found if alone else [[overview(review)], *found]


def by_severity(reports: Iterable[Report]) -> list[Report]:
    """Return the reports, the most severe first."""

    def weight(report: Report) -> tuple[int, ...]:
        found = Counter(map(level, report.findings))
        return OUTCOMES.index(report.outcome), *(-found[word] for word in LEVELS), not weighs(report)

    return sorted(reports, key=weight)


def weighs(report: Report) -> bool:
    """Return True if a row of the overview does not say all of the report."""
    return report.outcome is not Outcome.clean or any(effect.kind not in ("keep", "none") for effect in report.effects)


# --- the summary


def summary(report: Report) -> Section:
    """Return the lines from which people decide."""
    facts = (Row(fact.key.capitalize(), f"{fact.number}: {fact.text}" if fact.text else fact.number)
        for fact in report.facts)  # fmt: skip
    waived = {use.fingerprint: f"waived by {use.owner} until {use.until} ({use.reason})" for use in report.waivers
        if use.state == "applies"}  # fmt: skip
    others = [use for use in report.waivers if use.state in STATES]
    failure = [Row("", line, verbatim=True) for line in report.failure]
    blocks = [
        Item(report.headline, (*below([*failure, *_causes(report.effects)]), *facts)),
        *([] if report.origin is None else [Item(report.origin.text)]),
        *each(report.findings, lambda finding: _finding_line(finding, waived.get(finding.fingerprint, "waived"))),
        *(Item(f"Waiver of {use.code} by {use.owner} {STATES[use.state]}: {use.why}") for use in others),
        *_not_checked(report.not_checked),
    ]
    return bounded([Section(f"Review of {cut(report.stack)}: {verdict(report)}", tuple(blocks))])[0]


def verdict(report: Report) -> str:
    """Return the outcome, and who has to agree to it: `findings, the platform team must agree`."""
    high = [finding for finding in report.findings if level(finding) == "high"]
    who = dict.fromkeys(APPROVERS[finding.category] for finding in high)
    return f"{report.outcome.value}, {' and '.join(who)} must agree" if who else report.outcome.value


def level(finding: Finding) -> str:
    """Return the level of a finding, or `waived`."""
    return "waived" if finding.waived else finding.level


def levels(findings: Iterable[Finding]) -> str:
    """Return how many findings there are by level, the worst first: `1 high, 2 medium`."""
    found = Counter(map(level, findings))
    return ", ".join(f"{found[word]} {word}" for word in LEVELS if found[word])


def _causes(effects: Iterable[model.Effect]) -> Iterator[Row]:
    found = {cause.place.path: cause for effect in effects for cause in effect.causes}
    for path, cause in [*found.items()][:MOST_CAUSES]:
        sides = [cause.before, cause.after]
        short = [short_image(str(side)) if _is_image(path, side) else shown(side, LONGEST_CAUSE) for side in sides]
        yield Row("Change", f"{path}: {' → '.join(short if short[0] != short[1] else map(shown, sides))}")
    if len(found) > MOST_CAUSES:
        yield Row("", f"and {counted(len(found) - MOST_CAUSES, 'more field')}")


def _is_image(path: str, value: Any) -> bool:
    return isinstance(value, str) and path.rpartition(".")[2] == "image"


def short_image(image: str) -> str:
    """Return the image without its registry and the end of its digest."""
    name, at, digest = image.rpartition("/")[2].partition("@")
    return f"{name}{at}{digest[:DIGEST]}"


def _finding_line(finding: Finding, waived: str) -> Item:
    where = finding.field if finding.place is None else located(finding.place)
    text = f"{waived}: {finding.title}" if finding.waived else finding.title
    return Item(text, (), finding.level, finding.code, where)


def located(place: model.Place) -> str:
    """Return the path, with file and line where they are known, and with the path there where the file sets the field
    for one environment."""
    line = f"{place.file}:{place.line}" if place.line else place.file
    where = ", ".join(filter(None, [place.origin, line]))
    return f"{place.path} ({where})" if place.path and where else place.path if place.path else where


def _not_checked(parts: Sequence[model.NotChecked]) -> Iterator[Item]:
    if parts:
        count = "" if len(parts) == 1 else f" ({len(parts)} parts)"
        yield Item(f"Not checked{count}: {_reason(parts[0])}")


def _reason(part: model.NotChecked) -> str:
    return f"{part.what}: {part.reason}" if part.what else part.reason


# --- the details


def details(report: Report) -> list[Section]:
    """Return everything that the summary does not say. Empty sections are left out."""
    masked = f"{counted(report.masked, 'secret value')} {'is' if report.masked == 1 else 'are'} masked."
    objects = sorted(report.objects, key=lambda change: not change.destructive)
    about = f"Experiment {report.experiment} in the environment {report.environment}." if report.experiment else ""
    read = f"The cluster was read at {report.read_at}." if report.read_at else ""
    sources = [about, read, report.limits, masked]
    return bounded([
        Section("Effects", tuple(each(report.effects, _effect))),
        Section("Users of what changes", tuple(each(report.dependents, lambda users: Item(users.sentence)))),
        Section(FINDINGS, tuple(each(report.findings, _finding))),
        Section("Cost", tuple(cost_items(report.cost))),
        Section("Capacity", tuple(capacity_items(report.capacity))),
        Section("Objects", tuple(each(objects, _object))),
        Section("Messages of the engine", tuple(each(report.messages, _message))),
        Section("Also not checked", tuple(each(report.not_checked[1:], lambda part: Item(_reason(part))))),
        Section("Sources", tuple(Item(text) for text in sources if text)),
    ])  # fmt: skip


def _effect(effect: model.Effect) -> Item:
    changes = [_changed(located(cause.place), cause.before, cause.after) for cause in effect.causes]
    return Item(effect.sentence, below(changes))


def _changed(path: str, before: Any, after: Any) -> Row:
    return Row("", f"{path}: {shown(before)} → {shown(after)}", verbatim=True)


def _finding(finding: Finding) -> Item:
    return Item(finding.object, tuple(finding_rows(finding)), finding.level, finding.code)


def finding_rows(finding: Finding) -> Iterator[Row]:
    """Yield what the line of a finding does not say."""
    field = finding.field or ("" if finding.place is None else finding.place.path)
    if finding.category in (Category.limits, Category.capacity):  # these judge the new value alone
        yield from [] if finding.after is None else [Row("", f"{field}: {shown(finding.after)}", verbatim=True)]
    elif (finding.before, finding.after) != (None, None):
        yield _changed(field, finding.before, finding.after)
    yield from (Row(label, text) for label, text in (("why", finding.why), ("fix", finding.fix)) if text)
    yield Row("finding", finding.fingerprint, verbatim=True)


def cost_items(cost: model.Cost) -> Iterator[Item]:
    """Yield the cost in sentences."""
    if cost.unknown:
        yield Item(cost.unknown)
    if cost.before is not None or cost.after is not None:
        yield Item(f"Per hour: {per_hour(cost)}.")
    if cost.total is not None:
        yield Item(f"In all: {cost.total.text}{'' if cost.hours is None else f' for {cost.hours} h'}.")
    if cost.prices_of is not None:
        age = "" if cost.price_age_days is None else f", {counted(cost.price_age_days, 'day')} old"
        yield Item(f"The oldest price is of {cost.prices_of}{age}.")


def per_hour(cost: model.Cost) -> str:
    """Return both sides, and their difference: `96.00 USD → 128.00 USD (+32.00 USD per hour, +33.3%)`."""
    missing = "none" if cost.known else "unknown"
    before, after = (missing if money is None else money.text for money in (cost.before, cost.after))
    percent = "" if cost.percent is None else f", {cost.percent}%"
    more = cost.difference
    change = "" if more is None else f" ({more.amount:+.2f} {more.currency} per hour{percent})"
    return f"{missing if cost.before is cost.after is None else f'{before} → {after}'}{change}"


BASES = {"cluster": "what the cluster has and holds now", "none": ""}


def capacity_items(capacity: model.Capacity) -> Iterator[Item]:
    """Yield whether the pods fit, as a sentence, and what is missing."""
    rows = [Row("basis", BASES[capacity.basis])] if BASES[capacity.basis] else []
    for lack in capacity.shortages:
        holders = f"; held by {', '.join(lack.holders)}" if lack.holders else ""
        text = f"{lack.resource}: {lack.missing} missing; {lack.asked} requested, {lack.available} available{holders}"
        rows.append(Row("missing", text, verbatim=True))
    for role in capacity.roles:
        where = f"on {counted(role.nodes, 'node')}; at most {role.largest} {role.resource} free on a node"
        rows.append(
            Row("room", f"{role.role}: {role.fit} of {counted(role.pods, 'pod')} fit now, {where}", verbatim=True)
        )
    yield Item(capacity.sentence, tuple(rows))


def _object(change: model.ObjectChange) -> Item:
    unknown = [] if change.fields_known else [Row("", "The preview does not say which fields differ.")]
    fields = [_changed(field.path, field.before, field.after) for field in change.fields]
    return Item(f"{change.operation} {change.kind} {change.name}", (*below(fields), *unknown))


def _message(message: model.EngineMessage) -> Item:
    about = f"{message.object}: " if message.object else ""
    first, *others = [line.strip() for line in message.text.splitlines() if line.strip()] or [""]
    return Item(f"{message.severity}: {about}{first}", below([Row("", line, verbatim=True) for line in others]))


# --- several stacks

COLUMNS = ("stack", "outcome", "findings", "cost", "queue")


def overview(review: model.Review) -> Section:
    """Return how the stacks compare, and what they cost together."""
    reports = by_severity(review.stacks)
    blocks: list[Block] = [] if review.selection is None else [*_selected(review.selection)]
    blocks += [Table((COLUMNS, *map(_stack_row, reports)))] if reports else []
    if reports and not any(map(weighs, reports)):
        blocks.append(Item("Nothing changes."))
    if len(reports) > 1:
        blocks.append(Item(f"Cost of all stacks per hour: {review.cost.unknown or per_hour(review.cost)}"))
    title = f"Review of {counted(len(reports), 'stack')}: {review.outcome.value}"
    return bounded([Section(title, tuple(blocks))])[0]


def _stack_row(report: Report) -> tuple[str, ...]:
    numbers = {fact.key: fact.number for fact in report.facts}
    found = levels(report.findings)
    ends = (numbers.get(key, "unknown") for key in ("cost", "queue"))
    return report.stack, report.outcome.value, found if found else "none", *ends


def _selected(chosen: model.Selection) -> Iterator[Block]:
    """The stacks that are gone, and which files touch the others."""
    for stack in chosen.removed:
        why = f"The file of the stack {stack} is gone, so it has no preview"
        yield Item(f"{why}: its resources stay in the cluster until `pulumi destroy -s {stack}`.")
    other = "other " if chosen.removed else ""
    count = counted(len(chosen.touched), f"{other}stack") if chosen.touched else f"No {other}stack"
    verb = "are" if len(chosen.touched) > 1 else "is"
    files = (Row("", f"{stack}: {list_names(names, MOST_FILES)}") for stack, names in chosen.touched.items())
    yield Item(f"{count} {verb} touched by the changes since {chosen.since} (commit {chosen.base}).", tuple(files))
    if chosen.unaffected:
        yield Item(f"Not previewed, since their objects do not differ: {list_names(chosen.unaffected)}.")
    for name in chosen.unrecorded:
        line = f"`trainform:environment: {name}` under `config` in stacks/Pulumi.{name}.yaml"
        yield Item(f"The settings of the environment {name} are not reviewed, since it has no stack: write {line}.")
