"""A promotion, prepared: everything is read and judged, and nothing is written."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from trainform import defaults
from trainform.cluster.live_drift import utc_now
from trainform.deployed.records import live_record
from trainform.deployed.releases.evidence import lacks
from trainform.deployed.releases.gates import Facts, GateResult, judge, waiver_problems
from trainform.deployed.releases.promote import (
    experiment_for_release,
    experiment_of,
    not_of_source,
    origin,
    recorded,
    unpinned,
)
from trainform.deployed.releases.release import GateWaiver, PromotionRecord, Release
from trainform.deployed.releases.release_files import author, read_release
from trainform.deployed.releases.source import Source, read_source
from trainform.deployed.stacks import ProjectStack
from trainform.errors import ClusterError, InputError
from trainform.job.check import CheckedJob, check_experiment, load_experiment
from trainform.job.render import RenderedJob
from trainform.plan.images import without_digest
from trainform.plan.inputs import resolved
from trainform.plan.record import Record
from trainform.spec.release import NOT_WRITTEN, ReleasedExperiment
from trainform.stacks.comparison.compare import Comparison, Version, compare, deployed_version
from trainform.stacks.drift.report import find_drift
from trainform.stacks.drift.report_model import StackDrift

SECONDS = 2.0 * defaults.CONNECT_SECONDS


class PromotionRequest(Struct, frozen=True):
    """The requested promotion. waived: gates, all for one reason. over_rollback: `--over-rollback` is set."""

    experiment: str
    source: ProjectStack
    target: ProjectStack
    waived: Sequence[str] = ()
    reason: str = ""
    over_rollback: bool = False


class PreparedPromotion(Struct, frozen=True):
    """A promotion that is read and judged.

    release: what would be written. before: the release that the target follows; None: the experiment's file. same: that
    has this content already, with its evidence. comparison: the source and the target as it will be. changes: the
    target as it is deployed and as it will be; None if nothing is deployed, or if it could not be read, with the reason
    in `not_read`. new_images: images of the target's pods that the source has not run, by the paths that name them.
    drift: of the source.
    """

    request: PromotionRequest
    source: Source
    release: Release
    before: Release | None
    same: bool
    judged: tuple[GateResult, ...]
    comparison: Comparison
    changes: Comparison | None
    drift: StackDrift
    not_read: str = ""
    new_images: Mapping[str, str] = {}

    @property
    def refused(self) -> tuple[GateResult, ...]:
        """Return the gates that refuse it."""
        return tuple(each for each in self.judged if each.result == "refused")

    @property
    def rollback(self) -> Release | None:
        """Return the rollback that the target follows; None without one."""
        return None if self.before is None or self.before.rollback is None else self.before

    @property
    def held(self) -> bool:
        """Return True if it would undo a rollback without `--over-rollback`."""
        return self.rollback is not None and not self.request.over_rollback

    @property
    def may_be_written(self) -> bool:
        """Return True if there is something to write, and nothing against it."""
        return not (self.same or self.held or self.refused)


def prepare(request: PromotionRequest, root: Path) -> PreparedPromotion:
    """Read and judge both stacks. InputError for problems in the target, TrainformError for the source."""
    by, at = author(root), utc_now()
    waivers = [GateWaiver(gate=gate, reason=request.reason, by=by) for gate in dict.fromkeys(request.waived)]
    wrong = [*waiver_problems(waivers, request.target.environment)]
    if wrong:
        raise InputError(wrong)
    followed = request.target.stack.release
    before = None if followed is None else read_release(request.experiment, followed, root)
    source = read_source(request.source, root)
    facts = Facts(
        environment=source.environment,
        outcome=source.outcome,
        tags=tuple(tags_of(request, source, root)),
        commit=source.update.commit,
        dirty=source.update.dirty,
        now=datetime.datetime.now(datetime.UTC),
        changed=source.changed,
    )
    judged = judge(request.target.environment, facts, waivers)
    release = Release(
        experiment=experiment_of(source),
        origin=origin(source.stack, source.environment, source.record, source.update, source.outcome, source.seconds),
        promoted=PromotionRecord(
            by=by,
            at=at,
            source=request.source.name,
            target=request.target.name,
            replaces=followed,
            gates={each.gate: each.result for each in judged},
            waived=[each.waiver for each in judged if each.waiver is not None],
        ),
    )
    job, new_images = _check(request, release, source, root)
    will = version_of(job)
    now, not_read = _deployed(request)
    return PreparedPromotion(
        request,
        source,
        release,
        before,
        before is not None and is_same(before, release, request.target),
        judged,
        compare(deployed_version(f"{request.source.name}, deployed", source.record), will),
        None if now is None else compare(now, will),
        find_drift([request.source]).stacks[0],
        not_read,
        new_images,
    )


def is_same(before: Release, release: Release, target: ProjectStack) -> bool:
    """Return True if the target follows this content already, by a release with all its evidence."""
    return before.content == release.content and not any(True for _ in lacks(target.name, before, target.environment))


def tags_of(request: PromotionRequest, source: Source, root: Path) -> list[str]:
    """Return the paths of the images without a digest in the target, as written when the source was deployed."""
    experiment = experiment_for_release(recorded(source.record, source.stack))
    written = ReleasedExperiment(request.experiment, NOT_WRITTEN, experiment)
    loaded = load_experiment(written, root, request.target.environment.name)
    if loaded.model is None:  # its problems are reported when the release is checked
        return [*without_digest(source.record.experiment)]
    return [loaded.source.origin(path)[0] for path in without_digest(resolved(loaded.model))]


def _check(
    request: PromotionRequest, release: Release, source: Source, root: Path
) -> tuple[RenderedJob, dict[str, str]]:
    """Return the job of the release in the target, and its images that the source has not run. May raise InputError."""
    given = ReleasedExperiment(request.experiment, release.name, release.experiment)
    stack = request.target.stack
    checked: CheckedJob = check_experiment(given, stack.environment, stack.run, root)
    without = [] if checked.job is None else [*unpinned(checked.job, source)]
    problems = [*checked.problems, *map(checked.sources[0].locate, without)]
    if problems:
        raise InputError(problems)
    job, experiment = checked.or_raise(), checked.sources[0]
    return job, {experiment.origin(path)[0]: image for path, image in not_of_source(job, source).items()}


def _deployed(request: PromotionRequest) -> tuple[Version | None, str]:
    """Return what runs in the target, or why it could not be read. A promotion only writes files, and continues."""
    try:
        record = live_record(request.experiment, request.target.environment, SECONDS)
    except ClusterError as error:
        return None, error.message
    return (None if record is None else deployed_version("now", record)), ""


def version_of(job: RenderedJob) -> Version:
    """Return the target as it will be."""
    name = "as it will be"
    if job.plan.record is None:  # an experiment that is too large has none
        return Version(name, Record("", "", job.plan.run, resolved(job.experiment), {}))
    return deployed_version(name, job.plan.record)
