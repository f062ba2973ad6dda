"""What a stack runs, and the files from which it follows."""

from __future__ import annotations

import os
from pathlib import Path

from trainform.errors import InputError, Problem, TrainformError
from trainform.job.check_files import load_experiment
from trainform.project import known_stacks, release_path, stack_path
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import find_file, written_path
from trainform.spec.stack import OwnStackError, Stack, load_stack


def chosen_by(stack: str, root: Path) -> Stack | str:
    """Return what the stack runs, or its environment if it is the environment's own. InputError for a bad file."""
    try:
        return load_stack(stack, root)
    except OwnStackError as error:
        return error.environment


def chosen_stacks(root: Path) -> dict[str, Stack | str]:
    """Return what each stack of the project runs. InputError with every problem of their files of config."""
    chosen, problems = dict[str, Stack | str](), list[Problem]()
    for stack in known_stacks(root):
        try:
            chosen[stack] = chosen_by(stack, root)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return chosen


def files_read(stack: str, chosen: Stack | str, root: Path) -> set[str]:
    """Return the files that the stack reads, from the project's folder on, also missing ones and targets of links."""
    environment = chosen if isinstance(chosen, str) else chosen.environment
    named = [stack_path(stack), written_path(Environment, environment)]
    if not isinstance(chosen, str):
        is_own, stem = chosen.release is None, Path(chosen.experiment).stem
        own = written_path(Experiment, chosen.experiment) if is_own else release_path(stem, str(chosen.release))
        named += [own, *_read_by(chosen, root)]
    real = os.path.realpath(root)
    behind_links = {os.path.relpath(os.path.realpath(root / name), real) for name in named}
    return {os.path.relpath(root / name, root) for name in named} | behind_links


def _read_by(chosen: Stack, root: Path) -> list[str]:
    """Return what an experiment reads next to its own file; nothing if it cannot be read."""
    try:
        model = load_experiment(chosen.given, root, chosen.environment).model
    except TrainformError:
        return []
    runtime = None if model is None else model.runtime
    return [] if runtime is None or runtime.file is None else [runtime.file]


def environment_file(environment: str, root: Path) -> Path | None:
    """The file of the environment that a stack names, links followed; None if there is none."""
    try:
        return find_file(Environment, environment, root)[0].resolve()
    except InputError:
        return None


def first_reason(error: TrainformError) -> str:
    """The first thing that is wrong, with its place, for the middle of a sentence."""
    first = error.problems[0] if isinstance(error, InputError) and error.problems else None
    return error.message if first is None else ": ".join(filter(None, [first.path or first.source, first.reason]))
