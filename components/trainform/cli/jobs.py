"""The job that the words of a command name: `STACK`, `EXPERIMENT -e ENV`, or EXPERIMENT alone where one has it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from trainform.cli.arguments import ENVIRONMENT_VARIABLE, STANDARD_INPUT
from trainform.errors import CommandLineError, InputError, Problem, list_names
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_stacks, project_root, require_project
from trainform.project import stack_path as path_of_stack

if TYPE_CHECKING:
    from trainform.job.check import CheckedJob
    from trainform.spec.load import Given
    from trainform.spec.stack import Stack

ARGUMENT = "JOB"
MISSING_ENVIRONMENT = "Missing option '--environment' / '-e'"


class Job(Struct, frozen=True):
    """A stack, an experiment in an environment, or an environment alone."""

    word: str
    """The argument that names it."""
    stack: str | None = None
    experiment: Given = ""
    """Empty for an environment alone, and for a stack that is not loaded."""
    environment: Given = ""
    run: int = 1
    root: Path | None = None
    """Base of relative paths, None for the current folder."""

    def loaded(self, *, alone: bool = False) -> Job:
        """Return the job with the experiment and the environment that its stack names. Raises `InputError` for a wrong
        stack, and unless `alone` for the own stack of an environment."""
        if self.stack is None:
            return self
        from trainform.spec.stack import STACK_ARGUMENT, OwnStackError, load_stack

        root = project_root()
        try:
            found = load_stack(require_named(self.stack, root), root, STACK_ARGUMENT)
        except OwnStackError as error:
            if not alone:
                raise
            return Job(self.word, self.stack, "", error.environment, root=root)
        return Job(self.word, self.stack, found.given, found.environment, found.run, root)

    def check(self) -> CheckedJob:
        """Check the experiment in the environment, with every problem of both."""
        from trainform.job.check import check_experiment

        job = self.loaded()
        return check_experiment(job.experiment, job.environment, job.run, job.root)


def jobs(words: Sequence[str], environments: Sequence[str], run: int | None = None) -> list[Job]:
    """Return a job for each stack, and for each experiment in each environment; without words, the environments.

    Raises `CommandLineError` if something is missing, or does not belong to a stack."""
    environments = named_environments(environments)
    chosen = [] if _from_shell(environments) else environments
    root = project_root()
    stacks = {word for word in words if _is_stack(word, chosen, root)}
    given = [name for name, is_given in {"-e": chosen, "--run": run is not None}.items() if is_given]
    if stacks and given:
        first = next(word for word in words if word in stacks)
        fix = f"the stack names both: remove {' and '.join(given)}"
        raise CommandLineError(f"{' and '.join(given)} cannot be used with the stack {first}", fix)
    if not words and run is not None:
        fix = "name an experiment, or remove --run"
        raise CommandLineError("--run counts the runs of an experiment, and none is named", fix)
    if not words and not environments:
        fix = "name a stack, an experiment, or an environment with -e"
        raise CommandLineError(f"Missing argument '{ARGUMENT}'", fix)
    others = [word for word in words if word not in stacks]
    if [*others, *environments].count(STANDARD_INPUT) > 1:
        raise CommandLineError("only one file can come from standard input", "give a name or a path for the others")
    read = {name: from_input(name) for name in [*others, *environments]}
    if not words:
        return [Job(name, environment=read[name]) for name in environments]
    number = 1 if run is None else run
    found = list[Job]()
    for word in words:
        if word in stacks:
            found.append(Job(word, stack=word))
        else:
            places = environments if environments else [only_environment(word, root)]
            found += [Job(word, None, read[word], read.get(name, name), number) for name in places]
    return found


def named_environments(given: Sequence[str]) -> list[str]:
    """Return each environment once. TRAINFORM_ENVIRONMENT is one path; typer would split it at spaces."""
    variable = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return [variable] if variable and [*given] == variable.split() else list(dict.fromkeys(given))


def _from_shell(environments: Sequence[str]) -> bool:
    """True if the environment comes from the shell's variable, which no stack needs."""
    return [*environments] == [os.environ.get(ENVIRONMENT_VARIABLE)]


def is_explicit(environment: str | None) -> bool:
    """True if the environment is an option of the command, not the shell's variable."""
    return environment is not None and not _from_shell([environment])


def is_stack(word: str, root: Path) -> bool:
    """True if the project has a stack of this name."""
    return os.path.lexists(root / path_of_stack(word.rpartition("/")[2]))


def _is_stack(word: str, environments: Sequence[str], root: Path) -> bool:
    """True if the word names a stack, also a misspelt one. environments: those of the command's options; a name of both
    kinds is then the experiment."""
    if word == STANDARD_INPUT or is_experiment(word, root):
        return not environments and is_stack(word, root)
    return not environments or is_stack(word, root)


def is_experiment(word: str, root: Path) -> bool:
    """True for the name of an experiment in the project, and for the path of a file."""
    is_file = word.endswith((".yaml", ".yml")) or ("/" in word and Path(word).is_file())
    return is_file or word in known_names(EXPERIMENTS, root)


def require_named(word: str, root: Path) -> str:
    """Return the word. Raises `InputError` if it is neither a stack nor an experiment, but could be both."""
    require_project(root)
    if not (is_stack(word, root) or is_experiment(word, root) or "/" in word or "." in word):
        from trainform.spec.names import did_you_mean

        known = [*dict.fromkeys([*known_names(EXPERIMENTS, root), *known_stacks(root)])]
        fix = did_you_mean(word, known) or (f"known: {list_names(known)}" if known else "run `trainform new`")
        raise InputError([Problem(ARGUMENT, word, "no stack and no experiment of the project has this name", fix)])
    return word


# --- the stack of an experiment


def stack_of(word: str, environment: str | None, root: Path) -> str:
    """Return the stack that the words name. Raises `InputError` or `CommandLineError` with the choices."""
    from trainform.spec.stack import STACK_ARGUMENT, require_stack

    explicit = is_explicit(environment)
    if is_experiment(word, root) and (explicit or not is_stack(word, root)):
        found = [*stacks_running(word, environment, root)]
        if len(found) == 1:
            return found[0]
        where = "" if environment is None else f" in {environment}"
        if found:
            raise CommandLineError(f"{len(found)} stacks run {word}{where}", f"name one: {' or '.join(found)}")
        fix = f"`trainform new {word} -e {environment or 'ENV'}` writes one"
        raise InputError([Problem(STACK_ARGUMENT, word, f"no stack of the project runs this experiment{where}", fix)])
    if explicit and is_stack(word, root):
        raise CommandLineError(f"-e cannot be used with the stack {word}", "the stack names it: remove -e")
    require_stack(require_named(word, root), root, STACK_ARGUMENT)
    return word


def stacks_running(experiment: str, environment: str | None, root: Path) -> dict[str, Stack]:
    """Return the stacks that run the experiment, in one environment or in any. A stack with a wrong file runs none.

    Raises `InputError` if the experiment or the environment has no file."""
    from trainform.spec.environment import Environment
    from trainform.spec.experiment import Experiment
    from trainform.spec.load import find_file, written_path
    from trainform.spec.stack import load_stack

    wanted = find_file(Experiment, experiment)[0].resolve()
    place = None if environment is None else find_file(Environment, environment)[0].resolve()
    found: dict[str, Stack] = {}
    for name in known_stacks(root):
        try:
            stack = load_stack(name, root)
        except InputError:
            continue
        is_there = place in (None, (root / written_path(Environment, stack.environment)).resolve())
        if is_there and (root / written_path(Experiment, stack.experiment)).resolve() == wanted:
            found[name] = stack
    return found


def only_environment(experiment: str, root: Path) -> str:
    """Return the environment of the stacks that run the experiment, or else the only one of the project. Raises
    `CommandLineError` with the choices."""
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
    from trainform.console.lines import note, stdin_is_terminal
    from trainform.spec import files
    from trainform.spec.load import Text

    if stdin_is_terminal():
        note("trainform: reading from the terminal; Ctrl-D on an empty line ends the input", err=True)
    return Text(files.STANDARD_INPUT, files.read_standard_input())
