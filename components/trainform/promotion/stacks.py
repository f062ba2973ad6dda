"""The two stacks of a promotion, by their names or by their environments."""

from __future__ import annotations

import difflib
from pathlib import Path

from msgspec import Struct

from trainform.check_files import check_environment, load_experiment
from trainform.errors import InputError, Problem, list_names
from trainform.project import ENVIRONMENTS, EXPERIMENTS, RELEASES, known_names, known_stacks
from trainform.spec.environment import Environment
from trainform.spec.load import is_path
from trainform.spec.stack import OwnStackError, Stack, load_stack

ARGUMENT = "EXPERIMENT"


class Place(Struct, frozen=True):
    """A stack of the experiment. name: in the name of its file."""

    name: str
    stack: Stack
    environment: Environment


def require_name(experiment: str, root: Path) -> None:
    """Raise `InputError` for a path or a stack in the place of a name: releases and stacks have the name alone."""
    known = known_names(EXPERIMENTS, root)
    if is_path(experiment) or experiment in ("", ".", ".."):
        reason, meant = "this is not the name of an experiment", Path(experiment).stem
    elif experiment in known_stacks(root) and experiment not in known:
        reason, meant = "this is the name of a stack, and not that of an experiment", _run_by(experiment, root)
    else:
        return
    fix = f"write {meant}" if meant in known else f"known: {list_names(known)}"
    raise InputError([Problem(ARGUMENT, experiment, reason, fix)])


def _run_by(stack: str, root: Path) -> str:
    """The experiment that the stack runs; "" if it runs none, or if nobody knows."""
    try:
        return experiment_of(load_stack(stack, root), root)
    except InputError:
        return ""


def places(experiment: str, source: str, target: str, root: Path) -> tuple[Place, Place]:
    """Both stacks; InputError with every problem of the words."""
    require_name(experiment, root)
    problems: list[Problem] = []
    found: list[Place] = []
    for option, word in (("--from", source), ("--to", target)):
        try:
            found.append(_place(experiment, option, word, root))
        except InputError as error:
            problems += error.problems
    if not problems and found[0].name == found[1].name:
        problems.append(Problem("--to", target, "this is the stack from which the release comes", "name another one"))
    if problems:  # what is wrong with the experiment makes the stacks wrong too, and both of them say how to mend it
        of_experiment = {problem.fix: problem for problem in reversed(problems) if problem.path == ARGUMENT}
        raise InputError(of_experiment.values() or problems)
    return found[0], found[1]


def _place(experiment: str, option: str, word: str, root: Path) -> Place:
    """The stack of this name. An environment's own stack has the environment's name, and stands for it."""
    short = word.rpartition("/")[2]
    if short not in known_stacks(root):
        return _place_in(experiment, option, word, root)
    try:
        stack = load_stack(word, root, option)
    except OwnStackError as own:
        return _place_in(experiment, option, Path(own.environment).stem, root)
    runs = experiment_of(stack, root)
    if (
        runs != experiment
        and experiment not in known_names(EXPERIMENTS, root)
        and not (root / "stacks" / RELEASES / experiment).is_dir()
    ):
        reason = f"no experiment of the project has this name; the stack {word} runs {runs}"
        raise InputError([Problem(ARGUMENT, experiment, reason, f"write {runs}")])
    if runs != experiment:
        raise InputError([Problem(option, word, f"this stack runs {runs}", f"name a stack of {experiment}")])
    return Place(short, stack, check_environment(stack.environment, root).checked())


def _place_in(experiment: str, option: str, word: str, root: Path) -> Place:
    """The only stack of the experiment in the environment of this name."""
    if word not in known_names(ENVIRONMENTS, root):
        names = list(dict.fromkeys([*known_names(ENVIRONMENTS, root), *known_stacks(root)]))
        near = difflib.get_close_matches(word, names, 1)
        fix = f"did you mean {near[0]}?" if near else f"known: {list_names(names)}"
        raise InputError([Problem(option, word, "no stack and no environment of the project has this name", fix)])
    environment = check_environment(word, root).checked()
    there, unread = _stacks_in(word, root)
    found = {name: stack for name, stack in there.items() if experiment_of(stack, root) == experiment}
    if len(found) == 1:
        ((name, stack),) = found.items()
        return Place(name, stack, environment)
    meant = unread.get(f"{experiment}.{word}")
    if not found and meant is not None:
        raise meant
    several = f"{list_names(found)} run {experiment} there"
    known = f", as far as is known: the files of {list_names(unread)} cannot be read" if unread else ""
    reason = several if found else f"no stack of the project runs {experiment} there{known}"
    fix = "name one of them" if found else _new(experiment, word, root)
    raise InputError([Problem(option, word, reason, fix)])


def _stacks_in(environment: str, root: Path) -> tuple[dict[str, Stack], dict[str, InputError]]:
    """The stacks in the environment, and what is wrong with those of which nobody knows where they are."""
    found, unread = dict[str, Stack](), dict[str, InputError]()
    for name in known_stacks(root):
        try:
            stack = load_stack(name, root)
        except OwnStackError:
            continue
        except InputError as error:
            unread[name] = error
            continue
        if Path(stack.environment).stem == environment:
            found[name] = stack
    return found, unread


def experiment_of(stack: Stack, root: Path) -> str:
    """The experiment's name. A name in `stacks/experiments` is that of the file too, which need not be read, and may be
    wrong by now."""
    return load_experiment(stack.given, root).checked().name if is_path(stack.experiment) else stack.experiment


def _new(experiment: str, environment: str, root: Path) -> str:
    if experiment in known_names(EXPERIMENTS, root):
        return f"`trainform new {experiment} -e {environment}` writes one"
    near = difflib.get_close_matches(experiment, known_names(EXPERIMENTS, root), 1)
    return f"did you mean {near[0]}?" if near else "`trainform stacks` shows what is deployed"
