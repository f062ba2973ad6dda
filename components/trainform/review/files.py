"""The files of a stack: the experiment in its environment as they are now, and where their fields stand."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from trainform.check import CheckedJob, check_environment, check_experiment
from trainform.check_platform import CheckedPlatform, check_platform
from trainform.errors import InputError, Problem, TrainformError
from trainform.project import stack_path
from trainform.review.limits import OF_ENVIRONMENT
from trainform.review.model import NotChecked, Place
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import load_experiment, written_path
from trainform.spec.source import NOWHERE, Source
from trainform.spec.stack import OwnStackError, Stack, load_stack

WHAT = "files"


@dataclasses.dataclass(frozen=True)
class StackFiles:
    """What the files of a stack hold. checked: the environment alone for its own stack; None where the files cannot be read. left_out: why not."""

    checked: CheckedJob | CheckedPlatform | None = None
    environment: Environment | None = None
    experiment_source: Source = NOWHERE
    environment_source: Source = NOWHERE
    left_out: tuple[NotChecked, ...] = ()

    def locate(self, path: str) -> Place:
        """Where a path stands; one that begins with `environment.` is of the environment."""
        own = path.startswith(OF_ENVIRONMENT)
        source = self.environment_source if own else self.experiment_source
        found = source.locate(Problem(path.removeprefix(OF_ENVIRONMENT) if own else path, None, "", ""))
        return Place(path=path, file=found.source, line=found.line)


def chosen_by(stack: str, root: Path) -> Stack | str:
    """What the stack runs; the name of the environment if it is an environment's own. InputError if the stack's file is wrong."""
    try:
        return load_stack(stack, root)
    except OwnStackError as error:
        return error.environment


def files_read(stack: str, chosen: Stack | str, root: Path) -> set[str]:
    """The files from which the stack follows, from the project's folder on: those that are named, whether they are there or not, and those to which links lead."""
    environment = chosen if isinstance(chosen, str) else chosen.environment
    named = [stack_path(stack), written_path(Environment, environment)]
    if not isinstance(chosen, str):
        named += [written_path(Experiment, chosen.experiment), *_read_by(chosen.experiment, root)]
    return {
        os.path.relpath(path, start)
        for name in named
        for path, start in ((root / name, root), ((root / name).resolve(), root.resolve()))
    }


def _read_by(experiment: str, root: Path) -> list[str]:
    """What an experiment reads beside its own file. Of one that cannot be read nothing is known."""
    try:
        model = load_experiment(experiment, root).model
    except TrainformError:
        return []
    runtime = None if model is None else model.runtime
    return [] if runtime is None or runtime.file is None else [runtime.file]


def stack_files(chosen: Stack | str, root: Path) -> StackFiles:
    """The files of what a stack runs. What cannot be read is left out, with the reason."""
    try:
        return _of_environment(chosen, root) if isinstance(chosen, str) else _of_experiment(chosen, root)
    except TrainformError as error:
        return without_files(error)


def without_files(error: TrainformError) -> StackFiles:
    """The files of a stack that cannot be read."""
    first = error.problems[0] if isinstance(error, InputError) and error.problems else None
    reason = error.message if first is None else ": ".join(filter(None, [first.path or first.source, first.reason]))
    return StackFiles(left_out=(NotChecked(what=WHAT, reason=f"The files of the stack cannot be read: {reason}."),))


def _of_experiment(chosen: Stack, root: Path) -> StackFiles:
    checked = check_experiment(chosen.experiment, chosen.environment, chosen.run, root)
    experiment, environment = checked.sources
    # what is wrong with the experiment alone leaves the environment, which says where the cluster is
    model = check_environment(chosen.environment, root).model if checked.job is None else checked.job.environment
    return StackFiles(checked, model, experiment, environment, _unread(checked))


def _unread(checked: CheckedJob) -> tuple[NotChecked, ...]:
    if checked.job is not None:
        return ()
    return without_files(InputError(checked.problems)).left_out


def _of_environment(name: str, root: Path) -> StackFiles:
    loaded = check_environment(name, root)
    if loaded.model is None:
        return without_files(InputError(loaded.problems))
    return StackFiles(check_platform(name, root), loaded.model, environment_source=loaded.source)
