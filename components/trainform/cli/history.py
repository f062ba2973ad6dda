"""`trainform history`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.cli.forms import Form, FormOption, show
from trainform.errors import InputError, Problem
from trainform.project import (
    ENVIRONMENTS,
    EXPERIMENTS,
    known_names,
    known_stacks,
    project_root,
    require_project,
    stack_path,
)

SECONDS = 5.0
SHOWN = 20


ExperimentArgument = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="Name of an experiment.", autocompletion=candidates.experiments)
]
AllOption = Annotated[bool, typer.Option("--all", help=f"Show all that happened, and not the last {SHOWN} alone.")]


@prints_data
def command(experiment: ExperimentArgument, every: AllOption = False, form: FormOption = Form.TERMINAL) -> None:
    """Show how an experiment came to its stacks: promotions, rollbacks and updates.

    It reads the releases and the stacks of the project, what is deployed from the clusters, and the last 100 updates of
    each stack from Pulumi's backend. What cannot be read is told, and the rest is shown. Who has run an update is known
    to a service of Pulumi alone; of a promotion and a rollback it is in the release.

    Exit code: 0, or 1 if something could not be read.
    """
    from trainform.cli.history_text import History, as_data, sections
    from trainform.promotion.stacks import require_name
    from trainform.releases.author import ignored
    from trainform.releases.files import releases_of
    from trainform.releases.history import events, read_stacks

    root = project_root()
    require_project(root)
    require_name(experiment, root)
    releases = releases_of(experiment, root)
    stacks, unread = _stacks_of(experiment, root)
    if not (stacks or releases or unread):
        raise InputError([_unknown(experiment, root)])
    now = read_stacks(stacks, experiment, root, SECONDS)
    found = events(releases, now)
    files = dict.fromkeys(
        [
            f"stacks/{EXPERIMENTS}/{experiment}.yaml",
            *(
                path
                for each in now
                for path in (f"stacks/{ENVIRONMENTS}/{each.environment}.yaml", stack_path(each.stack))
            ),
        ]
    )
    history = History(experiment, releases, now, found, len(found) if every else SHOWN, unread, ignored(files, root))
    show(form, sections(history), as_data(history))
    if history.not_read:
        raise typer.Exit(1)


def _stacks_of(experiment: str, root: Path) -> tuple[dict[str, tuple[str, str | None]], list[str]]:
    """Environment and release of each stack of the experiment, by the stack's name; and why the files of those cannot
    be read that are its by their names."""
    from trainform.promotion.stacks import experiment_of
    from trainform.review.stack_choice import chosen_by
    from trainform.spec.stack import Stack

    found, unread = {}, []
    for stack in known_stacks(root):
        try:
            chosen = chosen_by(stack, root)
            if isinstance(chosen, Stack) and experiment_of(chosen, root) == experiment:
                found[stack] = (chosen.environment, chosen.release)
        except InputError as error:
            if stack.startswith(f"{experiment}."):
                unread.append(f"the file of {stack}: {error.problems[0].reason}")
    return found, unread


def _unknown(experiment: str, root: Path) -> Problem:
    import difflib

    near = difflib.get_close_matches(experiment, known_names(EXPERIMENTS, root), 1)
    fix = "run `trainform new EXPERIMENT -e ENV`, which writes a stack"
    if near and near[0] != experiment:
        fix = f"did you mean {near[0]}?"
    return Problem("EXPERIMENT", experiment, "the experiment has no stack and no release here", fix)
