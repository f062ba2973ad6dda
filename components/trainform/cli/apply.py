"""`trainform apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.forms import Form, FormOption, show
from trainform.project import project_root, require_project
from trainform.terminal.lines import flush_or_discard, note

if TYPE_CHECKING:
    from trainform.saved.model import Moved, SavedFile, Verdict

FAILED, MOVED = 1, 4
STACK_OF_FILE = "review.facts.stack"


FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A file that `trainform review STACK --save FILE` has written.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Only say whether something has moved; change nothing.")]


def command(file: FileArgument, check: CheckOption = False, form: FormOption = Form.TERMINAL) -> None:
    """Apply what was reviewed, and nothing else.

    Before anything changes it compares the state, the config, the experiment, the environment, the program, the
    versions and the cluster with those of the review, previews again, and compares each step with its values. Then it
    runs `pulumi up`. A file that was applied has done its work: the state has moved. Exit code: 0, 1 if something
    fails, 2 for wrong input, or 4 if something has moved; then nothing was changed.
    """
    from trainform.saved.file import read_saved
    from trainform.spec.stack import require_stack

    root = project_root()
    require_project(root)
    saved = read_saved(file)
    require_stack(saved.review.facts.stack, root, f"{file}: {STACK_OF_FILE}")
    moved = _moved(saved, file, root)
    verdict = _verdict(saved, file, moved)
    if moved or check:
        _show(verdict, form)
        if moved:
            raise typer.Exit(MOVED)
        return
    code = _up(saved.review.facts.stack, root, form)
    _show(verdict.model_copy(update={"result": "failed" if code else "applied"}), form)
    if code:
        raise typer.Exit(FAILED)


def _moved(saved: SavedFile, file: str, root: Path) -> list[Moved]:
    """What has moved. Each step is taken only if nothing has in those before it: what follows from it would be named
    beside it."""
    from trainform.saved.engine import backend
    from trainform.saved.facts import Source, gather
    from trainform.saved.file import refuse_changed, refuse_organization
    from trainform.saved.moved import moved_facts, moved_place
    from trainform.saved.seal import open_key

    facts = saved.review.facts
    elsewhere = moved_place(facts, backend(root))
    if elsewhere:
        return elsewhere
    refuse_organization(saved, file)
    source = Source(facts.stack, root, open_key(saved.key, facts.stack, root))
    refuse_changed(saved, source.key, file)
    found = moved_facts(facts, gather(source))
    found = found if found else _moved_preview(saved, root)
    return found if found else moved_facts(facts, gather(source))  # while the preview ran


def _moved_preview(saved: SavedFile, root: Path) -> list[Moved]:
    """What is otherwise in a new preview, and in the objects that it touches."""
    from trainform.cli.review_reading import made_here
    from trainform.saved.moved import moved_objects, moved_packs, moved_steps
    from trainform.saved.steps import seen

    (read,) = made_here([saved.review.facts.stack], root, lambda files: None)
    found, review = seen(read.preview, read.files.environment), saved.review
    return [
        *moved_packs(review.packs, found.packs),
        *moved_objects(review.objects, found.objects),
        *moved_steps(review.steps, found.steps),
    ]


def _verdict(saved: SavedFile, file: str, moved: list[Moved]) -> Verdict:
    from trainform.saved.file import save_again
    from trainform.saved.model import Verdict

    return Verdict(
        stack=saved.review.facts.stack,
        reviewed=saved.review.at,
        result="moved" if moved else "unmoved",
        moved=moved,
        not_compared=saved.review.not_compared,
        fix="Nothing was done. A file is applied once: if this one was, nothing is left to do. If not, "
        f"{save_again(saved, file)}."
        if moved
        else "",
    )


def _up(stack: str, root: Path, form: Form) -> int:
    """Run `pulumi up`. Its output is shown; beside data it goes to standard error."""
    from trainform.saved.engine import run_up

    note(f"trainform: nothing has moved; `pulumi up -s {stack}` runs", err=True)
    flush_or_discard()
    return run_up(stack, root, beside_data=form is not Form.TERMINAL)


def _show(verdict: Verdict, form: Form) -> None:
    from trainform.saved.text import sections

    show(form, sections(verdict), verdict.model_dump(mode="json"))
