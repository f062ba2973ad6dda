"""`trainform apply`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, argument, show
from trainform.console.lines import flush_or_discard, note
from trainform.project import require_project

if TYPE_CHECKING:
    from trainform.console.sections import Item
    from trainform.stacks.saved.saved_review import Change, SavedFile, Verdict

FAILED, MOVED = 1, 4
OUTCOMES = {
    "unmoved": "Nothing has changed since the review of {at}: `trainform apply` without --check applies it.",
    "moved": "Something has changed since the review of {at}, so nothing was applied.",
    "applied": "The review of {at} is applied.",
    "failed": "`pulumi up` of the review of {at} failed: its output says why.",
}


FileArgument = Annotated[str, argument("FILE", "A file that `trainform review STACK --save FILE` has written.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Only report what has changed since; apply nothing.")]


@prints(*REPORT)
def command(file: FileArgument, check: CheckOption = False, *, form: Form) -> None:
    """Apply a saved review, if nothing has changed since.

    It compares the state, the config, the versions and the cluster with those of the review, previews again, and
    compares each step with its values. Then it runs `pulumi up`. A file can be applied once, since that writes the
    state.

    Exit code: 0, 1 if something fails, 2 for wrong input, or 4 if something has changed; then nothing was applied.
    """
    from trainform.spec.stack import require_stack
    from trainform.stacks.saved.file import read_saved
    from trainform.stacks.saved.pulumi_up import run_up

    root = require_project()
    saved = read_saved(file)
    require_stack(saved.review.stack, root, f"{file}: review.stack")
    moved, unread = _changes(saved, file, root)
    verdict = _verdict(saved, file, moved, unread)
    if moved or check:
        _show(verdict, form)
        if moved:
            raise typer.Exit(MOVED)
        return
    note(f"trainform: nothing has changed; running `pulumi up -s {saved.review.stack}`", err=True)
    flush_or_discard()
    code = run_up(saved.review.stack, root, prints_data=form is not Form.TEXT)
    _show(verdict.model_copy(update={"result": "failed" if code else "applied"}), form)
    if code:
        raise typer.Exit(FAILED)


def _changes(saved: SavedFile, file: str, root: Path) -> tuple[list[Change], list[str]]:
    """Return what has changed, and which objects could not be read now.

    Each comparison is made only if the one before finds nothing, since the rest follows from that.
    """
    from trainform.cli.review_reading import made_here
    from trainform.stacks.saved.changed_facts import changed_facts
    from trainform.stacks.saved.file import open_key, refuse_changed
    from trainform.stacks.saved.gather import Source, gather
    from trainform.stacks.saved.preview import preview_facts
    from trainform.stacks.saved.pulumi_up import backend

    stack, facts = saved.review.stack, saved.review.facts
    elsewhere = changed_facts(facts, {"backend": backend(root)})  # without it neither the state nor the key can be read
    if elsewhere:
        return elsewhere, []
    source = Source(stack, root, open_key(saved.key, stack, root))
    refuse_changed(saved, source.key, file)
    found = changed_facts(facts, gather(source))
    if found:
        return found, []
    (read,) = made_here([stack], root, lambda files: None)
    now, unread = preview_facts(read.preview, read.files.environment, source)
    found = changed_facts(facts, now)
    return found or changed_facts(facts, gather(source)), unread  # while the preview ran


def _verdict(saved: SavedFile, file: str, moved: list[Change], unread: list[str]) -> Verdict:
    from trainform.stacks.saved.file import save_again
    from trainform.stacks.saved.saved_review import Verdict

    review, fix = saved.review, ""
    if moved:
        fix = (
            "Nothing was done. A file is applied once: if this one was, nothing is left to do. If not, "
            f"{save_again(saved, file)}."
        )
        if review.commit and any(each.what == "step" for each in moved):
            fix += f" `git diff {review.commit[:12]}` shows how the files have changed."
    return Verdict(
        stack=review.stack,
        reviewed=review.at,
        result="moved" if moved else "unmoved",
        moved=moved,
        not_compared=[*dict.fromkeys([*review.not_compared, *unread])],
        fix=fix,
    )


def _show(verdict: Verdict, form: Form) -> None:
    from trainform.console.sections import Item, Section, bounded

    outcome = OUTCOMES[verdict.result].format(at=verdict.reviewed)
    found = bounded([
        Section(f"Apply of {verdict.stack}", (Item(outcome),)),
        Section("Changed since", tuple(_items(verdict.moved))),
        Section("Not compared", tuple(map(Item, verdict.not_compared))),
        Section("What to do", (Item(verdict.fix),) if verdict.fix else ()),
    ])  # fmt: skip
    show(form, verdict.model_dump(mode="json"), found)


def _items(moved: list[Change]) -> Iterator[Item]:
    """Yield each sentence once, with its places."""
    from trainform.console.sections import Item, Row, shown

    rows = dict[str, list[Row]]()
    for each in moved:
        values = "" if each.was is None and each.now is None else f": {shown(each.was)} -> {shown(each.now)}"
        rows.setdefault(each.sentence, []).append(Row("", f"{each.path}{values}", verbatim=True))
    yield from (Item(sentence, tuple(found)) for sentence, found in rows.items())
