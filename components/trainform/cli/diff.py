"""`trainform diff`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from trainform.cli import candidates
from trainform.cli.app import prints_data
from trainform.cli.arguments import ENVIRONMENT_VARIABLE, environment_option
from trainform.cli.forms import Form, FormOption, show
from trainform.errors import CommandLineError, InputError
from trainform.project import known_stacks, project_root, require_project

if TYPE_CHECKING:
    from trainform.comparison.compare import Version
    from trainform.releases.model import Release
    from trainform.spec.environment import Environment
    from trainform.spec.stack import Stack

SECONDS = 5.0
DIFFERENT = 3


KINDS = "A stack (what is deployed), a release (its name), or an experiment (its name, or the path of its file)."
FirstArgument = Annotated[str, typer.Argument(metavar="A", help=KINDS, autocompletion=candidates.comparable)]
SecondArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="B",
        help="The same. Default, for a stack: what its files say now.",
        show_default=False,
        autocompletion=candidates.comparable,
    ),
]
EnvironmentOption = Annotated[
    str | None,
    environment_option("Take files and releases in this environment. Default: that of the stack beside them, or none."),
]
FailOption = Annotated[bool, typer.Option("--fail", help="End with exit code 3 if the experiments differ.")]


@prints_data
def command(
    first: FirstArgument,
    second: SecondArgument = None,
    environment: EnvironmentOption = None,
    form: FormOption = Form.TERMINAL,
    fail: FailOption = False,
) -> None:
    """Compare two experiments field by field, as they are deployed, released or written.

    What is deployed is read from the cluster, where the last `pulumi up` that succeeded has recorded it. Defaults that
    are written out, and two spellings of one value, are no difference. What the environments of two stacks give their
    jobs is told apart: it is no part of the experiment. Secrets are masked.

    Exit code: 0, 1 if the cluster cannot be read, 2 for wrong arguments, or with --fail 3 if the experiments differ.
    """
    from trainform.comparison.compare import compare
    from trainform.comparison.text import as_data, sections

    root = project_root()
    require_project(root)
    found = compare(_versions(first, second, environment, root))
    show(form, sections(found), as_data(found))
    if fail and not found.same:
        raise typer.Exit(DIFFERENT)


def _versions(first: str, second: str | None, environment: str | None, root: Path) -> list[Version]:
    """Both, files and releases in the environment that is named, or in that of the stack beside them."""
    words = [first] if second is None else [first, second]
    stacks = {word: _stack(word, root) for word in words if word.rpartition("/")[2] in known_stacks(root)}
    if second is None and not stacks:
        raise CommandLineError("Missing argument 'B'", f"{first} is no stack: name what it is compared with")
    from_shell = environment == os.environ.get(ENVIRONMENT_VARIABLE)  # the variable is for commands without a stack
    if len(stacks) == len(words) and not from_shell:
        raise CommandLineError("-e is for files and releases, and only stacks are named", "leave it out")
    if stacks and from_shell:
        environment = next(iter(stacks.values())).environment
    name = "" if environment is None else _environment(environment, root).name
    found = [_deployed(word, stacks[word], root) if word in stacks else _written(word, name, root) for word in words]
    return [*found, _by_files(first, stacks[first], root)] if second is None else found


def _stack(word: str, root: Path) -> Stack:
    from trainform.spec.stack import STACK_ARGUMENT, load_stack

    return load_stack(word, root, STACK_ARGUMENT)


def _environment(name: str, root: Path) -> Environment:
    from trainform.check_files import check_environment

    return check_environment(name, root).checked()


def _deployed(name: str, stack: Stack, root: Path) -> Version:
    from trainform.comparison.versions import of_record, read_deployed
    from trainform.promotion.stacks import experiment_of

    environment, experiment = _environment(stack.environment, root), experiment_of(stack, root)
    found = of_record(name, read_deployed(experiment, environment, SECONDS))
    return structs.replace(found, facts={**found.facts, "follows": _followed(experiment, stack, root)})


def _followed(experiment: str, stack: Stack, root: Path) -> str:
    """What the stack's file names by now. What is deployed does not say from where it is, and is shown also where that
    release is wrong."""
    from trainform.releases.files import read_release

    if stack.release is None:
        return "its file"
    try:
        return read_release(experiment, stack.release, root).called
    except InputError:
        return f"release {stack.release}"


def _by_files(name: str, stack: Stack, root: Path) -> Version:
    """What `pulumi up` of the stack would deploy by its files."""
    from trainform.comparison.versions import of_file
    from trainform.promotion.stacks import experiment_of

    said = _followed(experiment_of(stack, root), stack, root)
    return of_file(f"{name} by {said}", stack.given, root, _environment(stack.environment, root).name)


def _written(word: str, environment: str, root: Path) -> Version:
    from trainform.comparison.versions import of_file
    from trainform.releases.files import read_release, released
    from trainform.spec.release import NAME

    if NAME.fullmatch(word) is None:
        return of_file(word, word, root, environment)
    given = released(word, root)
    release = read_release(given.experiment, word, root)
    return of_file(release.called, given, root, environment, _marks(release))


def _marks(release: Release) -> dict[str, str]:
    """How the release came to its stack."""
    told = release.told
    at = f"{told.way} at {told.promoted.at}"
    return {"promoted": at} if told.rollback is None else {"rolled back": at, "because": told.rollback.reason}
