"""The job that the words of a command name: `STACK`, `EXPERIMENT -e ENV`, or EXPERIMENT alone where one has it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.cli.arguments import JOB, STANDARD_INPUT
from trainform.errors import CommandLineError, InputError, Problem, list_names
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_stacks, project_root, require_project
from trainform.project import stack_path as path_of_stack

if TYPE_CHECKING:
    from trainform.running.snapshot import Target
    from trainform.spec.load import Given

MISSING_ENVIRONMENT = "Missing option '--environment' / '-e'"


class Job(Struct, frozen=True):
    """A stack, an experiment in an environment, or an environment alone."""

    word: str  # the argument that names it
    stack: str | None = None
    experiment: Given = ""
    environment: Given = ""
    run: int = 1
    suspend: bool = False
    alone: bool = False  # an environment without an experiment
    root: Path | None = None  # base of relative paths, None for the current folder

    def loaded(self, *, alone: bool = False) -> Job:
        """Return the job with the experiment and the environment that its stack names. Raises `InputError` for a wrong
        stack, and unless `alone` for the own stack of an environment."""
        if self.stack is None:
            return self
        from trainform.spec.stack import OwnStackError, load_stack

        root = project_root()
        try:
            found = load_stack(require_named(self.stack, root), root)
        except OwnStackError as error:
            if not alone:
                raise
            return Job(self.word, self.stack, "", error.environment, alone=True, root=root)
        return Job(self.word, self.stack, found.given, found.environment, found.run, found.suspend, root=root)


def jobs(words: Sequence[str], environments: Sequence[str]) -> list[Job]:
    """Return a job for each stack, and for each experiment in each environment; without words, the environments.

    Raises `CommandLineError` if something is missing, or does not belong to a stack."""
    environments, root = list(dict.fromkeys(environments)), project_root()
    stacks = [word for word in words if _is_stack(word, root, chosen=bool(environments))]
    if stacks and environments:
        raise CommandLineError(f"-e cannot be used with the stack {stacks[0]}", "the stack names it: remove -e")
    if not words and not environments:
        fix = "name a stack, an experiment, or an environment with -e"
        raise CommandLineError(f"Missing argument '{JOB}'", fix)
    others = [word for word in words if word not in stacks]
    if [*others, *environments].count(STANDARD_INPUT) > 1:
        raise CommandLineError("only one file can come from standard input", "give a name or a path for the others")
    read = {name: from_input(name) for name in [*others, *environments]}
    if not words:
        return [Job(name, environment=read[name], alone=True) for name in environments]
    found = list[Job]()
    for word in words:
        if word in stacks:
            found.append(Job(word, stack=word))
            continue
        for name in environments or [only_environment(word, root)]:
            found.append(Job(word, None, read[word], read.get(name, name)))
    return found


def is_stack(word: str, root: Path) -> bool:
    """Return True if the project has a stack of this name."""
    return os.path.lexists(root / path_of_stack(word.rpartition("/")[2]))


def is_experiment(word: str, root: Path) -> bool:
    """Return True for standard input, the path of a file, and the name of an experiment in the project."""
    is_file = word.endswith((".yaml", ".yml")) or ("/" in word and Path(word).is_file())
    return word == STANDARD_INPUT or is_file or word in known_names(EXPERIMENTS, root)


def _is_stack(word: str, root: Path, *, chosen: bool) -> bool:
    """Return True if the word names a stack, also a misspelt one. chosen: an environment is named, and an experiment
    comes first."""
    if chosen:
        return is_stack(word, root) and not is_experiment(word, root)
    return is_stack(word, root) or not is_experiment(word, root)


def require_named(word: str, root: Path) -> str:
    """Return the word. Raises `InputError` if it names neither a stack nor an experiment."""
    from trainform.spec.names import did_you_mean
    from trainform.spec.stack import require_stack

    require_project(root)
    if not (is_stack(word, root) or is_experiment(word, root)):
        if "/" in word or "." in word:  # the name of a stack
            require_stack(word, root)
        known = [*dict.fromkeys([*known_names(EXPERIMENTS, root), *known_stacks(root)])]
        fix = did_you_mean(word, known) or (f"known: {list_names(known)}" if known else "run `trainform new`")
        raise InputError([Problem(JOB, word, "no stack and no experiment of the project has this name", fix)])
    return word


# --- the stack of an experiment


def stack_of(word: str, environment: str | None, root: Path) -> str:
    """Return the stack that the words name. Raises `InputError` or `CommandLineError` with the choices."""
    if "/" not in word and environment is None and is_stack(word, root):
        return word
    from trainform.spec.stack import STACK, require_stack

    if is_experiment(word, root) and (environment is not None or not is_stack(word, root)):
        from trainform.deployed.stacks import stacks_running

        found = [*stacks_running(word, environment, root)]
        if len(found) == 1:
            return found[0]
        where = "" if environment is None else f" in {environment}"
        if found:
            raise CommandLineError(f"{len(found)} stacks run {word}{where}", f"name one: {' or '.join(found)}")
        fix = f"`trainform new {word} -e {environment or 'ENV'}` writes one"
        raise InputError([Problem(STACK, word, f"no stack of the project runs this experiment{where}", fix)])
    if environment is not None and is_stack(word, root):
        raise CommandLineError(f"-e cannot be used with the stack {word}", "the stack names it: remove -e")
    require_stack(require_named(word, root), root)
    return word


def target_of(word: str, environment: str | None) -> Target:
    """Return the deployed job that the words name; the record in the cluster says of which stack it is. Raises
    `InputError` or `CommandLineError` with the choices."""
    from trainform.running.read import target_of_stack

    root = require_project()
    if not is_experiment(word, root) or (is_stack(word, root) and environment is None):
        return target_of_stack(stack_of(word, environment, root), root)
    from trainform.job.check import check_environment, load_experiment
    from trainform.running.snapshot import Target
    from trainform.spec.load import is_path

    place = only_environment(word, root) if environment is None else environment
    name = load_experiment(word).or_raise().name if is_path(word) else word
    return Target(name, check_environment(place).or_raise())


def only_environment(experiment: str, root: Path) -> str:
    """Return the environment of the stacks that run the experiment, or else the only one of the project. Raises
    `CommandLineError` with the choices."""
    from trainform.deployed.stacks import stacks_running
    from trainform.spec.load import is_path

    stacks = {} if experiment == STANDARD_INPUT else stacks_running(experiment, None, root)
    names = dict.fromkeys(stack.environment for stack in stacks.values())
    known = [os.path.relpath(root / name) if is_path(name) else name for name in names]
    known = known if known else known_names(ENVIRONMENTS, root)
    if len(known) == 1:
        return known[0]
    if not known:
        require_project(root)
    choices = " or ".join(f"`{experiment} -e {name}`" for name in known)
    fix = f"name one: {choices}" if known else "`trainform new -e ENV` writes one"
    raise CommandLineError(MISSING_ENVIRONMENT, fix)


def from_input(given: str) -> Given:
    """Return the name or path, or the text of standard input for `-`."""
    if given != STANDARD_INPUT:
        return given
    from trainform.console import files
    from trainform.console.lines import note, stdin_is_terminal
    from trainform.spec.load import Text

    if stdin_is_terminal():
        note("trainform: reading from the terminal; Ctrl-D on an empty line ends the input", err=True)
    return Text(files.STANDARD_INPUT, files.read_standard_input())
