"""A promotion or a rollback in sentences and tables, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from trainform.console.sections import Item, Row, Section, bounded
from trainform.deployed.releases.gates import GateResult
from trainform.deployed.releases.release import Origin
from trainform.project import release_path
from trainform.stacks.comparison.text import as_data as compared_data
from trainform.stacks.comparison.text import changes, changing, differing
from trainform.stacks.drift.report_model import Outcome
from trainform.stacks.promotion.prepare_promotion import PreparedPromotion
from trainform.stacks.promotion.prepare_rollback import PreparedRollback

UNKNOWN = "unknown"
OVER = "Promote what does not have this fault; `--over-rollback` takes it all the same."


def headline(found: PreparedPromotion) -> str:
    """Return the result in one sentence."""
    target, follows = found.request.target.name, found.request.target.stack.release
    if found.same:
        return f"{target} follows the same content already, as release {follows}: there is nothing to promote."
    if found.held:
        return f"Refused: {target} was rolled back, and --over-rollback is not set. Nothing is written."
    if found.refused:
        return f"Refused by {', '.join(each.gate for each in found.refused)}: nothing is written."
    return f"{target} will follow a new release."


def sections(found: PreparedPromotion) -> list[Section]:
    """Return the report, the first section with the title."""
    source, target = found.request.source.name, found.request.target.name
    title = f"Promotion of {found.request.experiment} from {source} to {target}"
    by_environments = f"What differs from {source} by their environments"
    return bounded([
        Section(title, (Item(headline(found)), Item(_count(found)), *_rollback(found))),
        *([] if found.changes is None else changing(found.changes, target)),
        Section("Gates", tuple(_gates(found))),
        *differing(found.comparison, f"What differs from {source}", by_environments),
        Section("Where it comes from", tuple(origin_items(found.release.masked.origin))),
        Section("Notes", tuple(_notes(found))),
    ])  # fmt: skip


def _count(found: PreparedPromotion) -> str:
    target = found.request.target.name
    if found.changes is not None:
        return changes(found.changes, target, would=not found.may_be_written)
    if found.not_read:
        return f"What changes in {target} is unknown."
    return f"Nothing is deployed in {target}: all of it is new."


def _rollback(found: PreparedPromotion) -> Iterator[Item]:
    back = None if found.rollback is None else found.rollback.masked
    if back is not None and back.rollback is not None:
        fix = [Row("fix", OVER)] if found.held else []
        rows = (Row("reason", back.rollback.reason, verbatim=True), Row("by", back.promoted.by, verbatim=True), *fix)
        yield Item(
            f"{found.request.target.name} follows a rollback, release {found.request.target.stack.release} of "
            f"{back.promoted.at}.",
            rows,
        )


def origin_items(origin: Origin) -> Iterator[Item]:
    """Return where a release comes from, in sentences."""
    again = "" if origin.run == 1 else f", run {origin.run}"
    ended = "" if origin.seconds is None else f" {origin.seconds} s after it was made"
    yield Item(f"Revision {origin.revision}{again} of {origin.stack}, deployed at {origin.updated or UNKNOWN}.")
    yield Item(f"Its job: {origin.outcome}{ended}.")
    files = {None: "unknown files", True: "with changes that are in no commit", False: "without other changes"}
    commit, version = origin.commit or UNKNOWN, origin.version or UNKNOWN
    yield Item(f"Commit of git: {commit}, {files[origin.dirty]}. trainform {version}.")
    if origin.parent is not None:
        yield Item(f"The source followed release {origin.parent} then.")


def _gates(found: PreparedPromotion) -> Iterator[Item]:
    if not found.judged:
        yield Item(f"The environment {found.request.target.environment.name} has none.")
    for each in found.judged:
        yield Item(f"{each.gate}: {each.result}.", tuple(_reasons(each)))


def _reasons(each: GateResult) -> Iterator[Row]:
    if each.reason:
        yield Row("why", each.reason, verbatim=True)
    if each.result == "refused":
        yield Row("fix", each.fix, verbatim=True)
    if each.result == "waived" and each.waiver is not None:
        yield Row("waived", f"by {each.waiver.by}: {each.waiver.reason}", verbatim=True)


def _notes(found: PreparedPromotion) -> Iterator[Item]:
    source, target = found.request.source.name, found.request.target.name
    for path, image in found.new_images.items():
        text = f"{path} names an image that {source} has not run: only {target} has it."
        yield Item(text, (Row("image", image, verbatim=True),))
    if found.drift.outcome is Outcome.drift:
        yield Item(
            f"{source} is not as deployed, so what has run there may not be what is promoted: `trainform drift "
            f"{source}` shows it."
        )
    for missing in found.drift.not_compared:
        yield Item(f"The drift of {source} is unknown: {missing.what}: {missing.reason}.")
    if found.not_read:
        yield Item(f"What is deployed in the target is unknown: {found.not_read}.")
    if found.may_be_written:
        yield Item(f"Once it is written, `trainform review {target}` shows its cost, its capacity and its findings.")


def as_data(found: PreparedPromotion, *, written: bool) -> dict[str, Any]:
    """Return the report for programs."""
    request, release = found.request, found.release
    refused = not found.same and (found.held or bool(found.refused))
    result = "same" if found.same else "refused" if refused else "written" if written else "not written"
    # the time of writing is in the name
    name = request.target.stack.release if found.same else release.name if written else None
    return {
        **release.evidence,
        "ok": not refused,
        "result": result,
        "experiment": request.experiment,
        "from": request.source.name,
        "to": request.target.name,
        "release": name,
        "path": None if name is None else release_path(request.experiment, name),
        "rollback": None if found.rollback is None else request.target.stack.release,
        "gates": [
            {"gate": each.gate, "result": each.result, "reason": each.reason, "fix": each.fix} for each in found.judged
        ],
        "comparison": compared_data(found.comparison),
        "changes": None if found.changes is None else compared_data(found.changes),
        "not_read": found.not_read,
        "new_images": [{"path": path, "image": image} for path, image in found.new_images.items()],
        "drift": found.drift.model_dump(mode="json"),
    }


def rollback_sections(found: PreparedRollback) -> list[Section]:
    """Return the report, the first section with the title."""
    name, comparison, restored = found.stack.name, found.comparison, found.restored
    to = f"revision {restored.origin.revision}, which had no release"
    if restored.release is not None:
        to = f"release {restored.release}"
    return bounded([
        Section(f"Rollback of {name}", (Item(f"{name} goes back to {to}, by a new release."),
                *([] if comparison is None else [Item(changes(comparison, name))]))),
        *([] if comparison is None else changing(comparison, name)),
        Section("Checkpoints", tuple(_checkpoints(found))),
        Section("Where it comes from", tuple(origin_items(found.release.masked.origin))),
        Section("Notes", tuple(map(Item, found.notes))),
    ])  # fmt: skip


def _checkpoints(found: PreparedRollback) -> Iterator[Item]:
    for each in found.checkpoints:
        yield Item(
            f"The job resumes from what {each.written_by} has written to the claim {each.claim} "
            f"({'kept by `pulumi destroy`' if each.keep else 'not kept by `pulumi destroy`'}) at {each.mount}."
        )
    if found.checkpoints:
        yield Item("To resume from older checkpoints, move the newer ones away before `pulumi up`.")


def rollback_data(found: PreparedRollback, *, written: bool) -> dict[str, Any]:
    """Return the report for programs."""
    release, comparison = found.release, found.comparison
    name = release.name if written else None  # the time of writing is in it
    rows = () if comparison is None else comparison.experiment
    return {
        **release.evidence,
        "ok": True,
        "result": "written" if written else "not written",
        "stack": found.stack.name,
        "experiment": found.stack.experiment,
        "release": name,
        "path": None if name is None else release_path(found.stack.experiment, name),
        "changes": to_builtins(rows),
        "checkpoints": to_builtins(found.checkpoints),
        "notes": [*found.notes],
    }
