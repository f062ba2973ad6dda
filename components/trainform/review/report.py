"""The report of a review: the parts put together, in an order that depends on nothing but what they say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.check import CheckedJob
from trainform.check_platform import CheckedPlatform
from trainform.errors import list_names
from trainform.review.capacity import capacity_of
from trainform.review.changes import object_changes, role_changes
from trainform.review.context import Context
from trainform.review.cost import cost_of
from trainform.review.dependents import dependents, not_read
from trainform.review.effects import effects
from trainform.review.facts import facts_of
from trainform.review.findings.table import FINDERS
from trainform.review.headline import headline
from trainform.review.limits import job_findings, platform_findings, sentence, waiver_uses
from trainform.review.live_facts import live_facts
from trainform.review.model import (
    Capacity,
    Category,
    Cost,
    Effect,
    EngineMessage,
    Finding,
    Level,
    NotChecked,
    Outcome,
    Report,
)
from trainform.review.not_considered import not_considered
from trainform.review.picture.compare import pictures
from trainform.review.policies import packs_of, policy_findings, says_what_ran
from trainform.review.preview import Message, Preview, Step
from trainform.review.stand_ins import UNKNOWN
from trainform.secrets import masked_lines

SEVERITIES = ("info", "warning", "error")
MOST_PATHS = 5
LONGEST_REASON = 400  # characters
LABELS = ("why", "fix", "rule")
"""What the lines of a problem begin with, as trainform prints it."""
UNHANDLED = "an unhandled error occurred"
"""What the engine says of any program that ends with an error, whose own words are messages without a level."""
KNOWN = "known: "  # before the names that may stand in place of a wrong one
ENDS = (".", "!", "?", "…", ":")  # of a sentence, or of a part that goes on
OR_ELSE = "; or, "  # before further ways to mend a problem
_ERROR = re.compile(r"^(error: *)+")
_COUNT = re.compile(  # a line of its own before the problems
    r"[0-9]+ problems?( on .*)?:|(Preview failed: )?[0-9]+ errors? occurred:"
)
_DETAIL = "|"  # before a line of somebody else's below an error
NOT_KNOWN = "What would happen is not known, because the preview failed."
MORE = "What else would happen is not known, because the preview failed."
NOT_REACHED = "It failed, so what it has not reached is not checked."
NO_PACK = "No policy pack ran in the preview"
NO_FILES = "trainform could not read the stack's files"
NO_COST = "{}, so the cost is not known."
NO_CAPACITY = "{}, so it is not known whether the pods fit."
AFTER_FAILURE, NOT_WHOLE = "The preview failed", "The preview is not whole"
OF_WHOLE_PREVIEWS = (Category.cost, Category.capacity)
Checked = CheckedJob | CheckedPlatform | None
"""The experiment in its environment, or the environment alone for its own stack; None where their files cannot be
read."""


def build_report(context: Context, checked: Checked = None, left_out: Iterable[NotChecked] = ()) -> Report:
    """The report on all that was read. checked: the stack's files as they are now. left_out: what could not be read,
    with the reason."""
    not_checked = list(dict.fromkeys([*left_out, *_not_checked(context, checked)]))
    found, happens = _findings(context, checked), list(effects(context))
    says = _of_failure if context.preview.failed else _of_whole_preview
    job = checked.job if isinstance(checked, CheckedJob) else None
    return Report(
        stack=context.stack,
        environment=_environment(context, checked),
        experiment=_experiment(context, checked),
        release="" if not isinstance(checked, CheckedJob) or checked.release is None else checked.release,
        dependents=dependents(context),
        roles=list(role_changes(context)),
        objects=list(object_changes(context)),
        pictures=pictures(context),
        live=[] if context.live is None else list(live_facts(context.live, context.environment)),
        waivers=[] if job is None else list(waiver_uses(job, context.today)),
        limits=_judges(context, checked),
        not_checked=not_checked,
        messages=[_message(message) for message in context.preview.messages if not _says_not_checked(message)],
        masked=context.preview.masked,
        **says(context, found, happens, not_checked),
    )


def _of_whole_preview(
    context: Context, found: list[Finding], happens: list[Effect], not_checked: list[NotChecked]
) -> dict[str, Any]:
    known = not context.preview.incomplete
    cost, capacity = (cost_of(context), capacity_of(context)) if known else _unknown_amounts(NOT_WHOLE)
    counted = [finding for finding in found if not finding.waived]
    outcome = Outcome.findings if counted else Outcome.incomplete if not_checked else Outcome.clean
    return {
        "outcome": outcome,
        "headline": headline(context, happens, counted, cost),
        "facts": facts_of(happens, dependents(context), cost, capacity),
        "effects": happens,
        "findings": found,
        "cost": cost,
        "capacity": capacity,
    }


def _unknown_amounts(why: str) -> tuple[Cost, Capacity]:
    """Cost and capacity, where not every step is known."""
    cost = Cost(known=False, unknown=NO_COST.format(why))
    return cost, Capacity(verdict="unknown", sentence=NO_CAPACITY.format(why), basis="none")


def _of_failure(
    context: Context, found: list[Finding], happens: list[Effect], not_checked: list[NotChecked]
) -> dict[str, Any]:
    """What a preview that failed shows is not all that would happen, so no silence in it is an answer."""
    known = [effect for effect in happens if effect.kind != "none"]
    sentence_of_rest = MORE if known else NOT_KNOWN
    cost, capacity = _unknown_amounts(AFTER_FAILURE)
    return {
        "outcome": Outcome.failed,
        "headline": _failed(masked_lines(context.preview.failed)),
        "effects": [*known, Effect(kind="unknown", object=context.stack, sentence=sentence_of_rest)],
        "findings": [finding for finding in found if finding.category not in OF_WHOLE_PREVIEWS],
        "cost": cost,
        "capacity": capacity,
    }


def _failed(text: str) -> str:
    """That the preview failed and why, on one line: the first problem of several, with its place, its reason, and what
    to do first. The reason keeps its first letter, since it may be a path, and what to do has no full stop, since it
    may end with a command."""
    lines = [_ERROR.sub("", line.strip()).removeprefix("* ") for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith(_DETAIL) and not _COUNT.fullmatch(line)]
    if not told:
        return "The preview failed: the engine does not say why."
    if told[0].startswith(UNHANDLED):
        return "The preview failed: the program ended with an error, which the messages of the engine show."
    said = _labelled(told[1:])
    reason = _ended(": ".join([told[0], *([said["why"]] if "why" in said else [])]))
    by = f" by the limit {said['rule'].partition(',')[0]}" if "rule" in said else ""
    fix = said.get("fix", "").partition(OR_ELSE)[0]
    if not fix:
        return f"The preview failed{by}: {reason}"
    stop = "" if reason.endswith(ENDS) else "."
    return f"The preview failed{by}: {reason}{stop} To mend it: {_cut(_as_order(fix))}"


def _as_order(fix: str) -> str:
    """What to do; of a list of what is known, that one of it is to be written."""
    return f"write one of: {fix.removeprefix(KNOWN)}" if fix.startswith(KNOWN) else fix


def _labelled(lines: Iterable[str]) -> dict[str, str]:
    """What the lines below a problem say of it, by their labels. The next problem begins with a line that has none of
    these."""
    parts = (line.partition(": ") for line in lines)
    of_first = itertools.takewhile(lambda part: part[0] in LABELS, parts)
    return {label: text for label, _, text in of_first}


def _ended(text: str) -> str:
    """The text, not too long, with the end of a sentence and its own first letter."""
    return text[:1] + sentence(text)[1:] if len(text) <= LONGEST_REASON else _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


# --- findings


def _findings(context: Context, checked: Checked) -> list[Finding]:
    """All findings, the worst first. What a rule and the policy of the same name find in the same place is one
    finding."""
    found = itertools.chain(*(find(context) for find in FINDERS), _of_limits(context, checked))
    merged = {(finding.code, finding.fingerprint): finding for finding in found}
    for finding in policy_findings(context.preview):
        merged.setdefault((finding.code, finding.fingerprint), finding)
    return sorted(merged.values(), key=_order)


def _of_limits(context: Context, checked: Checked) -> Iterator[Finding]:
    if isinstance(checked, CheckedJob) and checked.job is not None:
        yield from job_findings(checked.job, context.locate, context.today)
    if isinstance(checked, CheckedPlatform) and checked.platform is not None:
        yield from platform_findings(checked.platform, context.locate)


def _judged(checked: Checked) -> bool:
    """True if the rules of the limits have judged what the files say."""
    if isinstance(checked, CheckedJob):
        return checked.job is not None
    return checked is not None and checked.platform is not None


def _has_other_problems(checked: CheckedJob | CheckedPlatform) -> bool:
    """True if the files have problems that no limit has found: the limits have then judged a draft at most."""
    return any(not problem.code for problem in checked.problems)


def _order(finding: Finding) -> tuple[Any, ...]:
    return -Level[finding.level], finding.code, finding.object, finding.field, finding.fingerprint


def _message(message: Message) -> EngineMessage:
    return EngineMessage.model_validate({
        "severity": message.severity if message.severity in SEVERITIES else "info",
        "text": masked_lines(message.text.strip()),
        "object": message.urn.rpartition("::")[2],
    })  # fmt: skip


# --- names


def _environment(context: Context, checked: Checked) -> str:
    if context.environment is not None:
        return context.environment.name
    return "" if checked is None else checked.environment


def _experiment(context: Context, checked: Checked) -> str:
    """The experiment's name; of several, all of them."""
    if isinstance(checked, CheckedJob):
        return checked.name
    records = (job.before if job.after is None else job.after for job in context.jobs)
    names = {str(record.experiment.get("name", "")) for record in records if record is not None}
    return ", ".join(sorted(names - {""}))


# --- what was not checked


def _not_checked(context: Context, checked: Checked) -> Iterator[NotChecked]:
    """What the preview, the cluster and the files do not say."""
    if context.preview.failed:
        yield NotChecked(what="preview", reason=NOT_REACHED)
    yield from (NotChecked(what="preview", reason=text) for text in context.preview.not_checked)
    for message in filter(_says_not_checked, context.preview.messages):  # of the preflight
        what, _, reason = message.text.removeprefix(defaults.NOT_CHECKED).partition(": ")
        yield NotChecked(what=what, reason=sentence(reason))
    yield from (NotChecked(what=job.name, reason=text) for job in context.jobs for text in job.not_checked)
    if context.live is not None:
        yield from (NotChecked(what=what, reason=sentence(why)) for what, why in sorted(context.live.not_read.items()))
    yield from not_read(context)
    yield from (NotChecked(what="capacity", reason=reason) for reason in not_considered(context))
    if checked is None or not _judged(checked):
        if defaults.POLICY_PACK not in packs_of(context.preview):
            yield NotChecked(what="limits", reason=_not_judged(context.preview))
    elif _has_other_problems(checked):
        reason = f"The files have other problems, which `trainform check -s {context.stack}` lists."
        yield NotChecked(what="limits", reason=reason)
    yield from (_not_known(step, paths) for step in context.preview.steps if (paths := [*_unknown(_after(step))]))


def _says_not_checked(message: Message) -> bool:
    return message.text.startswith(defaults.NOT_CHECKED)


def _not_judged(preview: Preview) -> str:
    """Why nobody has checked the limits, although the files could not be read either."""
    if not says_what_ran(preview):
        return f"The preview does not say whether a policy pack ran, and {NO_FILES}."
    packs = packs_of(preview)
    ran = f"Only other policy packs ran in the preview ({list_names(packs)})" if packs else NO_PACK
    return f"{ran}, and {NO_FILES}: nothing has checked the limits of the environment."


def _judges(context: Context, checked: Checked) -> str:
    """Who has checked the limits of the environment, as a sentence; empty if nobody has."""
    packs = packs_of(context.preview)
    if checked is None or not _judged(checked) or _has_other_problems(checked):
        alone = f"The limits of the environment were checked by the policy pack {defaults.POLICY_PACK} alone."
        return alone if defaults.POLICY_PACK in packs else ""
    said = (
        f"The limits of the environment {checked.environment} were checked by trainform itself, in the stack's files."
    )
    if not says_what_ran(context.preview):
        return said
    return f"{said} The policy packs that ran in the preview: {list_names(packs)}." if packs else f"{said} {NO_PACK}."


def _after(step: Step) -> Mapping[str, Any]:
    return {} if step.new is None else step.new.inputs


def _not_known(step: Step, paths: list[str]) -> NotChecked:
    more = f" and {len(paths) - MOST_PATHS} more" if len(paths) > MOST_PATHS else ""
    return NotChecked(
        what=f"{step.kind} {step.name}",
        reason=f"Known only at `pulumi up`: {', '.join(paths[:MOST_PATHS])}{more}.",
    )


def _unknown(value: Any, path: str = "") -> Iterator[str]:
    """The paths of the values that the engine does not know yet."""
    if value == UNKNOWN:
        yield path
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _unknown(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _unknown(part, f"{path}[{index}]")
