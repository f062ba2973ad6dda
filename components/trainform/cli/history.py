"""`trainform history`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import JOB, REPORT, Form, StackEnvironmentOption, argument, show
from trainform.cli.jobs import is_experiment, is_stack, stack_of
from trainform.errors import CommandLineError, InputError, Problem
from trainform.project import EXPERIMENTS, RELEASES, known_names, known_stacks, require_project

SHOWN = 20
JOBS = "A stack, an experiment with -e ENV, or an experiment for all its stacks. Default: all."
JobArgument = Annotated[str | None, argument(JOB, JOBS, candidates.jobs)]
AllOption = Annotated[bool, typer.Option("--all", help=f"Show every event, not only the last {SHOWN}.")]


@prints(*REPORT)
def command(
    word: JobArgument = None, environment: StackEnvironmentOption = None, every: AllOption = False, *, form: Form
) -> None:
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
    from trainform.deployed.stacks import load_project_stacks
    from trainform.spec.names import did_you_mean

    root = require_project()
    stack, experiment = _chosen(word, environment, root)
    loaded, wrong = load_project_stacks(known_stacks(root) if stack is None else [stack], root)
    stacks = [each for each in loaded if each.experiment and experiment in (None, each.experiment)]
    not_read = [
        f"the file of {name}: {error.problems[0].reason}"
        for name, error in wrong.items()
        if experiment is None or name.startswith(f"{experiment}.")
    ]
    releases = dict[str, Release]()
    folders = (root / "stacks" / RELEASES).glob("[!.]*/")
    for name in sorted(folder.name for folder in folders) if experiment is None else [experiment]:
        try:
            found = releases_of(name, root)
            releases |= {name: each for name, each in found.items() if stack in (None, each.promoted.target)}
        except InputError as error:
            not_read.append(f"the releases of {name}: {error.problems[0].reason}")
    if experiment is not None and not (stacks or releases or not_read):
        others = [name for name in (*known_names(EXPERIMENTS, root), *known_stacks(root)) if name != experiment]
        fix = did_you_mean(experiment, others) or "run `trainform new EXPERIMENT -e ENV`, which writes a stack"
        raise InputError([Problem(JOB, experiment, "the experiment has no stack and no release here", fix)])
    now = read_stacks(stacks, root)
    not_read += [each.not_read for each in now if each.not_read]
    history = History(experiment, stack, releases, now, events(releases.values(), now), not_read)
    show(form, as_data(history), sections(history, len(history.events) if every else SHOWN))
    if not_read:
        raise typer.Exit(1)


def _chosen(word: str | None, environment: str | None, root: Path) -> tuple[str | None, str | None]:
    """Return the stack and the experiment that the words name; None: all."""
    from trainform.deployed.stacks import experiment_of, require_name
    from trainform.spec.stack import load_stack

    if word is None:
        if environment is not None:
            raise CommandLineError("-e is for an experiment, and none is named", "name an experiment, or remove -e")
        return None, None
    if environment is not None or (is_stack(word, root) and not is_experiment(word, root)):
        stack = stack_of(word, environment, root).rpartition("/")[2]
        return stack, experiment_of(load_stack(stack, root), root)
    require_name(word, root)
    return None, word
