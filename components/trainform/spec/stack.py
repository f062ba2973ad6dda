"""A stack's experiment and environment, read from `stacks/Pulumi.STACK.yaml` and the project's `Pulumi.yaml`."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.console.files import read_text
from trainform.errors import InputError, Problem, each_result
from trainform.project import ENVIRONMENTS, EXPERIMENTS, PROJECT_FILE, known_names, known_stacks, stack_path
from trainform.spec.names import did_you_mean
from trainform.spec.read import Content, parse_mapping
from trainform.spec.release import NAME, SETTING, ReleasedExperiment

NAMESPACE = "trainform"
CORRECT = "correct the YAML of this line, whose value is not shown: it may be a secret"
KEYS = {"experiment": "NAME", "environment": "NAME", "run": "1", "release": "NAME", "suspend": "true"}
"""The keys of a stack's config that trainform reads, with a value for `pulumi config set`."""
SUSPEND = f"{NAMESPACE}:suspend"
SWITCH = {"true": True, "false": False}
ENCRYPTION = ("encryptionsalt", "encryptedkey", "secretsprovider")
"""The keys of a stack's file for the encryption of its secrets."""
STACK = "STACK"
"""The argument of a command that names a stack, in messages."""
PART = re.compile(r"[A-Za-z0-9_][\w.-]*", re.ASCII)
"""An organization or a project, in the name of a stack."""
MAY_BE_EMPTY = frozenset({"experiment", "release"})


class Stack(Struct, frozen=True):
    """An experiment in an environment, as names or as paths from the project's folder, and the number of the run."""

    experiment: str  # "" for an environment's own stack
    environment: str
    run: int
    release: str | None = None  # with the experiment; None: the stack follows the experiment's file
    suspend: bool = False

    @property
    def given(self) -> str | ReleasedExperiment:
        """Return the experiment or the release that the stack runs, for `check_experiment`."""
        return self.experiment if self.release is None else ReleasedExperiment(self.experiment, self.release)


class OwnStackError(InputError):
    """The stack runs no experiment, and has no other problem: it is the stack of `environment`."""

    def __init__(self, problems: list[Problem], environment: str) -> None:
        super().__init__(problems)
        self.environment = environment


def require_stack(name: str, root: Path, given: str = STACK) -> str:
    """Return the last part of the stack's name, which is in the name of its config file.

    Raises InputError if it has no file, or belongs to another project. given: the option or argument that named it.
    """
    *above, short = name.split("/")  # Pulumi's own names are ORGANIZATION/PROJECT/STACK, its files have the last part
    project = project_name(root)
    if len(above) > 2 or not all(map(PART.fullmatch, above)):
        near = did_you_mean(short, known_stacks(root))
        fix = near or "write STACK, or ORGANIZATION/PROJECT/STACK as Pulumi does"
        raise InputError([Problem(given, name, "this is not the name of a stack", fix)])
    if len(above) == 2 and above[1] != project:
        reason = f"this stack is of the project {above[1]}, and this project is {project}"
        raise InputError([Problem(given, name, reason, "cd into the other project, or name a stack of this one")])
    if not os.path.lexists(root / stack_path(short)):  # faster than the list of all, which may have thousands
        known = known_stacks(root)
        others = f"known: {', '.join(known)}" if known else "run `trainform new`"
        fix = _suggest_new(short, root) or did_you_mean(short, known) or others
        raise InputError([Problem(given, name, f"the stack has no file {stack_path(short)}", fix)])
    return short


def _suggest_new(stack: str, root: Path) -> str:
    """Return the fix for EXPERIMENT.ENVIRONMENT if both files exist, otherwise ""."""
    experiment, _, environment = stack.rpartition(".")
    if experiment in known_names(EXPERIMENTS, root) and environment in known_names(ENVIRONMENTS, root):
        return f"`trainform new {experiment} -e {environment}` writes it"
    return ""


def load_stack(name: str, root: Path, given: str = STACK) -> Stack:
    """Return the stack as `pulumi up -s NAME` reads it. given: the option or argument that named it.

    Raises InputError. Reads only `KEYS` of the config, since any other value may be a secret.
    """
    short = require_stack(name, root, given)
    config = _read_config(short, root)
    found = dict(zip(KEYS, each_result(lambda key: config.required(key, short), KEYS), strict=True))
    if not found["experiment"]:
        reason = "the value is not set, or set to nothing: this stack is the environment's own, with its queues"
        fix = f"run `pulumi preview -s {short}`, or name the stack of an experiment"
        raise OwnStackError(
            _refused(config.own, f"config.{NAMESPACE}:experiment", reason, fix).problems, found["environment"]
        )
    run, release, suspend = (
        run_number(found["run"]),
        release_name(found["release"]),
        suspend_switch(found["suspend"]),
    )
    return Stack(found["experiment"], found["environment"], run, release, suspend)


def load_any_stack(name: str, root: Path, given: str = STACK) -> Stack:
    """Return the stack as `load_stack` does; an environment's own stack too, without an experiment."""
    try:
        return load_stack(name, root, given)
    except OwnStackError as own:
        return Stack("", own.environment, 1)


def named_environment(name: str, root: Path) -> str | None:
    """Return the environment that the stack names, even if its experiment is wrong; None if it names none."""
    return _read_config(require_stack(name, root), root).value("environment") or None


def project_name(root: Path) -> str:
    """Return the name of the project; "" if no file has it."""
    return _name_in(_read_project(root))


def _name_in(project: Content | None) -> str:
    name = None if project is None else project.data.get("name")
    return name if isinstance(name, str) else ""


def pinned_release(name: str, root: Path) -> str | None:
    """Return the release that the stack follows; None if it follows none, or if its config cannot be read."""
    try:
        return release_name(_read_config(name, root).value("release"))
    except InputError:
        return None


def key_place(name: str, root: Path, key: str) -> Problem:
    """Return path, file and line of a key of a stack's config, as a problem without a reason."""
    own = _read(root, stack_path(name))
    paths = [f"config.{spelling}" for spelling in spellings(key, project_name(root))]
    found = next((path for path in paths if path in own.source.lines), paths[0])
    return own.source.locate(Problem(found, None, "", ""))


def release_name(written: str | None) -> str | None:
    """Return `release` of a stack's config; None if it is not set and the stack follows the experiment's file."""
    if not written:
        return None
    if NAME.fullmatch(written) is None:
        reason = f"the value is not the name of a release, which has {defaults.RELEASE_DIGITS} hexadecimal digits"
        fix = f"run `trainform promote`, or `pulumi config rm {SETTING}`, and the stack follows the experiment's file"
        raise InputError([Problem(SETTING, written, reason, fix)])
    return written


def run_number(written: str | None) -> int:
    """Return `run` of a stack's config; 1 if it is not set."""
    if not written:
        return 1
    digits = len(str(defaults.LAST_RUN))
    number = int(written) if re.fullmatch(f"[1-9][0-9]{{,{digits - 1}}}", written) else 0
    if not 1 <= number <= defaults.LAST_RUN:
        reason = f"the value is not a whole number from 1 to {defaults.LAST_RUN}"
        raise InputError([Problem(f"{NAMESPACE}:run", written, reason, f"pulumi config set {NAMESPACE}:run 2")])
    return number


def suspend_switch(written: str | None) -> bool:
    """Return `suspend` of a stack's config; False if it is not set."""
    found = SWITCH.get((written or "false").lower())
    if found is None:
        raise InputError([Problem(SUSPEND, written, "the value is neither true nor false", f"write {SUSPEND}: true")])
    return found


def _read_config(name: str, root: Path) -> _Config:
    return _Config(_read(root, stack_path(name)), _read_project(root))


def _read_project(root: Path) -> Content | None:
    return _read(root, PROJECT_FILE) if (root / PROJECT_FILE).exists() else None


def _read(root: Path, name: str) -> Content:
    """Return the content of the file. Raises InputError with problems without values, which may be secrets."""
    return _parsed(read_text(root / name, name), name)


@functools.lru_cache(maxsize=2)
def _parsed(text: str, name: str) -> Content:
    """Return the content of a text. The project's is cached for a command that reads thousands of stacks."""
    try:
        content = parse_mapping(text, name)
        problems = [*content.problems]
    except InputError as error:
        problems = error.problems
    if problems:
        raise InputError(dataclasses.replace(problem, value=None, fix=CORRECT) for problem in problems)
    return content


class _Config(Struct, frozen=True):
    """The config of a stack: its own file, and the project's file with values for stacks that set none."""

    own: Content
    project: Content | None

    def value(self, key: str) -> str | None:
        """Return the value of the stack, otherwise that of Pulumi.yaml (the entry itself, its `value` or its
        `default`); None if neither sets it."""
        keys = spellings(key, _name_in(self.project))
        found = _found(self.own, keys)
        if found is not None or self.project is None:
            return None if found is None else _scalar(self.own, *found, key)
        path, value = _found(self.project, keys) or ("", {})
        if isinstance(value, dict):
            parts = [part for part in ("value", "default") if value.get(part) is not None]
            return _scalar(self.project, f"{path}.{parts[0]}", value[parts[0]], key) if parts else None
        return _scalar(self.project, path, value, key)

    def required(self, key: str, stack: str) -> str:
        """Return the value that Pulumi passes to the program; "" if it is not set. Raises InputError if it is
        required."""
        value, path = self.value(key), f"config.{NAMESPACE}:{key}"
        command = f"pulumi config set -s {stack} {NAMESPACE}:{key} {KEYS[key]}"
        if value is None and key == "environment":
            raise _refused(self.own, path, "the value is not set", command)
        if value == "" and key not in MAY_BE_EMPTY:
            raise _refused(self.own, path, "the value is set to nothing", command)
        return "" if value is None else value


def spellings(key: str, project: str) -> tuple[str, ...]:
    """Return the spellings of a key. A project that is named like the namespace may leave it out."""
    return (f"{NAMESPACE}:{key}", f"{NAMESPACE}:config:{key}", *([key] if project == NAMESPACE else []))


def _found(content: Content, keys: tuple[str, ...]) -> tuple[str, Any] | None:
    """Return path and value of a key, in any of its spellings; None if the file does not have it."""
    config = content.data.get("config")
    found = [spelling for spelling in keys if isinstance(config, dict) and spelling in config]
    if len(found) > 1:
        reason = f"the key is the same as {found[0]}, and which of them counts is not certain"
        raise _refused(content, f"config.{found[1]}", reason, "remove one of them")
    return (f"config.{found[0]}", config[found[0]]) if isinstance(config, dict) and found else None


def _scalar(content: Content, path: str, value: Any, key: str) -> str:
    """Return the text of one value in the file. Raises InputError for a mapping, a list and a secret."""
    if isinstance(value, dict) and "secure" in value:
        fix = f"pulumi config set {NAMESPACE}:{key} VALUE"
        raise _refused(content, path, "the value must not be a secret", fix)
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        fix = f"pulumi config set {NAMESPACE}:{key} {KEYS[key]}"
        raise _refused(content, path, f"the value is a {kind}, not one value", fix)
    return "" if value is None else content.source.written.get(path, str(value))


def _refused(content: Content, path: str, reason: str, fix: str) -> InputError:
    return InputError([content.source.locate(Problem(path, None, reason, fix))])
