"""The report of a review: the parts put together, in an order that depends on nothing but their content."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from trainform import defaults
from trainform.console.lines import UNKNOWN, escaped
from trainform.console.secrets import masked_lines
from trainform.console.sections import sentence
from trainform.deployed.releases.evidence import ANOTHER_STACK, NO_RELEASE
from trainform.errors import Problem, in_order, list_names
from trainform.job.check import CheckedJob, CheckedPlatform
from trainform.manifests.differences import places_of
from trainform.review import steps
from trainform.review.capacity import capacity_of
from trainform.review.changes import object_changes
from trainform.review.context import Context, Use, User
from trainform.review.cost import cost_of
from trainform.review.effects import FAILED, INCOMPLETE, WORDS, effects
from trainform.review.facts import facts_of
from trainform.review.findings import (
    capacity,
    contract,
    cost,
    data,
    drift,
    environment,
    neighbours,
    promotion,
    restart,
    security,
)
from trainform.review.headline import headline
from trainform.review.limits import job_findings, platform_findings, waiver_uses, with_waivers
from trainform.review.model import (
    Capacity,
    Category,
    Cost,
    Dependents,
    EngineMessage,
    Finding,
    Level,
    NotChecked,
    Outcome,
    Report,
)
from trainform.review.picture import pictures
from trainform.review.policies import packs_of, policy_findings
from trainform.review.preview import Message, Preview
from trainform.review.settings import all_settings, not_compared, stacks_of_other_projects
from trainform.review.shares import Shares, above, shares_of

KINDS = (steps.NAMESPACE, steps.QUEUE, steps.PRIORITY_CLASS, steps.CLAIM)
"""Kinds of the environment's objects that experiments use."""
ENVIRONMENT = "Environment"
OTHERS = "Stacks of other projects are deployed here too, whose files are not in this project: {}."
NOT_READ = "It is unknown whether the experiment of the stack {} uses what changes, since it cannot be read: {}."


def dependents(context: Context) -> list[Dependents]:
    """Return each object of the environment that changes, is replaced or deleted, with the experiments that use it, and
    each environment whose settings start jobs again; nothing for the stack of an experiment."""
    if context.users is None:
        return []
    changed, shares = [], shares_of(context)
    for kind, name in _changing(context):
        stacks = {user.stack: user.experiment for user in context.users if _uses(user, kind, name, shares)}
        named = list_names([f"{experiment} ({stack})" for stack, experiment in stacks.items()])
        used = f"{named} {'uses' if len(stacks) == 1 else 'use'}" if stacks else "no experiment of the project uses"
        sentence = f"{WORDS[kind][0].upper()}{WORDS[kind][1:]} {name}: {used} it."
        changed.append(Dependents(kind=kind, object=name, stacks=stacks, sentence=sentence))
    for settings in all_settings(context):
        name, stacks = settings.after.name, settings.restarted
        if stacks:
            sentence = f"Environment {name}: the next `pulumi up` of {list_names(stacks)} starts the jobs again."
            changed.append(Dependents(kind=ENVIRONMENT, object=name, stacks=stacks, sentence=sentence))
    return changed


def not_read(context: Context) -> Iterator[NotChecked]:
    """Yield experiments that may use what changes, since they cannot be read, and settings that are not compared."""
    kinds = [kind for kind, _ in _changing(context)]
    for user in () if context.users is None else context.users:
        if user.unread and not all(kind == steps.NAMESPACE and user.experiment for kind in kinds):
            yield NotChecked(what="experiments", reason=NOT_READ.format(user.stack, user.unread))
    yield from (NotChecked(what="environment", reason=reason) for reason in not_compared(context))
    others = stacks_of_other_projects(context)
    if others:
        yield NotChecked(what="experiments", reason=OTHERS.format(list_names(others)))


def _uses(user: User, kind: str, name: str, shares: Shares) -> bool:
    """Return True if the stack uses the object: every experiment its namespace, and the queues above its queue."""
    if kind == steps.NAMESPACE and user.experiment:
        return True
    return any(each == kind and name in (used, *above(used, shares)) for each, used in user.uses)


def _changing(context: Context) -> Iterator[Use]:
    """Yield the objects that change for existing experiments, by their names before the change."""
    for kind in KINDS:
        for step in steps.of_kind(steps.others(context), kind):
            if steps.no_longer_kept(step) or steps.action(step) not in ("none", "create"):
                yield kind, steps.name_before(step)


FINDINGS = (data, restart, neighbours, security, contract, cost, capacity, drift, promotion, environment)
"""The modules of findings, a category each."""
MOST_PATHS = 5
MOST_LINES = 20  # of what a failed preview reports
LONGEST_REASON = 400  # characters
NOT_REACHED = "It failed, so what it has not reached is not checked."
NO_FILES = "The stack's files cannot be read, and the preview has no results of the policy pack {}."
OF_WHOLE_PREVIEWS = (Category.cost, Category.capacity)
Checked = CheckedJob | CheckedPlatform | None
"""The experiment in its environment, or the environment of its own stack; None if their files cannot be read."""


def build_report(context: Context, checked: Checked = None, left_out: Iterable[NotChecked] = ()) -> Report:
    """Return the report. checked: the stack's files. left_out: what could not be read, with the reason."""
    preview = context.preview
    ended = FAILED if preview.failed else INCOMPLETE if preview.incomplete else ""
    not_checked = list(dict.fromkeys([*left_out, *_not_checked(context, checked)]))
    found, happens = _findings(context, checked), effects(context)
    first, failure = "", list[str]()
    if preview.failed:
        problems = [] if checked is None else in_order(checked.problems)
        # the program ended with them, or with something else
        problems = problems if problems and problems[0].reason in preview.failed else []
        first, failure = _failure(preview, problems)
        shown = {problem.code for problem in problems} - {NO_RELEASE, ANOTHER_STACK}  # these must be agreed to
        found = [each for each in found if each.category not in OF_WHOLE_PREVIEWS]
        found = [each for each in found if each.waived or each.code not in shown]
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
        read_at="" if context.live is None else context.live.read_at,
        waivers=[] if job is None else list(waiver_uses(job, context.today, found)),
        limits=_judges(context, checked),
        not_checked=not_checked,
        messages=[*_messages(preview)],
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


def _failure(preview: Preview, problems: Sequence[Problem]) -> tuple[str, list[str]]:
    """Return the headline of a preview that failed, and the lines that follow: the problems, else the engine's."""
    if problems:
        place, _, *fix = problems[0].lines()
        first = f"{place}: {escaped(str(problems[0].as_dict()['reason']))}"
        lines = [*fix, *(line for problem in problems[1:] for line in problem.lines())]
    else:
        lines = [line.rstrip() for line in masked_lines(preview.failed).splitlines() if line.strip()]
        # a line that only counts or introduces those below it is not the reason
        number = next((number for number, line in enumerate(lines) if not line.endswith(":")), 0)
        first = lines.pop(number).strip().removeprefix("error:").strip() if lines else ""
        first = first or "the engine does not report why"
    first = first if len(first) <= LONGEST_REASON else f"{first[: LONGEST_REASON - 1]}…"
    more = [f"and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return f"The preview failed: {first}", [*lines[:MOST_LINES], *more]


# --- findings


def _findings(context: Context, checked: Checked) -> list[Finding]:
    """Return all findings, the worst first. A rule and the policy of its name make one finding of a place."""
    found = itertools.chain(*(module.find(context) for module in FINDINGS), _of_limits(context, checked))
    merged = {(finding.code, finding.fingerprint): finding for finding in found}
    for finding in policy_findings(context.preview):
        merged.setdefault((finding.code, finding.fingerprint), finding)
    job = checked.job if isinstance(checked, CheckedJob) else None
    every = merged.values() if job is None else with_waivers(merged.values(), job, context.today)
    return sorted(every, key=lambda each: (-Level[each.level], each.code, each.object, each.field, each.fingerprint))


def _of_limits(context: Context, checked: Checked) -> Iterator[Finding]:
    if isinstance(checked, CheckedJob) and checked.job is not None:
        yield from job_findings(checked.job, context.locate, context.today)
    if isinstance(checked, CheckedPlatform) and checked.platform is not None:
        yield from platform_findings(checked.platform, context.locate)


def _messages(preview: Preview) -> Iterator[EngineMessage]:
    """Yield the messages of the engine that no other part of the report has."""
    for message in preview.messages:
        if not _is_not_checked(message) and message.text.strip() != preview.failed:
            text, name = masked_lines(message.text.strip()), message.urn.rpartition("::")[2]
            yield EngineMessage.model_validate({"severity": message.severity, "text": text, "object": name})


# --- names


def _environment(context: Context, checked: Checked) -> str:
    if context.environment is not None:
        return context.environment.name
    return "" if checked is None else checked.environment


def _experiment(context: Context, checked: Checked) -> str:
    """Return the experiment's name; of several, all of them."""
    if isinstance(checked, CheckedJob):
        return checked.name
    records = (job.before if job.after is None else job.after for job in context.jobs)
    names = {str(record.experiment.get("name", "")) for record in records if record is not None}
    return ", ".join(sorted(names - {""}))


# --- what was not checked


def _not_checked(context: Context, checked: Checked) -> Iterator[NotChecked]:
    """Yield what the preview, the cluster and the files do not have."""
    if context.preview.failed:
        yield NotChecked(what="preview", reason=NOT_REACHED)
    yield from (NotChecked(what="preview", reason=text) for text in context.preview.not_checked)
    for message in filter(_is_not_checked, context.preview.messages):
        yield NotChecked(what="preflight", reason=sentence(message.text.removeprefix(defaults.NOT_CHECKED)))
    yield from (NotChecked(what=job.name, reason=text) for job in context.jobs for text in job.not_checked)
    if context.live is not None:
        yield from (NotChecked(what=what, reason=sentence(why)) for what, why in sorted(context.live.not_read.items()))
    yield from not_read(context)
    capacity = capacity_of(context)
    if (capacity.verdict, capacity.basis) == ("unknown", "cluster"):
        yield NotChecked(what="capacity", reason=capacity.sentence)
    judged = _judged(checked)
    if judged == "draft":
        reason = f"The files have other problems, which `trainform check {context.stack}` lists."
        yield NotChecked(what="limits", reason=reason)
    elif not judged and defaults.POLICY_PACK not in packs_of(context.preview):
        yield NotChecked(what="limits", reason=NO_FILES.format(defaults.POLICY_PACK))
    for step in context.preview.steps:
        paths = [] if step.new is None else places_of(UNKNOWN, {**step.new.inputs})
        if paths:
            reason = f"Known only at `pulumi up`: {list_names(paths, MOST_PATHS)}."
            yield NotChecked(what=f"{step.kind} {step.name}", reason=reason)


def _is_not_checked(message: Message) -> bool:
    """Return True for a message of the preflight about something that it could not check."""
    return message.text.startswith(defaults.NOT_CHECKED)


def _judged(checked: Checked) -> Literal["", "draft", "whole"]:
    """Return what of the files the limits have judged. They judge a draft at most if the files have other problems."""
    if checked is None or (checked.job if isinstance(checked, CheckedJob) else checked.platform) is None:
        return ""
    return "whole" if all(problem.code for problem in checked.problems) else "draft"


def _judges(context: Context, checked: Checked) -> str:
    """Return who has checked the limits of the environment, as a sentence; empty if they are not checked."""
    judges = ["trainform in the stack's files"] if _judged(checked) == "whole" else []
    judges += [f"the policy pack {pack}" for pack in packs_of(context.preview) if pack == defaults.POLICY_PACK]
    return f"The limits of the environment were checked by {' and '.join(judges)}." if judges else ""
