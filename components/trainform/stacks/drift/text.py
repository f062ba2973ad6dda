"""The report of drift in sentences and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trainform.cluster.live_drift import writer
from trainform.console.sections import Item, Row, Section, Table, bounded, counted, shown
from trainform.stacks.drift.report_model import DriftReport, FieldDrift, ObjectDrift, Outcome, StackDrift

COLUMNS = ("stack", "revision", "outcome", "changed", "gone", "anew", "others")
"""In 80 columns, with a stack of 25 letters."""
UNKNOWN = "?"
STATES = ("changed", "gone", "made anew")
REPLACED = "The job was made anew, so its pods have started again, or wait to start."
WAY_BACK = (
    "To keep a change, write it into the files and run `pulumi up`. To put back what was deployed, run the command "
    "below. It applies the files as they are now. A plain `pulumi preview` compares with the state and does not show "
    "changes made outside Pulumi, and `pulumi preview --refresh` may end with a conflict of field managers."
)


REMOVED = (
    "`pulumi up` leaves these fields, with one exception: where it changes an object, it removes the fields whose "
    "manager begins with `kubectl` (labels and annotations too). To keep one, write it into the files."
)


def documents(report: DriftReport) -> list[list[Section]]:
    """Return one document for one stack; for several, a table and a document for each stack with drift."""
    if len(report.stacks) == 1:
        return [_stack(report.stacks[0], report.read_at)]
    return [_summary(report), *(_stack(stack, report.read_at) for stack in report.stacks if stack.objects)]


def _summary(report: DriftReport) -> list[Section]:
    without = [stack for stack in report.stacks if stack.outcome is not Outcome.in_sync and not stack.objects]
    return bounded([
        Section(f"Drift of {len(report.stacks)} stacks", (Item(f"Outcome: {report.outcome.value}."),)),
        Section("Stacks", (Table((COLUMNS, *map(_row, report.stacks))),)),
        Section("Not compared", _group_by_sentence((sentence,
                    stack.stack) for stack in without for sentence in _not_compared(stack))),
        Section("Notes", _group_by_sentence((note, stack.stack) for stack in without for note in stack.notes)),
    ])  # fmt: skip


def _group_by_sentence(sentences: Iterable[tuple[str, str]]) -> tuple[Item, ...]:
    """Return each sentence once, with its stacks."""
    found = defaultdict[str, list[str]](list)
    for sentence, stack in sentences:
        found[sentence].append(stack)
    return tuple(Item(sentence, (Row("", ", ".join(stacks), verbatim=True),)) for sentence, stacks in found.items())


def _not_compared(stack: StackDrift) -> Iterator[str]:
    return (f"{each.what}: {each.reason}." for each in stack.not_compared)


def _row(stack: StackDrift) -> tuple[str, ...]:
    counts = [sum(each.state == state for each in stack.objects) for state in STATES]
    others = sum(len(each.others) for each in stack.objects)
    known = stack.compared > 0 or bool(stack.objects)
    revision = stack.revision if stack.revision else "none" if known else UNKNOWN
    numbers = (str(count) if known else UNKNOWN for count in (*counts, others))
    return (stack.stack, revision, stack.outcome.value, *numbers)


def _stack(stack: StackDrift, read_at: str) -> list[Section]:
    drifted = [each for each in stack.objects if each.state != "as deployed"]
    others = [each for each in stack.objects if each.others]
    commands = tuple(Row("", command, verbatim=True) for command in stack.commands)
    return bounded([
        Section(f"Drift of {stack.stack}", (Item(_outcome(stack, drifted)),)),
        Section("Not as deployed", tuple(Item(object_sentence(each, stack),
                    tuple(field_rows(each.fields, read_at))) for each in drifted)),
        Section("To put it back", (Item(WAY_BACK, commands),) if commands else ()),
        Section("Fields of others", (*([Item(REMOVED)] if others else []),
                *(Item(f"{each.kind} {each.name} has fields of others.",
                        tuple(field_rows(each.others, read_at))) for each in others))),
        Section("Not compared", tuple(map(Item, _not_compared(stack)))),
        Section("Notes", tuple(map(Item, stack.notes))),
    ])  # fmt: skip


def _outcome(stack: StackDrift, drifted: list[ObjectDrift]) -> str:
    if stack.outcome is Outcome.not_deployed:
        return "Not deployed."
    if not stack.compared:
        return f"Outcome: {stack.outcome.value}."
    objects = counted(stack.compared, "object")
    if not drifted:
        return f"Outcome: {stack.outcome.value}. {objects} compared, and nothing differs from what was deployed."
    return f"Outcome: drift. {objects} compared, {len(drifted)} of them {_are(len(drifted))} not as deployed."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def object_sentence(each: ObjectDrift, stack: StackDrift) -> str:
    """Return a sentence about the change. An object of an environment's own stack may never have existed."""
    subject = f"{each.kind} {each.name}"
    by = f" by the manager {each.manager}" if each.manager else ""
    if each.deleting:
        return f"{subject} is being deleted since {each.deleting}."
    if each.state == "gone":
        more = ", by its `ttl`" if each.is_job else ""
        other = "by an `up` that ended half way" if stack.experiment else "no `pulumi up` has made it yet"
        return f"{subject} is not in the cluster: it was deleted by hand{more}, or {other}."
    if each.state == "made anew" and not stack.experiment:
        return (
            f"Nothing in {subject} is written by trainform: it was deleted and made anew{by} at {each.created}, or no "
            "`pulumi up` has written it yet."
        )
    if each.state == "made anew":
        return (
            f"{subject} was deleted and made anew{by} at {each.created}: nothing in it is written by trainform."
            f"{f' {REPLACED}' if each.is_job else ''}"
        )
    return f"{subject} has {counted(len(each.fields), 'field')} that {_are(len(each.fields))} not as deployed."


def field_rows(fields: list[FieldDrift], read_at: str) -> Iterator[Row]:
    """Yield a line for each field: the deployed value, the live value, and the last writer."""
    for field in fields:
        who = writer(field.manager, field.written, read_at)
        was = "" if field.was is None and field.now is not None else f"was {shown(field.was)}, "
        yield Row("", f"{field.path}: {was}is {shown(field.now)} ({who})", verbatim=True)
