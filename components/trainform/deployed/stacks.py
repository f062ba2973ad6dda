"""The stacks of the project: what the file of each names, with its experiment and its environment."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct

from trainform.errors import InputError, Problem, TrainformError, each_result, list_names
from trainform.job.check import check_environment, load_experiment
from trainform.plan.inputs import resolved
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_stacks, release_path, stack_path
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import find_file, is_path, written_path
from trainform.spec.names import did_you_mean
from trainform.spec.release import digest
from trainform.spec.stack import STACK, Stack, load_any_stack, load_stack, project_name

ARGUMENT = "EXPERIMENT"
Load = Callable[[str], Environment]


class ProjectStack(Struct, frozen=True):
    """A stack of the project.

    name: in the name of its file. stack: what its file sets. experiment: "" for an environment's own stack.
    """

    name: str
    stack: Stack
    experiment: str
    environment: Environment
    project: str

    @property
    def full_name(self) -> str:
        """Return Pulumi's name of it, PROJECT/STACK: it is the mark on the record of what the stack has deployed."""
        return f"{self.project}/{self.name}"

    @property
    def namespace(self) -> str:
        """Return the namespace of its objects."""
        return self.environment.namespace.name


def load_project_stack(name: str, root: Path, given: str = STACK) -> ProjectStack:
    """Load a stack and its environment. InputError with every problem of the files. given: the word that named it."""
    return _loaded(name, root, _environments(root), given)


def load_project_stacks(names: Iterable[str], root: Path) -> tuple[list[ProjectStack], dict[str, InputError]]:
    """Load several stacks; those whose files cannot be read, with the errors, come second."""
    found, unread, load = list[ProjectStack](), dict[str, InputError](), _environments(root)
    for name in names:
        try:
            found.append(_loaded(name, root, load))
        except InputError as error:
            unread[name] = error
    return found, unread


def _loaded(name: str, root: Path, load: Load, given: str = STACK) -> ProjectStack:
    stack = load_any_stack(name, root, given)
    runs = experiment_of(stack, root) if stack.experiment else ""
    return ProjectStack(name.rpartition("/")[2], stack, runs, load(stack.environment), project_name(root))


def _environments(root: Path) -> Load:
    """Return a function that reads the file of each environment once."""
    return functools.cache(lambda name: check_environment(name, root).or_raise())


def stacks_by_name(root: Path) -> dict[str, Stack]:
    """Return all stacks of the project by their names. InputError with every problem of their files of config."""
    names = known_stacks(root)
    return dict(zip(names, each_result(lambda name: load_any_stack(name, root), names), strict=True))


def environment_file(environment: str, root: Path) -> Path | None:
    """Return the file of the environment that a stack names, links followed; None if there is none."""
    try:
        return find_file(Environment, environment, root)[0].resolve()
    except InputError:
        return None


def files_read(stack: str, runs: Stack, root: Path) -> set[str]:
    """Return the files that the stack reads, from the project's folder on, also missing ones and targets of links."""
    named = [stack_path(stack), written_path(Environment, runs.environment)]
    if runs.experiment:
        is_own, stem = runs.release is None, Path(runs.experiment).stem
        own = written_path(Experiment, runs.experiment) if is_own else release_path(stem, str(runs.release))
        named += [own, *_local_files(runs, root)]
    real = os.path.realpath(root)
    behind_links = {os.path.relpath(os.path.realpath(root / name), real) for name in named}
    return {os.path.relpath(root / name, root) for name in named} | behind_links


def _local_files(runs: Stack, root: Path) -> Collection[str]:
    """Return the local files that the experiment names; nothing if the experiment cannot be read."""
    try:
        return load_experiment(runs.given, root, runs.environment).local_files
    except TrainformError:
        return ()


def experiment_of(stack: Stack, root: Path) -> str:
    """Return the name of the experiment. Only a path needs its file to be read, which may be wrong by now."""
    return load_experiment(stack.given, root).or_raise().name if is_path(stack.experiment) else stack.experiment


def has_file(stack: ProjectStack, root: Path) -> bool:
    """Return False if no file has the experiment: a program makes it, and the stack's file only names it."""
    named = stack.stack
    return named.release is not None or is_path(named.experiment) or named.experiment in known_names(EXPERIMENTS, root)


def is_pending(stack: ProjectStack, deployed: str, root: Path) -> bool:
    """Return whether the experiment that the stack's file names, as a release or a file, is another one than the one
    that is deployed, of which this is the digest. InputError if it cannot be read."""
    return digest(resolved(load_experiment(stack.stack.given, root, stack.environment.name).or_raise())) != deployed


def followed(release: str | None) -> str:
    """Return what a stack follows, as the end of a sentence."""
    return "the experiment's file" if release is None else f"release {release}"


# --- stacks of an experiment, by their names or environments


def stacks_running(experiment: str, environment: str | None, root: Path) -> dict[str, Stack]:
    """Return the stacks that run the experiment, in one environment or in any. A stack with a wrong file runs none.

    Raises `InputError` if the experiment or the environment has no file."""
    wanted = find_file(Experiment, experiment)[0].resolve()
    place = None if environment is None else find_file(Environment, environment)[0].resolve()
    found = dict[str, Stack]()
    for name in known_stacks(root):
        try:
            stack = load_stack(name, root)
        except InputError:
            continue
        is_there = place in (None, (root / written_path(Environment, stack.environment)).resolve())
        if is_there and (root / written_path(Experiment, stack.experiment)).resolve() == wanted:
            found[name] = stack
    return found


def require_name(experiment: str, root: Path) -> None:
    """Raise `InputError` for a path or a stack instead of a name: releases and stacks have the name alone."""
    known = known_names(EXPERIMENTS, root)
    is_stack = experiment in known_stacks(root) and experiment not in known
    if is_stack or is_path(experiment) or experiment in ("", ".", ".."):
        fix = f"known: {list_names(known)}"
        raise InputError([Problem(ARGUMENT, experiment, "this is not the name of an experiment", fix)])


def places(experiment: str, source: str, target: str, root: Path) -> tuple[ProjectStack, ProjectStack]:
    """Return the stacks of a promotion. InputError with every problem of the words."""
    require_name(experiment, root)
    words = {"--from": source, "--to": target}
    found = each_result(lambda option: _place(experiment, option, words[option], root), words)
    if found[0].name == found[1].name:
        reason = "this is the stack from which the release comes"
        raise InputError([Problem("--to", target, reason, "name another one")])
    return found[0], found[1]


def _place(experiment: str, option: str, word: str, root: Path) -> ProjectStack:
    """Return the stack of this name, or the experiment's stack in the environment of this name."""
    if word.rpartition("/")[2] not in known_stacks(root):
        return _place_in(experiment, option, word, root)
    found = load_project_stack(word, root, option)
    if not found.experiment:
        return _place_in(experiment, option, Path(found.stack.environment).stem, root)
    if found.experiment == experiment:
        return found
    fix = f"name a stack of {experiment}, or promote {found.experiment}"
    raise InputError([Problem(option, word, f"this stack runs {found.experiment}", fix)])


def _place_in(experiment: str, option: str, word: str, root: Path) -> ProjectStack:
    """Return the only stack of the experiment in the environment of this name."""
    if word not in known_names(ENVIRONMENTS, root):
        names = list(dict.fromkeys([*known_names(ENVIRONMENTS, root), *known_stacks(root)]))
        fix = did_you_mean(word, names) or f"known: {list_names(names)}"
        raise InputError([Problem(option, word, "no stack and no environment of the project has this name", fix)])
    check_environment(word, root).or_raise()
    loaded, unread = load_project_stacks(known_stacks(root), root)
    found = [each for each in loaded if each.experiment == experiment and Path(each.stack.environment).stem == word]
    if len(found) == 1:
        return found[0]
    if found:
        reason, fix = f"{list_names([each.name for each in found])} run {experiment} there", "name one of them"
    else:
        unknown = f"; the files of {list_names(unread)} cannot be read" if unread else ""
        reason, known = f"no stack of the project runs {experiment} there{unknown}", known_names(EXPERIMENTS, root)
        fix = f"`trainform new {experiment} -e {word}` writes one"
        if experiment not in known:
            fix = did_you_mean(experiment, known) or "`trainform stacks` shows what is deployed"
    raise InputError([Problem(option, word, reason, fix)])
