"""The report of a review: the parts put together, in an order that depends on nothing but their content."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainform import defaults
from trainform.check import CheckedJob
from trainform.check_platform import CheckedPlatform
from trainform.cluster.amounts import resource_names
from trainform.cluster.facts import NO_HOLDERS, LiveFacts, LiveJob, LiveQueue
from trainform.errors import Problem, in_order
from trainform.escaping import escaped
from trainform.releases.evidence import ANOTHER_STACK, NO_RELEASE
from trainform.review.capacity import capacity_of, not_considered
from trainform.review.changes import object_changes
from trainform.review.context import Context
from trainform.review.cost import cost_of
from trainform.review.dependents import dependents, not_read
from trainform.review.effects import FAILED, INCOMPLETE, effects
from trainform.review.facts import facts_of
from trainform.review.findings.table import FINDERS
from trainform.review.headline import headline
from trainform.review.limits import job_findings, platform_findings, sentence, waiver_uses, with_waivers
from trainform.review.model import (
    Capacity,
    Category,
    Cost,
    EngineMessage,
    Finding,
    Level,
    LiveFact,
    NotChecked,
    Outcome,
    Report,
)
from trainform.review.picture.compare import pictures
from trainform.review.policies import packs_of, policy_findings
from trainform.review.preview import Message, Preview, Step
from trainform.review.stand_ins import UNKNOWN
from trainform.secrets import masked_lines
from trainform.spec.environment import Environment

SEVERITIES = ("info", "warning", "error")
MOST_PATHS = 5
MOST_LINES = 20  # of what a failed preview reports
LONGEST_REASON = 400  # characters
NOT_REACHED = "It failed, so what it has not reached is not checked."
NO_FILES = "The stack's files cannot be read, and the preview has no results of the policy pack {}."
OF_WHOLE_PREVIEWS = (Category.cost, Category.capacity)
Checked = CheckedJob | CheckedPlatform | None
"""The experiment in its environment, or the environment alone for its own stack; None if their files cannot be
read."""


def build_report(context: Context, checked: Checked = None, left_out: Iterable[NotChecked] = ()) -> Report:
    """Return the report. checked: the stack's files as they are now. left_out: what could not be read, with the
    reason."""
    preview = context.preview
    ended = FAILED if preview.failed else INCOMPLETE if preview.incomplete else ""
    not_checked = list(dict.fromkeys([*left_out, *_not_checked(context, checked)]))
    found, happens = _findings(context, checked), effects(context)
    first, failure = "", list[str]()
    if preview.failed:
        problems = _why_it_failed(preview, checked)
        first, failure = _failure(preview, problems)
        told = {problem.code for problem in problems} - {NO_RELEASE, ANOTHER_STACK}  # these must be agreed to
        found = [
            each for each in found if each.category not in OF_WHOLE_PREVIEWS and (each.waived or each.code not in told)
        ]
    counted = [finding for finding in found if not finding.waived]
    cost, capacity = _unknown_amounts(ended) if ended else (cost_of(context), capacity_of(context))
    job, users = checked.job if isinstance(checked, CheckedJob) else None, dependents(context)
    return Report(
        stack=context.stack,
        environment=_environment(context, checked),
        experiment=_experiment(context, checked),
        release="" if not isinstance(checked, CheckedJob) or checked.release is None else checked.release,
        origin=context.origin,
        outcome=_outcome(preview, counted, not_checked),
        headline=first if first else headline(context, happens, counted, cost, capacity),
        failure=failure,
        facts=[] if preview.failed else facts_of(happens, users, cost, capacity),
        effects=happens,
        dependents=users,
        findings=found,
        cost=cost,
        capacity=capacity,
        objects=list(object_changes(context)),
        pictures=pictures(context),
        live=[] if context.live is None else list(live_facts(context.live, context.environment)),
        waivers=[] if job is None else list(waiver_uses(job, context.today, found)),
        limits=_judges(context, checked),
        not_checked=not_checked,
        messages=[_message(message) for message in preview.messages if not _is_listed_elsewhere(message, preview)],
        masked=preview.masked,
    )


def _outcome(preview: Preview, counted: list[Finding], not_checked: list[NotChecked]) -> Outcome:
    if preview.failed:
        return Outcome.failed
    return Outcome.findings if counted else Outcome.incomplete if not_checked else Outcome.clean


def _unknown_amounts(ended: str) -> tuple[Cost, Capacity]:
    """Cost and capacity of a preview that does not have every step."""
    cost = Cost(known=False, unknown=f"the preview {ended}.")
    room = f"The preview {ended}, so it is unknown whether the pods fit."
    return cost, Capacity(verdict="unknown", sentence=room, basis="none")


def _why_it_failed(preview: Preview, checked: Checked) -> list[Problem]:
    """The problems of the stack's files, if the program ended with them."""
    problems = [] if checked is None else in_order(checked.problems)
    return problems if problems and problems[0].reason in preview.failed else []


def _failure(preview: Preview, problems: Sequence[Problem]) -> tuple[str, list[str]]:
    """The headline of a preview that failed, and the lines that follow: the problems, else the engine's own lines."""
    if problems:
        place, _, *fix = problems[0].lines()
        first = f"{place}: {escaped(str(problems[0].as_dict()['reason']))}"
        lines = [*fix, *(line for problem in problems[1:] for line in problem.lines())]
    else:
        lines = [line.rstrip() for line in masked_lines(preview.failed).splitlines() if line.strip()]
        # a line that only counts or introduces those below it is not the reason
        number = next((number for number, line in enumerate(lines) if not line.endswith(":")), 0)
        first = lines.pop(number).strip().removeprefix("error:").strip() if lines else ""
        first = first if first else "the engine does not report why"
    first = first if len(first) <= LONGEST_REASON else f"{first[: LONGEST_REASON - 1]}…"
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return f"The preview failed: {first}", [*lines[:MOST_LINES], *more]


# --- findings


def _findings(context: Context, checked: Checked) -> list[Finding]:
    """All findings, the worst first. What a rule and the policy of the same name find in the same place is one
    finding."""
    found = itertools.chain(*(find(context) for find in FINDERS), _of_limits(context, checked))
    merged = {(finding.code, finding.fingerprint): finding for finding in found}
    for finding in policy_findings(context.preview):
        merged.setdefault((finding.code, finding.fingerprint), finding)
    job = checked.job if isinstance(checked, CheckedJob) else None
    every = merged.values() if job is None else with_waivers(merged.values(), job, context.today)
    return sorted(every, key=_order)


def _of_limits(context: Context, checked: Checked) -> Iterator[Finding]:
    if isinstance(checked, CheckedJob) and checked.job is not None:
        yield from job_findings(checked.job, context.locate, context.today)
    if isinstance(checked, CheckedPlatform) and checked.platform is not None:
        yield from platform_findings(checked.platform, context.locate)


def _has_other_problems(checked: CheckedJob | CheckedPlatform) -> bool:
    """True if the files have problems that no limit reports: the limits have then judged a draft at most."""
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


# --- what the cluster reports


def live_facts(live: LiveFacts, environment: Environment | None) -> Iterator[LiveFact]:
    """A sentence for each job and each queue that was read."""
    names = resource_names(environment)
    if live.jobs is not None:
        yield from (LiveFact(object=job.name, sentence=_job(job, live.read_at)) for job in live.jobs)
    if live.queues is not None and NO_HOLDERS not in live.not_read:
        yield from (LiveFact(object=queue.name, sentence=_queue(queue, names)) for queue in live.queues)


def _job(job: LiveJob, read_at: str) -> str:
    pods = ", ".join(f"{count} {phase}" for phase, count in sorted(job.pods.items()) if count)
    since = f", and its first pod has run since {job.started}" if job.started else ""
    return f"At {read_at} the job {job.name} is {job.phase}{since}; pods: {pods if pods else 'none'}."


def _queue(queue: LiveQueue, names: Mapping[str, str]) -> str:
    if not queue.holders:
        return f"In the queue {queue.name} no job holds anything."
    held = "; ".join(f"{job} holds {_amounts(amounts, names)}" for job, amounts in sorted(queue.holders.items()))
    return f"In the queue {queue.name}: {held}."


def _amounts(amounts: Mapping[str, str], names: Mapping[str, str]) -> str:
    return ", ".join(f"{amount} {names.get(resource, resource)}" for resource, amount in sorted(amounts.items()))


# --- what was not checked


def _not_checked(context: Context, checked: Checked) -> Iterator[NotChecked]:
    """What the preview, the cluster and the files do not say."""
    if context.preview.failed:
        yield NotChecked(what="preview", reason=NOT_REACHED)
    yield from (NotChecked(what="preview", reason=text) for text in context.preview.not_checked)
    for message in filter(_is_not_checked, context.preview.messages):
        yield NotChecked(what="preflight", reason=sentence(message.text.removeprefix(defaults.NOT_CHECKED)))
    yield from (NotChecked(what=job.name, reason=text) for job in context.jobs for text in job.not_checked)
    if context.live is not None:
        yield from (NotChecked(what=what, reason=sentence(why)) for what, why in sorted(context.live.not_read.items()))
    yield from not_read(context)
    yield from (NotChecked(what="capacity", reason=reason) for reason in not_considered(context))
    if not _are_judged(checked):
        if defaults.POLICY_PACK not in packs_of(context.preview):
            yield NotChecked(what="limits", reason=NO_FILES.format(defaults.POLICY_PACK))
    elif checked is not None and _has_other_problems(checked):
        reason = f"The files have other problems, which `trainform check -s {context.stack}` lists."
        yield NotChecked(what="limits", reason=reason)
    yield from (_not_known(step, paths) for step in context.preview.steps if (paths := [*_unknown(_after(step))]))


def _is_not_checked(message: Message) -> bool:
    """True for a message of the preflight about something that it could not check."""
    return message.text.startswith(defaults.NOT_CHECKED)


def _is_listed_elsewhere(message: Message, preview: Preview) -> bool:
    return _is_not_checked(message) or message.text.strip() == preview.failed


def _are_judged(checked: Checked) -> bool:
    """True if the rules of the limits have judged the files."""
    return checked is not None and (checked.job if isinstance(checked, CheckedJob) else checked.platform) is not None


def _judges(context: Context, checked: Checked) -> str:
    """Who has checked the limits of the environment, as a sentence; empty if they are not checked."""
    by_files = checked is not None and _are_judged(checked) and not _has_other_problems(checked)
    judges = [
        *(["trainform in the stack's files"] if by_files else []),
        *([f"the policy pack {defaults.POLICY_PACK}"] if defaults.POLICY_PACK in packs_of(context.preview) else []),
    ]
    return f"The limits of the environment were checked by {' and '.join(judges)}." if judges else ""


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
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _unknown(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _unknown(part, f"{path}[{index}]")
