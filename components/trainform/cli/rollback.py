"""`trainform rollback`."""

from __future__ import annotations

from typing import Annotated

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import (
    REPORT,
    Form,
    StackEnvironmentOption,
    StackJobArgument,
    next_steps,
    option,
    show_data,
    show_text,
)
from trainform.cli.jobs import stack_of
from trainform.cli.release_writing import DryOption, ReasonOption, YesOption, require_answer, write
from trainform.console.lines import note
from trainform.errors import InputError
from trainform.project import release_path, require_project, stack_path

TO = "What to restore. Default: the last deployment before the current one."
ToOption = Annotated[str | None, option("RELEASE|REVISION", TO, "--to", autocompletion=candidates.releases)]


@prints(*REPORT)
def command(
    word: StackJobArgument,
    reason: ReasonOption,
    environment: StackEnvironmentOption = None,
    to: ToOption = None,
    dry_run: DryOption = False,
    yes: YesOption = False,
    *,
    form: Form,
) -> None:
    """Restore the previous release of a stack.

    The whole experiment is restored, not only the image. The command writes a release with the earlier experiment and
    the reason, and the stack follows it. The next promotion must confirm that it overrides the rollback. A stack
    without an earlier release is restored from the history of Pulumi's backend: files in a folder, or the versions of a
    service. A second rollback goes further back.

    Nothing is deployed: run `trainform review` and `trainform apply` of the stack next.

    Exit code: 0, 1 if something cannot be read, 2 for wrong arguments, or if nothing was deployed before.
    """
    require_answer(dry_run=dry_run, yes=yes)
    from trainform.deployed.releases.gates import reason_problems
    from trainform.stacks.promotion.prepare_rollback import prepare_rollback
    from trainform.stacks.promotion.promotion_text import rollback_data, rollback_sections

    wrong = [*reason_problems(reason)]
    if wrong:
        raise InputError(wrong)
    root = require_project()
    found = prepare_rollback(stack_of(word, environment, root), to, reason.strip(), root)
    name, release = found.stack.name, found.release.name
    if form is not Form.JSON:
        show_text(form, rollback_sections(found))
    if not dry_run:
        write({name: found.release}, root, yes=yes)
    if form is Form.JSON:
        show_data(rollback_data(found, written=not dry_run))
    elif not dry_run:
        files = [release_path(found.stack.experiment, release), stack_path(name)]
        note(*next_steps(name, files, must_refresh=found.killed))
