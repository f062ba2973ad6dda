"""`trainform history`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.cli.forms import Form, FormOption, show
from trainform.errors import InputError, Problem
from trainform.project import EXPERIMENTS, RELEASES, known_names, known_stacks, project_root, require_project

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
    """Show the promotions, rollbacks and updates of experiments.

    It reads the releases and stacks of the project, and from Pulumi's backend the state and the last 100 updates of
    each stack. It does not read the cluster. What cannot be read is reported, and the rest is shown. A release names
    its author; only a Pulumi service records who ran an update.

    Exit code: 0, or 1 if something could not be read.
    """
    from trainform.cli.history_text import History, as_data, sections
    from trainform.deployed.releases.history import events, read_stacks
    from trainform.deployed.releases.release import Release
    from trainform.deployed.releases.release_files import releases_of
    from trainform.deployed.stacks import load_project_stacks, require_name
    from trainform.spec.names import did_you_mean

    root = project_root()
    require_project(root)
    if experiment is not None:
        require_name(experiment, root)
    loaded, wrong = load_project_stacks(known_stacks(root), root)
    stacks = [each for each in loaded if each.experiment and experiment in (None, each.experiment)]
    not_read = [
        f"the file of {stack}: {error.problems[0].reason}"
        for stack, error in wrong.items()
        if experiment is None or stack.startswith(f"{experiment}.")
    ]
    releases = dict[str, Release]()
    folders = (root / "stacks" / RELEASES).glob("[!.]*/")
    for name in sorted(folder.name for folder in folders) if experiment is None else [experiment]:
        try:
            releases |= releases_of(name, root)
        except InputError as error:
            not_read.append(f"the releases of {name}: {error.problems[0].reason}")
    if experiment is not None and not (stacks or releases or not_read):
        others = [name for name in known_names(EXPERIMENTS, root) if name != experiment]
        fix = did_you_mean(experiment, others) or "run `trainform new EXPERIMENT -e ENV`, which writes a stack"
        reason = "the experiment has no stack and no release here"
        raise InputError([Problem("EXPERIMENT", experiment, reason, fix)])
    now = read_stacks(stacks, root)
    not_read += [each.not_read for each in now if each.not_read]
    found = History(experiment, releases, now, events(releases.values(), now), not_read)
    show(form, sections(found, len(found.events) if every else SHOWN), as_data(found))
    if not_read:
        raise typer.Exit(1)
