"""`trainform diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, Form, argument, environment_option, show
from trainform.cli.jobs import is_stack, stack_of
from trainform.errors import CommandLineError
from trainform.project import require_project

if TYPE_CHECKING:
    from trainform.deployed.stacks import ProjectStack
    from trainform.stacks.comparison.compare import Version

SECONDS = 5.0
DIFFERENT = 3


KINDS = "A stack (what is deployed), a release (its name), or an experiment (its name, or the path of its file)."
FirstArgument = Annotated[str, argument("A", KINDS, candidates.comparable)]
SECOND = "The same. Default: the files of the stack, or of the job A."
ENVIRONMENT = "Environment of files and releases. Default: that of the other stack, or none."
SecondArgument = Annotated[str | None, argument("B", SECOND, candidates.comparable)]
EnvironmentOption = Annotated[str | None, environment_option(ENVIRONMENT)]
FailOption = Annotated[bool, typer.Option("--fail", help="End with exit code 3 if the experiments differ.")]


@prints(*REPORT)
def command(
    first: FirstArgument,
    second: SecondArgument = None,
    environment: EnvironmentOption = None,
    fail: FailOption = False,
    *,
    form: Form,
) -> None:
    """Compare two experiments field by field: deployed, released or in files.

    A deployed experiment is read from the record that the last successful `pulumi up` wrote into the cluster. An
    explicit default, or another spelling of a value, is not a difference. Values from the environments of two stacks
    are listed separately. Secrets are masked.

    Exit code: 0, 1 if the cluster cannot be read, 2 for wrong arguments, or with --fail 3 if the experiments differ.
    """
    from trainform.stacks.comparison.compare import compare
    from trainform.stacks.comparison.text import as_data, sections

    root = require_project()
    found = compare(*_versions(first, second, environment, root))
    show(form, as_data(found), sections(found))
    if fail and not found.same:
        raise typer.Exit(DIFFERENT)


def _versions(first: str, second: str | None, environment: str | None, root: Path) -> tuple[Version, Version]:
    """Return both versions. Files and releases are read in the named environment, or in that of the stack."""
    from trainform.deployed.stacks import followed, load_project_stack
    from trainform.job.check import check_environment
    from trainform.spec.release import NAME
    from trainform.stacks.comparison.compare import version_in_file

    if second is None and NAME.fullmatch(first) is None:  # a stack, also as EXPERIMENT -e ENV
        first, environment = stack_of(first, environment, root), None
    words = [first] if second is None else [first, second]
    stacks = {word: load_project_stack(word, root) for word in words if is_stack(word, root)}
    if second is None and not stacks:
        raise CommandLineError("Missing argument 'B'", f"{first} is a release: name what it is compared with")
    if len(stacks) == len(words) and environment is not None:
        raise CommandLineError("-e is for files and releases, and only stacks are named", "leave it out")
    name = ""
    if environment is not None:
        name = check_environment(environment, root).or_raise().name
    elif stacks:
        name = next(iter(stacks.values())).environment.name
    found = [_deployed(word, stacks[word]) if word in stacks else _written(word, name, root) for word in words]
    if second is None:  # what `pulumi up` of the stack would deploy
        stack = stacks[first].stack
        found.append(version_in_file(f"{first} by {followed(stack.release)}", stack.given, root, name))
    return found[0], found[1]


def _deployed(name: str, stack: ProjectStack) -> Version:
    from trainform.deployed.records import live_record
    from trainform.deployed.stacks import followed
    from trainform.errors import ClusterError
    from trainform.stacks.comparison.compare import deployed_version

    record = live_record(stack.experiment, stack.environment, SECONDS)
    if record is None:
        raise ClusterError(
            f"{stack.experiment} is not deployed in the environment {stack.environment.name} (namespace "
            f"{stack.namespace})",
            "run `pulumi up` of its stack first; `trainform stacks` shows what is deployed",
        )
    found = deployed_version(name, record)
    return structs.replace(found, facts={**found.facts, "follows": followed(stack.stack.release)})


def _written(word: str, environment: str, root: Path) -> Version:
    from trainform.deployed.releases.release_files import read_release, released
    from trainform.spec.release import NAME
    from trainform.stacks.comparison.compare import version_in_file

    if NAME.fullmatch(word) is None:
        return version_in_file(word, word, root, environment)
    given = released(word, root)
    release = read_release(given.experiment, word, root)
    shown = release.masked
    facts = {"promoted" if shown.rollback is None else "rolled back": f"{shown.way} at {shown.promoted.at}"}
    facts |= {} if shown.rollback is None else {"because": shown.rollback.reason}
    return version_in_file(f"release {word}", given, root, environment, facts)
