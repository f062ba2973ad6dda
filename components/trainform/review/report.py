"""The report of a review: the parts put together, in an order that depends on nothing but what they say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainform.check import CheckedJob
from trainform.check_platform import CheckedPlatform
from trainform.errors import MASK
from trainform.review.capacity import capacity_of
from trainform.review.changes import object_changes, role_changes
from trainform.review.context import Context
from trainform.review.cost import cost_of
from trainform.review.effects import effects
from trainform.review.findings.table import FINDERS
from trainform.review.headline import headline
from trainform.review.limits import job_findings, platform_findings, sentence, waiver_uses
from trainform.review.live_facts import live_facts
from trainform.review.model import EngineMessage, Finding, Level, NotChecked, Outcome, Report
from trainform.review.policies import policy_findings
from trainform.review.preview import UNKNOWN, Message, Preview, Step
from trainform.secret_text.search import masked

SEVERITIES = ("info", "warning", "error")
MOST_PATHS = 5
Checked = CheckedJob | CheckedPlatform | None
"""The experiment in its environment, or the environment alone for its own stack; None where their files cannot be read."""


def build_report(context: Context, checked: Checked = None, left_out: Iterable[NotChecked] = ()) -> Report:
    """The report on all that was read. checked: the stack's files as they are now. left_out: what could not be read, with the reason."""
    preview = context.preview
    job = checked.job if isinstance(checked, CheckedJob) else None
    found = _findings(context, checked)
    not_checked = [*left_out, *_not_checked(context, checked)]
    happens = list(effects(context))
    cost = cost_of(context)
    return Report(
        stack=context.stack,
        environment=_environment(context, checked),
        experiment=_experiment(context, checked),
        outcome=_outcome(preview, found, not_checked),
        headline=_headline(preview, headline(context, happens, [each for each in found if not each.waived], cost)),
        effects=happens,
        findings=found,
        cost=cost,
        capacity=capacity_of(context),
        roles=list(role_changes(context)),
        objects=list(object_changes(context)),
        live=[] if context.live is None else list(live_facts(context.live)),
        waivers=[] if job is None else list(waiver_uses(job, context.today)),
        not_checked=list(dict.fromkeys(not_checked)),
        messages=[_message(message) for message in preview.messages],
        masked=preview.masked,
    )


# --- findings


def _findings(context: Context, checked: Checked) -> list[Finding]:
    """All findings, the worst first. What a rule and the policy of the same name find in the same place is one finding."""
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


def _order(finding: Finding) -> tuple[Any, ...]:
    return -Level[finding.level], finding.code, finding.object, finding.field, finding.fingerprint


# --- outcome


def _outcome(preview: Preview, found: Iterable[Finding], not_checked: Iterable[NotChecked]) -> Outcome:
    if preview.failed:
        return Outcome.failed
    if any(not finding.waived for finding in found):
        return Outcome.findings
    return Outcome.incomplete if any(True for _ in not_checked) else Outcome.clean


def _headline(preview: Preview, text: str) -> str:
    """The headline; of a preview that failed, why: what it shows is not all that would happen."""
    return f"The preview failed: {sentence(masked(preview.failed, MASK))}" if preview.failed else text


def _message(message: Message) -> EngineMessage:
    return EngineMessage.model_validate({
        "severity": message.severity if message.severity in SEVERITIES else "info",
        "text": masked(message.text.strip(), MASK),
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
    yield from (NotChecked(what="preview", reason=text) for text in context.preview.not_checked)
    yield from (NotChecked(what=job.name, reason=text) for job in context.jobs for text in job.not_checked)
    if context.live is not None:
        yield from (NotChecked(what=what, reason=sentence(why)) for what, why in sorted(context.live.not_read.items()))
    if checked is None or not _judged(checked):
        if not context.preview.policies:
            yield NotChecked(what="limits", reason="Neither the stack's files nor a policy pack were checked here.")
    elif any(not problem.code for problem in checked.problems):
        reason = f"The files have other problems, which `trainform check -s {context.stack}` lists."
        yield NotChecked(what="limits", reason=reason)
    yield from (_not_known(step, paths) for step in context.preview.steps if (paths := [*_unknown(_after(step))]))


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
