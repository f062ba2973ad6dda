"""`trainform promote`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import JOB, REPORT, Form, argument, next_steps, option, show_data, show_text
from trainform.cli.jobs import is_experiment, is_stack, require_named
from trainform.cli.release_writing import REASON, DryOption, ReasonOption, YesOption, require_answer, write
from trainform.console.lines import note
from trainform.errors import CommandLineError, each_result
from trainform.project import release_path, require_project, stack_path

if TYPE_CHECKING:
    from trainform.stacks.promotion.prepare_promotion import PreparedPromotion

REFUSED = 3


FROM = "Promote what is deployed there. An environment: the experiment's stack in it."
TO = "Stack that will follow the release. An environment: the experiment's stack in it."
JOBS = "Stacks, or names of deployed experiments; --from is optional if only one stack but the target runs it."
WAIVE = "Pass this gate although it fails, if the environment allows that. May be repeated."
JobArguments = Annotated[list[str], argument(JOB, JOBS, candidates.jobs)]
FromOption = Annotated[str | None, option("STACK|ENV", FROM, "--from", "-e", autocompletion=candidates.environments)]
ToOption = Annotated[str, option("STACK|ENV", TO, "--to", autocompletion=candidates.environments)]
WaiveOption = Annotated[list[str] | None, option("GATE", WAIVE, "--waive")]
OverOption = Annotated[bool, typer.Option("--over-rollback", help="Override the rollback of the target stack.")]


@prints(*REPORT)
def command(
    jobs: JobArguments,
    target: ToOption,
    source: FromOption = None,
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
    found_places = each_result(lambda word: places(*_source(word, source, target, root), target, root), jobs)
    experiments = [origin.experiment for origin, _ in found_places]
    if len({*experiments}) < len(experiments):
        raise CommandLineError("an experiment is named more than once", "name each experiment once")
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


def _source(word: str, source: str | None, target: str, root: Path) -> tuple[str, str]:
    """Return the experiment, and the stack or environment from which it is promoted."""
    from trainform.deployed.stacks import experiment_of, stacks_running
    from trainform.spec.stack import load_stack

    if source is not None and (is_experiment(word, root) or not is_stack(word, root)):
        return word, source
    if source is not None:
        raise CommandLineError(f"--from cannot be used with the stack {word}", "the stack names it: remove --from")
    if is_stack(word, root):
        return experiment_of(load_stack(word, root), root), word
    found = stacks_running(require_named(word, root), None, root)
    others = [name for name, stack in found.items() if target not in (name, Path(stack.environment).stem)]
    if len(others) != 1:
        fix = f"add --from {' or --from '.join(others)}" if others else "`trainform stacks` shows what is deployed"
        raise CommandLineError("Missing option '--from' / '-e'", fix)
    return word, others[0]


def _show(found: Sequence[PreparedPromotion], refused: Sequence[PreparedPromotion], form: Form) -> None:
    from trainform.stacks.promotion.promotion_text import sections

    show_text(form, *(sections(each) for each in found))
    if refused and len(found) > 1:
        names = ", ".join(each.request.experiment for each in refused)
        note(f"{len(refused)} of {len(found)} promotions refused ({names}): nothing is written", err=True)
