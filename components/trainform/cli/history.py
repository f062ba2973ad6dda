"""`trainform history`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.cli.forms import Form, FormOption, show
from trainform.errors import InputError, Problem
from trainform.project import EXPERIMENTS, RELEASES, known_names, known_stacks, project_root, require_project

if TYPE_CHECKING:
    from trainform.releases.model import Release

SHOWN = 20


ExperimentArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT",
        help="Name of an experiment. Default: all of the project.",
        show_default=False,
        autocompletion=candidates.experiments,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help=f"Show every event, not only the last {SHOWN}.")]


@prints_data
def command(experiment: ExperimentArgument = None, every: AllOption = False, form: FormOption = Form.TERMINAL) -> None:
    """Show the promotions, rollbacks and updates of an experiment, or of all.

    It reads the releases and stacks of the project, and from Pulumi's backend the state and the last 100 updates of
    each stack; no cluster is read. What cannot be read is reported, and the rest is shown. A release has the name of
    its author; only a service of Pulumi knows who ran an update.

    Exit code: 0, or 1 if something could not be read.
    """
    from trainform.cli.history_text import History, as_data, sections
    from trainform.deployed.stacks import load_project_stacks, require_name
    from trainform.releases.history import events, read_stacks

    root = project_root()
    require_project(root)
    if experiment is not None:
        require_name(experiment, root)
    loaded, wrong = load_project_stacks(known_stacks(root), root)
    stacks = [each for each in loaded if each.experiment and experiment in (None, each.experiment)]
    unread = [
        f"the file of {stack}: {error.problems[0].reason}"
        for stack, error in wrong.items()
        if experiment is None or stack.startswith(f"{experiment}.")
    ]
    releases = _releases(experiment, root, unread)
    if experiment is not None and not (stacks or releases or unread):
        raise InputError([_unknown(experiment, root)])
    now = read_stacks(stacks, root)
    found = events(releases.values(), now)
    history = History(experiment, releases, now, found, len(found) if every else SHOWN, unread)
    show(form, sections(history), as_data(history))
    if history.not_read:
        raise typer.Exit(1)


def _releases(experiment: str | None, root: Path, unread: list[str]) -> dict[str, Release]:
    """Return the releases by their names. Of several experiments a release that cannot be read is added to
    `unread`."""
    from trainform.releases.files import releases_of

    if experiment is not None:
        return releases_of(experiment, root)
    found = dict[str, "Release"]()
    for folder in sorted((root / "stacks" / RELEASES).glob("[!.]*/")):
        try:
            found |= releases_of(folder.name, root)
        except InputError as error:
            unread.append(f"the releases of {folder.name}: {error.problems[0].reason}")
    return found


def _unknown(experiment: str, root: Path) -> Problem:
    near = difflib.get_close_matches(experiment, known_names(EXPERIMENTS, root), 1)
    fix = "run `trainform new EXPERIMENT -e ENV`, which writes a stack"
    if near and near[0] != experiment:
        fix = f"did you mean {near[0]}?"
    return Problem("EXPERIMENT", experiment, "the experiment has no stack and no release here", fix)
