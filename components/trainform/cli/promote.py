"""`trainform promote`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.cli.forms import Form, FormOption, next_steps, show_data, show_text
from trainform.cli.release_writing import DryOption, YesOption, require_answer, write
from trainform.errors import CommandLineError
from trainform.project import project_root, release_path, require_project, stack_path
from trainform.terminal.lines import note

REFUSED = 3
REASON = "--reason"


ExperimentArgument = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT", help="Name of an experiment that is deployed.", autocompletion=candidates.experiments
    ),
]
FromOption = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="STACK|ENV",
        help="What is deployed there is promoted. An environment: the experiment's stack in it.",
        show_default=False,
        autocompletion=candidates.environments,
    ),
]
ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="STACK|ENV",
        help="The stack that follows the release from then on.",
        show_default=False,
        autocompletion=candidates.environments,
    ),
]
WaiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--waive",
        metavar="GATE",
        help="Pass this gate although it does not hold, where the environment lets you. May be repeated.",
        show_default=False,
    ),
]
ReasonOption = Annotated[
    str, typer.Option(REASON, metavar="TEXT", help="Why; it is written into the release.", show_default=False)
]
OverOption = Annotated[bool, typer.Option("--over-rollback", help="Also to a stack that was rolled back.")]


@prints_data
def command(
    experiment: ExperimentArgument,
    source: FromOption,
    target: ToOption,
    waived: WaiveOption = None,
    reason: ReasonOption = "",
    over_rollback: OverOption = False,
    dry_run: DryOption = False,
    yes: YesOption = False,
    form: FormOption = Form.TERMINAL,
) -> None:
    """Take what is deployed in one stack to another one, as a release.

    A release is a file that never changes: what the last `pulumi up` of the source has deployed, whatever the files
    here say by now. Every value of it is in the release, and each image by its digest: as written, or as the pods ran
    it. Of the source's environment nothing is in it. The other stack then names the release, and edits of the
    experiment move it no more.

    Before anything is written you see what changes, what it costs, whether there is room, and the gates that the other
    environment asks for. Nothing is deployed: `trainform review` and `trainform apply` of the other stack come
    afterwards.

    Exit code: 0, 1 if something cannot be read, 2 for wrong arguments or files, 3 if a gate refuses it.
    """
    names = [] if waived is None else waived
    if bool(names) != bool(reason.strip()):
        missing = REASON if names else "--waive"
        raise CommandLineError("--waive and --reason go together", f"add {missing}: a gate, and why it is waived")
    require_answer(dry_run=dry_run, yes=yes)
    from trainform.promotion.prepare import Asked, prepare
    from trainform.promotion.stacks import places
    from trainform.promotion.text import as_data, sections

    root = project_root()
    require_project(root)
    found = prepare(Asked(experiment, *places(experiment, source, target, root), names, reason, over_rollback), root)
    writes = found.may_be_written and not dry_run
    if form is not Form.JSON:
        show_text(form, sections(found))
    if writes:
        write(found.release, found.asked.target.name, root, yes=yes)
    if form is Form.JSON:
        show_data(as_data(found, written=writes))
    elif writes:
        name = found.asked.target.name
        files = [release_path(experiment, found.release.name), stack_path(name)]
        note(*next_steps(name, files, is_deployed=found.current.record is not None))
    if not (found.may_be_written or found.same):
        raise typer.Exit(REFUSED)
