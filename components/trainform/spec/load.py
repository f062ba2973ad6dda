"""Read a file of the user as a model, and report every problem of the file at once.

A name such as `sdxl-lora` stands for `stacks/experiments/sdxl-lora.yaml` of the project, which is the nearest folder
above with a `Pulumi.yaml`. Anything with a slash or a suffix is a path.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs
from pydantic import BaseModel, ValidationError

from trainform.errors import InputError, Problem, shorten
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, require_project
from trainform.project import project_root as project_root
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.explain import NOTHING, explain, locate
from trainform.spec.names import did_you_mean
from trainform.spec.read import NOWHERE, Content, Source, parse_mapping, read_content, read_mapping
from trainform.spec.release import ReleasedExperiment, released_experiment

# For each kind of file: its word in messages, its folder in `stacks/`, and the command that writes one.
FOLDERS: dict[type[BaseModel], tuple[str, str, str]] = {
    Experiment: ("experiment", EXPERIMENTS, "trainform new {name} -e ENV"),
    Environment: ("environment", ENVIRONMENTS, "trainform new -e {name}"),
}
# Values for required fields that are missing or wrong, so that the rest of the file can be checked.
FILLERS: dict[type[BaseModel], dict[str, Any]] = {
    Experiment: {"name": "unnamed", "image": "unnamed", "launcher": {"command": ["unnamed"]}},
    Environment: {"name": "unnamed", "namespace": {"name": "unnamed"}},
}
MOST_ROUNDS = 8  # removing a wrong value may leave a key missing, and so on upwards

ModelT = TypeVar("ModelT", bound=BaseModel)


class Text(Struct, frozen=True):
    """The text of an experiment or an environment that is not in a file."""

    name: str  # for messages
    text: str


Given = str | Text | ReleasedExperiment
"""A name, a path, the text itself, or a release of an experiment."""


class LoadResult(Struct, Generic[ModelT], frozen=True):
    """The result of reading a file, or data."""

    model: ModelT | None
    """The valid part of the file, so that rules can still be checked if there are problems; None if nothing is left."""
    problems: tuple[Problem, ...]
    source: Source
    left_out: frozenset[str] = frozenset()
    """Names whose definition in the file is wrong. The model lacks them, and references to them are not reported."""
    data: Mapping[str, Any] | None = None
    """The data of the file, with its mistakes; None if a model or data was given instead of a file."""
    local_files: frozenset[str] = frozenset()
    """Names of the local files that an experiment names, also of those that cannot be read."""

    def or_raise(self) -> ModelT:
        """Return the model. Raises `InputError` if there is any problem."""
        if self.problems or self.model is None:
            raise InputError(self.problems)
        return self.model


def find_file(kind: type[BaseModel], name_or_path: str, root: Path | None = None) -> tuple[Path, str]:
    """Return the path of the file, and its name in messages. `root`: None if paths are relative to the current folder.

    Raises InputError if there is no such file, and CommandLineError if there is no project.
    """
    word, folder_name, command = FOLDERS[kind]
    written = written_path(kind, name_or_path)
    if is_path(name_or_path):
        return (Path() if root is None else root) / written, written
    root = project_root() if root is None else root
    known = known_names(folder_name, root)
    if name_or_path in known:
        return root / written, written
    if not known:
        require_project(root)
    fix = did_you_mean(name_or_path, known)
    if not fix:
        new = command.format(name=shlex.quote(shorten(name_or_path)))
        fix = f"known: {', '.join(known)}" if known else f"run `{new}`"
    raise InputError([Problem(word, name_or_path, f"no file of stacks/{folder_name}/ has this name", fix)])


def written_path(kind: type[BaseModel], name_or_path: str) -> str:
    """Return the path of the file for messages. The path for a name is relative to the project's folder."""
    return name_or_path if is_path(name_or_path) else f"stacks/{FOLDERS[kind][1]}/{name_or_path}.yaml"


def load(kind: type[ModelT], given: Given, root: Path | None = None) -> LoadResult[ModelT]:
    """Return the file as read, with the problems of its content."""
    path, name = find_file(kind, given, root) if isinstance(given, str) else (Path(), given.name)
    try:
        content = _content(given, path, name, root)
    except InputError as error:
        missing = isinstance(given, str) and not os.path.lexists(path)
        near = did_you_mean(path.stem, known_names(FOLDERS[kind][1], root)) if missing else ""
        unread = [dataclasses.replace(error.problems[0], fix=near)] if near else error.problems
        return LoadResult(None, tuple(unread), Source(name, {}))
    parsed = parse(kind, content.data, content.source.written)
    copied = _copied(kind, path, content.data.get("name"), root) if isinstance(given, str) else []
    wrong_name = any(problem.path == "name" for problem in parsed.problems)
    found = [content.source.locate(problem) for problem in [*parsed.problems, *([] if wrong_name else copied)]]
    problems = (*content.problems, *found)
    return structs.replace(parsed, problems=problems, source=content.source, data=content.data)


def _content(given: Given, path: Path, name: str, root: Path | None) -> Content:
    if isinstance(given, ReleasedExperiment):
        return released_experiment(given, project_root() if root is None else root, by_path=is_path(given.experiment))
    return parse_mapping(given.text, name) if isinstance(given, Text) else read_content(path, name)


def is_path(name_or_path: str) -> bool:
    """Return True for a path to a file, False for a name."""
    return "/" in name_or_path or name_or_path.endswith((".yaml", ".yml"))


def _copied(kind: type[BaseModel], path: Path, name: object, root: Path | None) -> list[Problem]:
    """Return a problem if a file of the project has another file's name in it, and would take over its objects."""
    folder = (project_root() if root is None else root) / "stacks" / FOLDERS[kind][1]
    in_project = path.suffix == ".yaml" and path.parent.resolve() == folder.resolve()
    if not (in_project and isinstance(name, str) and name != path.stem):
        return []
    reason = f"the name is not that of the file, and {name}.yaml may have the objects of that name"
    return [Problem("name", name, reason, f"write `name: {path.stem}`, or rename the file to {name}.yaml")]


def read_runtime(loaded: LoadResult[Experiment], root: Path | None = None) -> LoadResult[Experiment]:
    """Return the experiment with the content of `runtime.file`, or with the problems of that file."""
    experiment = loaded.model
    runtime = None if experiment is None else experiment.runtime
    if experiment is None or runtime is None or runtime.file is None or runtime.content is not None:
        return loaded
    loaded = structs.replace(loaded, local_files=loaded.local_files | {runtime.file})
    try:
        content, _ = read_mapping((project_root() if root is None else root) / runtime.file, runtime.file)
    except InputError as error:
        return structs.replace(loaded, problems=(*loaded.problems, *error.problems))
    read = experiment.model_copy(update={"runtime": runtime.attach_content(content)})
    return structs.replace(loaded, model=read)


def load_environment(given: Given, root: Path | None = None) -> LoadResult[Environment]:
    """Return the environment as read; see `load`."""
    return load(Environment, given, root)


def parse(kind: type[ModelT], data: dict[str, Any], written: Mapping[str, str] = NOTHING) -> LoadResult[ModelT]:
    """Return the model and all problems of the data. `written`: see `Source`.

    Wrong parts are removed and required fields filled, so that one wrong value does not hide another one.
    """
    problems: list[Problem] = []
    left_out: set[str] = set()
    fillers = FILLERS.get(kind, {})
    rest = data
    for _ in range(MOST_ROUNDS):
        try:
            model = kind.__pydantic_validator__.validate_python(rest)
            return LoadResult(model, tuple(problems), NOWHERE, frozenset(left_out))
        except ValidationError as error:
            if rest is data:
                problems = explain(kind, data, error, written)
            paths = [locate(rest, detail) for detail in error.errors()]
            rest = copy.deepcopy(rest)
            for path in paths:
                removed = _leave_out(rest, path)
                left_out.update(_names(removed))
                if removed is None and path and path[0] in fillers:
                    rest[str(path[0])] = fillers[str(path[0])]
                elif removed is None:
                    return LoadResult(None, tuple(problems), NOWHERE)
    return LoadResult(None, tuple(problems), NOWHERE)


def _leave_out(data: Any, path: tuple[str | int, ...]) -> tuple[Any, ...] | None:
    """Remove the value at the path, or its nearest parent. Return its path and value, or None if there is none."""
    if not path:
        return None
    parent = data
    for part in path[:-1]:
        try:
            parent = parent[part]
        except (KeyError, IndexError, TypeError):
            return path, None  # removed with an earlier problem
    if isinstance(parent, dict) and path[-1] in parent:
        return path, parent.pop(path[-1])
    return _leave_out(data, path[:-1])


def _names(removed: tuple[Any, ...] | None) -> set[str]:
    """Return the names that the removed part defined: `roles.worker` defines one, `roles` each of its keys."""
    if removed is None:
        return set()
    path, value = removed
    if len(path) == 1 and isinstance(value, dict | list):
        return {str(name) for name in value}
    return {str(path[1])} if len(path) == 2 else set()


def name_of(given: object, kind: str) -> str:
    """Return the name of an experiment or environment argument; for a value of another type, `kind`."""
    if isinstance(given, Experiment | Environment | Text | ReleasedExperiment):
        return given.name
    return given if isinstance(given, str) else kind


def parameter_problems(kind: type[BaseModel], given: object) -> list[Problem]:
    """Return a problem if the argument is not an experiment or environment, a name or a path."""
    name = kind.__name__
    needed = f"a model {name}, or the name or path of its file as text"
    return type_problems(
        name.lower(), given, (kind, str, Text, ReleasedExperiment), needed, f"write `{name}(…)`, or the name as text"
    )


def type_problems(path: str, given: object, kinds: type | tuple[type, ...], needed: str, fix: str) -> list[Problem]:
    """Return a problem if a value of a program has none of these types. It is not shown: it may be a secret."""
    if isinstance(given, kinds):
        return []
    return [Problem(path, None, f"the value is of the type {type(given).__name__}, and must be {needed}", fix)]
