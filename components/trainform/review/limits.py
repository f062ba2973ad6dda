"""Findings of the environment's limits in the experiment, and the state of its waivers."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Literal

from trainform.console.secrets import masked_line, masked_path
from trainform.console.sections import sentence
from trainform.errors import Problem
from trainform.job.render import RenderedJob
from trainform.job.render_platform import RenderedPlatform
from trainform.review.kinds import fingerprint
from trainform.review.model import Category, Finding, Place, WaiverUse
from trainform.rules.limits.table import BY_CODE, REVIEW_CODES, identity, line, owners, waived, waiver_problems
from trainform.spec.environment import Environment
from trainform.spec.limits import Waiver

LIMIT_SAYS = "The limit of the environment says: {}"
OF_ENVIRONMENT = "environment."
"""What a path begins with that is one of the environment, and not of the experiment."""


def job_findings(job: RenderedJob, locate: Callable[[str], Place], today: datetime.date) -> Iterator[Finding]:
    """Yield the findings of the environment's rules in a job, those that are waived among them."""
    accepted = waived(job.experiment.waivers, job.environment, today)
    explained = {identity(problem): problem for problem in job.problems if problem.code}
    for raw, severity in job.found:
        problem = explained.get(identity(raw), raw)
        place = locate(problem.path)
        yield _finding(problem, severity, job.experiment.name, place, is_waived=identity(problem) in accepted)


def platform_findings(platform: RenderedPlatform, locate: Callable[[str], Place]) -> Iterator[Finding]:
    """Yield the findings of the environment's rules in the objects of its own stack."""
    for problem, severity in platform.found:
        yield _finding(problem, severity, platform.environment.name, locate(f"{OF_ENVIRONMENT}{problem.path}"))


def _finding(problem: Problem, severity: str, name: str, place: Place, *, is_waived: bool = False) -> Finding:
    path = masked_path(place.path)
    return Finding(
        code=problem.code,
        category=Category.limits,
        level="high" if severity == "error" else "medium",  # an error stops `pulumi up`, a warning does not
        object=name,
        field=path,
        after=problem.shown_value,
        title=sentence(problem.reason),
        why=LIMIT_SAYS.format(BY_CODE[problem.code].title),
        fix=sentence(problem.fix),
        place=place.model_copy(update={"path": path}),
        # nothing in an environment's own stack can be waived, so that its problems have no fingerprint
        fingerprint=problem.fingerprint or fingerprint(problem.code, name, path, None, problem.shown_value),
        waived=is_waived,
    )


def with_waivers(found: Iterable[Finding], job: RenderedJob, today: datetime.date) -> Iterator[Finding]:
    """Yield the findings, those that the experiment waives marked. The fix of others ends with the waiver to write."""
    accepted = waived(job.experiment.waivers, job.environment, today)
    for finding in found:
        allowed = owners(finding.code, job.environment) if finding.code in REVIEW_CODES else ()
        if not allowed:
            yield finding
        elif (finding.code, finding.fingerprint) in accepted:
            yield finding.model_copy(update={"waived": True})
        else:
            waiver = line(finding.code, finding.fingerprint, allowed[0])
            agreed = f"Or, if {' or '.join(allowed)} agrees, complete this under `waivers`: {waiver}"
            yield finding.model_copy(update={"fix": f"{finding.fix} {agreed}"})


def waiver_uses(job: RenderedJob, today: datetime.date, findings: Iterable[Finding]) -> Iterator[WaiverUse]:
    """Yield each waiver of the experiment with its state. findings: those of the review."""
    found = {identity(problem) for problem, _ in job.found}
    found |= {(finding.code, finding.fingerprint) for finding in findings}
    for waiver in job.experiment.waivers:
        state, why = _state(waiver, found, job.environment, today)
        yield WaiverUse(
            code=waiver.rule,
            fingerprint=waiver.finding,
            owner=masked_line(waiver.owner),
            until=waiver.until.isoformat(),
            reason=masked_line(waiver.reason),
            state=state,
            why=why,
        )


def _state(
    waiver: Waiver, found: Set[tuple[str, str]], environment: Environment, today: datetime.date
) -> tuple[Literal["applies", "void", "expired", "refused"], str]:
    """Return the state of a waiver, and why it does not apply."""
    refusal = next(waiver_problems([waiver], environment, today), None)
    if refusal is not None:
        return "refused", sentence(refusal.reason)
    if today > waiver.until:
        return "expired", f"Its last day was {waiver.until}."
    if (waiver.rule, waiver.finding) in found:
        return "applies", ""
    others = sorted(finding for code, finding in found if code == waiver.rule)
    if others:
        return "void", f"The finding has changed: {waiver.rule} finds {', '.join(others)} here now."
    return "void", f"{waiver.rule} finds nothing here any more."
