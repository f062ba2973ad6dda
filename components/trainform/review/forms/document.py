"""A report as sections, the same for every form that people read: a summary, at most 12 lines for a usual change, then
the details. Of several stacks an overview stands first, then the stacks with something to read, the worst first."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from trainform.console.sections import Block, Item, Row, Section, Table, bounded, counted, cut, shown, shown_change
from trainform.errors import list_names
from trainform.review import model
from trainform.review.facts import cost_fact
from trainform.review.model import Category, Finding, Outcome, Report

MOST_CAUSES, MOST_FILES, MOST_HOLDERS = 2, 5, 10  # causes in a summary; files of a stack; holders of a resource
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
NOT_CONSIDERED = (
    "An estimate by requests. Not considered: affinity, topology spread, scopes and `limits.*` of quotas, what other "
    "queues are guaranteed, Kueue's flavors and limits of borrowing and lending."
)


def documents(review: model.Review, *, every: bool = True) -> list[list[Section]]:
    """Return the documents in the order in which they are read: the first section of each is its summary and has its
    title, the others are its details. every: of several stacks also those whose row in the overview is complete."""
    alone = len(review.stacks) == 1 and review.selection is None
    reports = [report for report in by_severity(review.stacks) if alone or every or weighs(report)]
    by_stack = [[summary(report), *details(report)] for report in reports]
    return by_stack if alone else [[overview(review)], *by_stack]


def by_severity(reports: Iterable[Report]) -> list[Report]:
    """Return the reports, the most severe first."""

    def weight(report: Report) -> tuple[int, ...]:
        levels = Counter(map(level, report.findings))
        return OUTCOMES.index(report.outcome), *(-levels[word] for word in LEVELS), not weighs(report)

    return sorted(reports, key=weight)


def weighs(report: Report) -> bool:
    """Return True if a report has more than its row of the overview."""
    return report.outcome is not Outcome.clean or any(effect.kind not in ("keep", "none") for effect in report.effects)


# --- the summary


def summary(report: Report) -> Section:
    """Return the lines from which people decide."""
    failure = (Row("", line, verbatim=True) for line in report.failure)
    facts = (Row(fact.key.capitalize(), _fact(fact)) for fact in report.facts)
    blocks = [Item(report.headline, (*failure, *_causes(report.effects), *facts))]
    if report.origin is not None:
        blocks.append(Item(report.origin.text))
    uses = {use.fingerprint: use for use in report.waivers if use.state == "applies"}
    blocks += (_finding_line(finding, uses.get(finding.fingerprint)) for finding in report.findings)
    blocks += (Item(f"Waiver of {use.code} by {use.owner} {STATES[use.state]}: {use.why}")
        for use in report.waivers if use.state in STATES)  # fmt: skip
    if report.not_checked:
        count = "" if len(report.not_checked) == 1 else f" ({len(report.not_checked)} parts)"
        blocks.append(Item(f"Not checked{count}: {_reason(report.not_checked[0])}"))
    return bounded([Section(f"Review of {cut(report.stack)}", tuple(blocks), verdict(report))])[0]


def _fact(fact: model.Fact) -> str:
    return f"{fact.number}: {fact.text}" if fact.text else fact.number


def verdict(report: Report) -> str:
    """Return the outcome, and who has to agree to it: `findings, the platform team must agree`."""
    who = dict.fromkeys(APPROVERS[finding.category] for finding in report.findings if level(finding) == "high")
    return f"{report.outcome.value}, {' and '.join(who)} must agree" if who else report.outcome.value


def level(finding: Finding) -> str:
    """Return the level of a finding, or `waived`."""
    return "waived" if finding.waived else finding.level


def _causes(effects: Iterable[model.Effect]) -> Iterator[Row]:
    causes = {cause.place.path: cause for effect in effects for cause in effect.causes}
    for path, cause in itertools.islice(causes.items(), MOST_CAUSES):
        is_image = path.rpartition(".")[2] == "image"
        short = [short_image(side) if isinstance(side, str) else shown(side) for side in (cause.before, cause.after)]
        change = shown_change(cause.before, cause.after, LONGEST_CAUSE)
        yield Row("Change", f"{path}: {' → '.join(short) if is_image and short[0] != short[1] else change}")
    if len(causes) > MOST_CAUSES:
        yield Row("", f"and {counted(len(causes) - MOST_CAUSES, 'more field')}")


def short_image(image: str) -> str:
    """Return the image without its registry and the end of its digest."""
    name, at, digest = image.rpartition("/")[2].partition("@")
    return f"{name}{at}{digest[:DIGEST]}"


def _finding_line(finding: Finding, use: model.WaiverUse | None) -> Item:
    waived = (
        f"waived by {use.owner} until {use.until} ({use.reason}): " if use else "waived: " if finding.waived else ""
    )
    where = finding.field if finding.place is None else located(finding.place)
    return Item(f"{waived}{finding.title}", (), finding.level, finding.code, where)


def located(place: model.Place) -> str:
    """Return the path, with file and line where they are known, and with the path there where the file sets the field
    for one environment."""
    line = f"{place.file}:{place.line}" if place.line else place.file
    where = ", ".join(filter(None, [place.origin, line]))
    return f"{place.path} ({where})" if place.path and where else place.path or where


def _reason(part: model.NotChecked) -> str:
    return f"{part.what}: {part.reason}" if part.what else part.reason


# --- the details


def details(report: Report) -> list[Section]:
    """Return the sections that the summary does not have, without empty ones."""
    about = f"Experiment {report.experiment} in the environment {report.environment}." if report.experiment else ""
    masked = f"{counted(report.masked, 'secret value')} masked." if report.masked else ""
    read = f"The cluster was read at {report.read_at}." if report.read_at else ""
    sources = [about, read, report.limits, masked]
    objects = sorted(report.objects, key=lambda change: not change.destructive)
    sections: dict[str, Iterable[Item]] = {
        "Effects": (Item(effect.sentence, tuple(map(_cause, effect.causes))) for effect in report.effects),
        "Users of what changes": (Item(users.sentence) for users in report.dependents),
        FINDINGS: map(_finding, report.findings),
        "Cost": _cost(report.cost),
        "Capacity": [_capacity(report.capacity)],
        "Objects": map(_object, objects),
        "Messages of the engine": map(_message, report.messages),
        "Also not checked": (Item(_reason(part)) for part in report.not_checked[1:]),
        "Sources": (Item(text) for text in sources if text),
    }
    return bounded(Section(title, tuple(items)) for title, items in sections.items())


def _cause(cause: model.Change) -> Row:
    return _changed(located(cause.place), cause.before, cause.after)


def _changed(path: str, before: Any, after: Any) -> Row:
    return Row("", f"{path}: {shown_change(before, after)}", verbatim=True)


def _finding(finding: Finding) -> Item:
    """Return the details of a finding, which its line does not have."""
    field = finding.field or ("" if finding.place is None else finding.place.path)
    rows = [Row(label, text) for label, text in (("why", finding.why), ("fix", finding.fix)) if text]
    alone = finding.category in (Category.limits, Category.capacity)  # these judge the new value alone
    if alone and finding.after is not None:
        rows.insert(0, Row("", f"{field}: {shown(finding.after)}", verbatim=True))
    elif not alone and (finding.before, finding.after) != (None, None):
        rows.insert(0, _changed(field, finding.before, finding.after))
    rows.append(Row("finding", finding.fingerprint, verbatim=True))
    return Item(finding.object, tuple(rows), finding.level, finding.code)


def _cost(cost: model.Cost) -> Iterator[Item]:
    """Yield unknown costs and the age of the prices."""
    if cost.unknown:
        yield Item(cost.unknown if cost.known else f"Unknown: {cost.unknown}")
    if cost.prices_of is not None:
        age = "" if cost.price_age_days is None else f", {counted(cost.price_age_days, 'day')} old"
        yield Item(f"The oldest price is of {cost.prices_of}{age}.")


def _capacity(capacity: model.Capacity) -> Item:
    """Return the verdict, the shortages, the room for each role, and what the estimate leaves out."""
    rows = []
    for lack in capacity.shortages:
        holders = f"; held by {list_names(lack.holders, MOST_HOLDERS)}" if lack.holders else ""
        text = f"{lack.resource}: {lack.missing} missing; {lack.asked} requested, {lack.available} available{holders}"
        rows.append(Row("missing", text, verbatim=True))
    for role in capacity.roles:
        fit = f"{role.role}: {role.fit} of {counted(role.pods, 'pod')} fit now, on {counted(role.nodes, 'node')}"
        rows.append(Row("room", f"{fit}; at most {role.largest} {role.resource} free on a node", verbatim=True))
    rows += [Row("", NOT_CONSIDERED)] * (capacity.verdict in ("now", "later", "never"))
    return Item(capacity.sentence, tuple(rows))


def _object(change: model.ObjectChange) -> Item:
    rows = [_changed(field.path, field.before, field.after) for field in change.fields]
    if not change.fields_known:
        rows.append(Row("", "The preview does not say which fields differ."))
    return Item(f"{change.operation} {change.kind} {change.name}", tuple(rows))


def _message(message: model.EngineMessage) -> Item:
    first, *others = [line.strip() for line in message.text.splitlines() if line.strip()] or [""]
    about = f"{message.object}: " if message.object else ""
    return Item(f"{message.severity}: {about}{first}", tuple(Row("", line, verbatim=True) for line in others))


# --- several stacks

COLUMNS = ("stack", "outcome", "findings", "cost", "queue")


def overview(review: model.Review) -> Section:
    """Return a table of the stacks, and their cost together."""
    reports = by_severity(review.stacks)
    blocks: list[Block] = [] if review.selection is None else [*_selected(review.selection)]
    if reports:
        blocks.append(Table((COLUMNS, *map(_stack_row, reports))))
        if not any(map(weighs, reports)):
            blocks.append(Item("Nothing changes."))
    if len(reports) > 1:
        blocks.append(Item(f"Cost of all stacks: {_fact(cost_fact(review.cost))}"))
    title = f"Review of {counted(len(reports), 'stack')}"
    return bounded([Section(title, tuple(blocks), review.outcome.value)])[0]


def _stack_row(report: Report) -> tuple[str, ...]:
    numbers = {fact.key: fact.number for fact in report.facts}
    levels = Counter(map(level, report.findings))
    counts = ", ".join(f"{levels[word]} {word}" for word in LEVELS if levels[word])
    ends = (numbers.get(key, "unknown") for key in ("cost", "queue"))
    return report.stack, report.outcome.value, counts or "none", *ends


def _selected(chosen: model.Selection) -> Iterator[Block]:
    """Yield the stacks without a file, and the files that touch the others."""
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
