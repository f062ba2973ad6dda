"""`trainform promote`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, argument, next_steps, option, show_data, show_text
from trainform.cli.release_writing import REASON, DryOption, ReasonOption, YesOption, require_answer, write
from trainform.console.lines import note
from trainform.errors import CommandLineError, each_result
from trainform.project import release_path, require_project, stack_path

if TYPE_CHECKING:
    from trainform.stacks.promotion.prepare_promotion import PreparedPromotion

REFUSED = 3


FROM = "Promote what is deployed there. An environment: the experiment's stack in it."
TO = "Stack that will follow the release. An environment: the experiment's stack in it."
WAIVE = "Pass this gate although it fails, if the environment allows that. May be repeated."
ExperimentArguments = Annotated[list[str], argument("EXPERIMENT", "Names of experiments.", candidates.experiments)]
FromOption = Annotated[str, option("STACK|ENV", FROM, "--from", autocompletion=candidates.environments)]
ToOption = Annotated[str, option("STACK|ENV", TO, "--to", autocompletion=candidates.environments)]
WaiveOption = Annotated[list[str] | None, option("GATE", WAIVE, "--waive")]
OverOption = Annotated[bool, typer.Option("--over-rollback", help="Override the rollback of the target stack.")]


@prints(*REPORT)
def command(
    experiments: ExperimentArguments,
    source: FromOption,
    target: ToOption,
    waived: WaiveOption = None,
    reason: ReasonOption = "",
    over_rollback: OverOption = False,
    dry_run: DryOption = False,
    yes: YesOption = False,
    *,
    form: Form,
) -> None:
    """Promote a deployed experiment to another environment.

    The command writes a release, a file that never changes: the experiment that the last `pulumi up` of the source
    deployed, with every default and with each image by its digest, and without the source's environment. The target's
    stack then follows the release, and edits of the experiment's file do not change it.

    Before it writes, the command shows the changes and the gates of the target's environment. Of several experiments it
    promotes all or none. Nothing is deployed: run `trainform review` of the target, which shows cost and capacity, and
    `trainform apply` next.

    Exit code: 0, 1 if something cannot be read, 2 for wrong arguments or files, 3 if a gate refuses the promotion.
    """
    names = [] if waived is None else waived
    if bool(names) != bool(reason.strip()):
        missing = REASON if names else "--waive"
        raise CommandLineError("--waive and --reason go together", f"add {missing}: a gate, and why it is waived")
    require_answer(dry_run=dry_run, yes=yes)
    from trainform.deployed.stacks import places
    from trainform.stacks.promotion.prepare_promotion import PromotionRequest, prepare
    from trainform.stacks.promotion.promotion_text import as_data

    root = require_project()
    if len({*experiments}) < len(experiments):
        raise CommandLineError("an experiment is named more than once", "name each experiment once")
    found_places = each_result(lambda name: places(name, source, target, root), experiments)
    requests = [
        PromotionRequest(each, *pair, names, reason, over_rollback)
        for each, pair in zip(experiments, found_places, strict=True)
    ]
    found = [prepare(each, root) for each in requests]
    refused = [each for each in found if not (each.may_be_written or each.same)]
    releases = {each.request.target.name: each.release for each in found if each.may_be_written}
    writes = bool(releases) and not refused and not dry_run
    if form is not Form.JSON:
        _show(found, refused, form)
    if writes:
        write(releases, root, yes=yes)
    if form is Form.JSON:
        promotions = [as_data(each, written=writes and each.may_be_written) for each in found]
        show_data(promotions[0] if len(found) == 1 else {"ok": not refused, "promotions": promotions})
    elif writes:
        for each in found:
            if each.may_be_written:
                name = each.request.target.name
                files = [release_path(each.request.experiment, each.release.name), stack_path(name)]
                note(*next_steps(name, files, is_deployed=each.changes is not None))
    if refused:
        raise typer.Exit(REFUSED)


def _show(found: Sequence[PreparedPromotion], refused: Sequence[PreparedPromotion], form: Form) -> None:
    from trainform.stacks.promotion.promotion_text import sections

    show_text(form, *(sections(each) for each in found))
    if refused and len(found) > 1:
        names = ", ".join(each.request.experiment for each in refused)
        note(f"{len(refused)} of {len(found)} promotions refused ({names}): nothing is written", err=True)
