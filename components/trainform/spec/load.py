"""Read a file of the user as a model, and report every problem of the file at once.

Names find files: `sdxl-lora` is `stacks/experiments/sdxl-lora.yaml` of the nearest folder above that has a
`Pulumi.yaml`; anything with a slash or a suffix is a path.
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
from trainform.project import ENVIRONMENTS, EXPERIMENTS, known_names, known_stacks, require_project
from trainform.project import project_root as project_root
from trainform.spec.environment import Environment
from trainform.spec.experiment import OVERLAYS, Experiment
from trainform.spec.explain import NOTHING, explain, locate
from trainform.spec.names import did_you_mean
from trainform.spec.numbers import misread
from trainform.spec.read import Content, parse_mapping, read_content, read_mapping
from trainform.spec.release import Released, released_experiment
from trainform.spec.source import Source

# What a file of the kind is called, its folder in `stacks/`, and the command that writes one.
FOLDERS: dict[type[BaseModel], tuple[str, str, str]] = {
    Experiment: ("experiment", EXPERIMENTS, "trainform new {name} -e ENV"),
    Environment: ("environment", ENVIRONMENTS, "trainform new -e {name}"),
}
# What stands in for a field that must be there and is wrong, only so that the rest can be checked.
STAND_INS: dict[type[BaseModel], dict[str, Any]] = {
    Experiment: {"name": "unnamed", "image": "unnamed", "launcher": {"command": ["unnamed"]}},
    Environment: {"name": "unnamed", "namespace": {"name": "unnamed"}},
}
MOST_ROUNDS = 8  # a wrong value, then the missing key, then the part that needed the key, and so on upwards

ModelT = TypeVar("ModelT", bound=BaseModel)


class Text(Struct, frozen=True):
    """The text of an experiment or an environment that is in no file. `name`: how to call it in messages."""

    name: str
    text: str


Given = str | Text | Released
"""A name, a path, the text itself, or a release of an experiment."""


class Loaded(Struct, Generic[ModelT], frozen=True):
    """A file as read. `model` is None if the file is too broken to go on. If there are problems, it holds the part that
    is right, so that rules on the whole file can still be checked and all problems come at once."""

    model: ModelT | None
    problems: tuple[Problem, ...]
    source: Source
    left_out: frozenset[str] = frozenset()
    """Names that the file defines wrongly, so that they are not in the model: what refers to them is not wrong for
    that."""
    data: Mapping[str, Any] | None = None
    """What is in the file, with what is wrong in it; None of a model."""

    def checked(self) -> ModelT:
        """The model; InputError where there is any problem."""
        if self.problems or self.model is None:
            raise InputError(self.problems)
        return self.model


def find_file(kind: type[BaseModel], name_or_path: str, root: Path | None = None) -> tuple[Path, str]:
    """Return the path of the file, and its name in messages. `root`: None if paths count from the current folder.

    Raises InputError if there is no such file, and CommandLineError if there is no project that could have it.
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
    if kind is Experiment and name_or_path in known_stacks(root):
        fix = f"it is a stack, which names both files: -s {name_or_path}"
    elif not fix:
        new = command.format(name=shlex.quote(shorten(name_or_path)))
        fix = f"known: {', '.join(known)}" if known else f"run `{new}`"
    raise InputError([Problem(word, name_or_path, f"no file of stacks/{folder_name}/ has this name", fix)])


def written_path(kind: type[BaseModel], name_or_path: str) -> str:
    """Return the path of the file as messages have it; that of a name counts from the project's folder."""
    return name_or_path if is_path(name_or_path) else f"stacks/{FOLDERS[kind][1]}/{name_or_path}.yaml"


def load(kind: type[ModelT], given: Given, root: Path | None = None) -> Loaded[ModelT]:
    """Read the file; problems of its content are in the result."""
    path, name = find_file(kind, given, root) if isinstance(given, str) else (Path(), given.name)
    try:
        content = _content(given, path, name, root)
    except InputError as error:
        missing = isinstance(given, str) and not os.path.lexists(path)
        near = did_you_mean(path.stem, known_names(FOLDERS[kind][1], root)) if missing else ""
        problems = [dataclasses.replace(error.problems[0], fix=near)] if near else error.problems
        return Loaded(None, tuple(problems), Source(name, {}))
    parsed = parse(kind, content.data, content.source.written)
    copied = _copied(kind, path, content.data.get("name"), root) if isinstance(given, str) else []
    wrong_name = any(problem.path == "name" for problem in parsed.problems)
    found = [content.source.locate(problem) for problem in [*parsed.problems, *([] if wrong_name else copied)]]
    return Loaded(parsed.model, (*content.problems, *found), content.source, parsed.left_out, content.data)


def _content(given: Given, path: Path, name: str, root: Path | None) -> Content:
    if isinstance(given, Released):
        return released_experiment(given, project_root() if root is None else root, by_path=is_path(given.experiment))
    return parse_mapping(given.text, name) if isinstance(given, Text) else read_content(path, name)


def is_path(name_or_path: str) -> bool:
    """Return True for a path to a file, False for a name."""
    return "/" in name_or_path or name_or_path.endswith((".yaml", ".yml"))


def _copied(kind: type[BaseModel], path: Path, name: object, root: Path | None) -> list[Problem]:
    """Return a problem if a file of the project has the name of another one, whose objects it would take over."""
    folder = (project_root() if root is None else root) / "stacks" / FOLDERS[kind][1]
    in_project = path.suffix == ".yaml" and path.parent.resolve() == folder.resolve()
    if not (in_project and isinstance(name, str) and name != path.stem):
        return []
    reason = f"the name is not that of the file, and {name}.yaml may have the objects of that name"
    return [Problem("name", name, reason, f"write `name: {path.stem}`, or rename the file to {name}.yaml")]


def read_runtime(loaded: Loaded[Experiment], root: Path | None = None) -> Loaded[Experiment]:
    """The experiment with what the file of its runtime holds."""
    if loaded.model is None:
        return loaded
    try:
        return structs.replace(loaded, model=with_runtime_file(loaded.model, root))
    except InputError as error:
        return structs.replace(loaded, problems=(*loaded.problems, *error.problems))


def with_runtime_file(experiment: Experiment, root: Path | None = None) -> Experiment:
    """Return the experiment with the content of `runtime.file`. Raises InputError if that is not a mapping."""
    runtime = experiment.runtime
    if runtime is None or runtime.file is None or runtime.content is not None:
        return experiment
    path = (project_root() if root is None else root) / runtime.file
    content, _ = read_mapping(path, runtime.file)
    return experiment.model_copy(update={"runtime": runtime.with_content(content)})


def load_environment(given: Given, root: Path | None = None) -> Loaded[Environment]:
    """`load` for an environment."""
    return load(Environment, given, root)


class Parsed(Struct, Generic[ModelT], frozen=True):
    """Data as a model, with everything that is wrong in it."""

    model: ModelT | None
    problems: list[Problem]
    left_out: frozenset[str] = frozenset()


def parse(kind: type[ModelT], data: dict[str, Any], written: Mapping[str, str] = NOTHING) -> Parsed[ModelT]:
    """The model and all problems of the data; `written` as in `Source`. Wrong parts are left out, what must be there is
    stood in for, and the rest is read again, so that a wrong value in one place does not hide one in another."""
    own = {key: value for key, value in data.items() if key != OVERLAYS}
    problems = [*misread(own, written)] if written else []
    left_out: set[str] = set()
    stand_ins = STAND_INS.get(kind, {})
    rest = data
    for _ in range(MOST_ROUNDS):
        try:
            return Parsed(kind.model_validate(rest), problems, frozenset(left_out))
        except ValidationError as error:
            if rest is data:
                wrong = explain(kind, data, error, written)
                places = {problem.path for problem in wrong}
                problems = [*wrong, *(problem for problem in problems if problem.path not in places)]
            paths = [locate(rest, detail) for detail in error.errors()]
            rest = copy.deepcopy(rest)
            for path in paths:
                removed = _leave_out(rest, path)
                left_out.update(_names(removed))
                if removed is None and path and path[0] in stand_ins:
                    rest[str(path[0])] = stand_ins[str(path[0])]
                elif removed is None:
                    return Parsed(None, problems)
    return Parsed(None, problems)


def _leave_out(data: Any, path: tuple[str | int, ...]) -> tuple[Any, ...] | None:
    """Remove the value at the path, or its nearest parent; return path and value, None if nothing is left."""
    if not path:
        return None
    parent = data
    for part in path[:-1]:
        try:
            parent = parent[part]
        except (KeyError, IndexError, TypeError):
            return path, None  # went with an earlier problem
    if isinstance(parent, dict) and path[-1] in parent:
        return path, parent.pop(path[-1])
    return _leave_out(data, path[:-1])


def _names(removed: tuple[Any, ...] | None) -> set[str]:
    """The names that went with the part: `roles.worker` defines one, `roles` each of its keys."""
    if removed is None:
        return set()
    path, value = removed
    if len(path) == 1 and isinstance(value, dict | list):
        return {str(name) for name in value}
    return {str(path[1])} if len(path) == 2 else set()


def name_of(given: object, kind: str) -> str:
    """What was given for an experiment or environment that has no model; a value of another type has no name."""
    if isinstance(given, Experiment | Environment | Text | Released):
        return given.name
    return given if isinstance(given, str) else kind


def parameter_problems(kind: type[BaseModel], given: object) -> list[Problem]:
    """A problem if what was given for an experiment or environment is nothing of the kind."""
    name = kind.__name__
    needed = f"a model {name}, or the name or path of its file as text"
    return type_problems(
        name.lower(),
        given,
        (kind, str, Text, Released),
        needed,
        f"write `{name}.model_validate({{…}})`, or the name as text",
    )


def type_problems(path: str, given: object, kinds: type | tuple[type, ...], needed: str, fix: str) -> list[Problem]:
    """A problem if a value from a Python program has none of these types. It is not shown: secrets may be in it."""
    if isinstance(given, kinds):
        return []
    return [Problem(path, None, f"the value is of the type {type(given).__name__}, and must be {needed}", fix)]
