"""A promotion in sentences and tables, the same for every form that people read, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from trainform.comparison.compare import Comparison, compare
from trainform.comparison.text import as_data as compared_data
from trainform.comparison.text import changes, changing, differing
from trainform.drift.text import field_rows, object_sentence
from trainform.project import release_path
from trainform.promotion.prepare import Prepared
from trainform.releases.gates import Judged
from trainform.releases.model import Origin
from trainform.review.forms.document import capacity_items, cost_items
from trainform.review.forms.sections import Item, Row, Section, bounded

UNKNOWN = "unknown"
NOT_RUN = "{path} names an image that {source} has not run: only {target} has it."
BY_HAND = "What has run there may not be what is promoted."
OVER = "Promote what does not have this fault; `--over-rollback` takes it all the same."


def headline(found: Prepared) -> str:
    """What becomes of it, in one sentence."""
    target = found.asked.target.name
    if found.same:
        return (
            f"{target} follows the same content already, as release {found.asked.target.stack.release}: there is "
            "nothing to promote."
        )
    if found.held:
        return f"Refused: {target} was rolled back, and no promotion undoes that unseen. Nothing is written."
    if found.refused:
        gates = ", ".join(each.gate for each in found.refused)
        return f"Refused by {gates}: nothing is written."
    if found.is_begun:
        return (
            f"{target} will follow release {found.release.name}, which an earlier promotion has written and no stack "
            "names."
        )
    return f"{target} will follow a new release."


def sections(found: Prepared) -> list[Section]:
    """The report, the first section with the title."""
    source, target = found.asked.source.name, found.asked.target.name
    title = f"Promotion of {found.asked.experiment} from {source} to {target}"
    by_environments = f"What differs from {source} by their environments"
    changed = _changes(found)
    return bounded([
        Section(title, (Item(headline(found)), Item(_count(found, changed)), *_rollback(found))),
        *([] if changed is None else changing(changed, target)),
        Section("Gates", tuple(_gates(found))),
        *differing(_beside_source(found), f"What differs from {source}", by_environments),
        Section("Cost", tuple(cost_items(found.cost))),
        Section("Capacity", tuple(capacity_items(found.capacity))),
        Section("Where it comes from", tuple(origin_items(found.release.told.origin))),
        Section("To be known", tuple(_left_out(found))),
    ])  # fmt: skip


def _changes(found: Prepared) -> Comparison | None:
    """The target as it is deployed beside what it will be; None if nothing is deployed there, or if nobody knows."""
    if found.current.record is None:
        return None
    _, deployed, will = found.comparison.versions
    return compare([structs.replace(deployed, name="now"), structs.replace(will, name="as it will be")])


def _beside_source(found: Prepared) -> Comparison:
    source, *_, will = found.comparison.versions
    return compare([source, will])


def _count(found: Prepared, changed: Comparison | None) -> str:
    target = found.asked.target.name
    if changed is not None:
        return changes(changed, target, "changes" if found.may_be_written else "would change")
    if found.current.not_read:
        return f"What of {target} changes is not known."
    return f"Nothing is deployed in {target}: all of it is new."


def _rollback(found: Prepared) -> Iterator[Item]:
    back = None if found.rollback is None else found.rollback.told
    if back is not None and back.rollback is not None:
        fix = [Row("fix", OVER)] if found.held else []
        rows = (Row("reason", back.rollback.reason, verbatim=True), Row("by", back.promoted.by, verbatim=True), *fix)
        yield Item(
            f"{found.asked.target.name} follows a rollback, release {found.asked.target.stack.release} of "
            f"{back.promoted.at}.",
            rows,
        )


def origin_items(origin: Origin) -> Iterator[Item]:
    """Where a release comes from, in sentences."""
    again = "" if origin.run == 1 else f", run {origin.run}"
    ended = "" if origin.seconds is None else f" {origin.seconds} s after it was made"
    yield Item(f"Revision {origin.revision}{again} of {origin.stack}, deployed at {_told(origin.updated)}.")
    yield Item(f"Its job: {origin.outcome}{ended}.")
    files = {None: "unknown files", True: "with changes that are in no commit", False: "without other changes"}
    yield Item(f"Commit of git: {_told(origin.commit)}, {files[origin.dirty]}. trainform {_told(origin.version)}.")
    if origin.parent is not None:
        yield Item(f"The source followed release {origin.parent} then.")


def _told(value: str | None) -> str:
    return UNKNOWN if value is None else value


def _gates(found: Prepared) -> Iterator[Item]:
    asked = [each for each in found.judged if each.result != "not asked"]
    if not asked:
        yield Item(f"The environment {found.asked.target.environment.name} asks for none.")
    for each in asked:
        yield Item(f"{each.gate}: {each.result}.", tuple(_reasons(each)))


def _reasons(each: Judged) -> Iterator[Row]:
    if each.reason:
        yield Row("why", each.reason, verbatim=True)
    if each.result == "refused":
        yield Row("fix", each.fix, verbatim=True)
    if each.result == "waived" and each.waiver is not None:
        yield Row("waived", f"by {each.waiver.by}: {each.waiver.reason}", verbatim=True)


def _left_out(found: Prepared) -> Iterator[Item]:
    source, target = found.asked.source.name, found.asked.target.name
    for path, image in found.new_images.items():
        text = NOT_RUN.format(path=path, source=source, target=target)
        yield Item(text, (Row("image", image, verbatim=True),))
    yield from _by_hand(found)
    for name in found.left:
        path = release_path(found.asked.experiment, name)
        yield Item(
            f"Release {name} was promoted to {found.asked.target.name} too, and no stack names it. If it was never "
            f"deployed, {path} can go."
        )
    if found.current.not_read:
        yield Item(f"What is deployed in the target: {found.current.not_read}.")
    if found.current.live is not None:
        for what, reason in found.current.live.not_read.items():
            yield Item(f"{what}: {reason}.")


def _by_hand(found: Prepared) -> Iterator[Item]:
    """What somebody has changed in the source beside its record."""
    if found.drift is None:
        return
    (stack,) = found.drift.stacks
    at, others = found.drift.read_at, 0
    for each in stack.objects:
        if not each.is_job:
            others += each.state != "as deployed"
            continue
        if each.state != "as deployed":
            yield Item(f"{object_sentence(each, stack, at)} {BY_HAND}", tuple(field_rows(each.fields, at)))
        if each.others:
            text = f"Others have written fields of {each.kind} {each.name}. {BY_HAND}"
            yield Item(text, tuple(field_rows(each.others, at)))
    if others:
        count = "1 other object is" if others == 1 else f"{others} other objects are"
        yield Item(f"In {stack.stack} {count} not as deployed: `trainform drift {stack.stack}` shows it.")
    for missing in stack.not_compared:
        yield Item(
            f"Whether somebody has changed {stack.stack} by hand is not known: {missing.what}: {missing.reason}."
        )


def as_data(found: Prepared, *, written: bool) -> dict[str, Any]:
    """The same for machines."""
    asked, release = found.asked, found.release
    told = release.told
    refused = not found.same and (found.held or bool(found.refused))
    result = "same" if found.same else "refused" if refused else "written" if written else "not written"
    # of a release that is not written nobody knows the name, since the time of writing is in it
    name = asked.target.stack.release if found.same else release.name if written or found.is_begun else None
    return {
        "ok": not refused,
        "result": result,
        "experiment": asked.experiment,
        "from": asked.source.name,
        "to": asked.target.name,
        "release": name,
        "content": release.content,
        "path": None if name is None else release_path(asked.experiment, name),
        "reused": found.is_begun,
        "left": [*found.left],
        "rollback": None if found.rollback is None else asked.target.stack.release,
        "origin": told.origin.model_dump(),
        "promoted": told.promoted.model_dump(by_alias=True),
        "gates": [
            {"gate": each.gate, "result": each.result, "reason": each.reason, "fix": each.fix} for each in found.judged
        ],
        "comparison": compared_data(found.comparison),
        "cost": found.cost.model_dump(mode="json"),
        "capacity": found.capacity.model_dump(mode="json"),
        "not_read": found.current.not_read,
        "new_images": [{"path": path, "image": image} for path, image in found.new_images.items()],
        "drift": None if found.drift is None else found.drift.stacks[0].model_dump(mode="json"),
    }
