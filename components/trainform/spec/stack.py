"""What a stack runs, by its file of config: `stacks/Pulumi.STACK.yaml` and the project's `Pulumi.yaml`."""

from __future__ import annotations

import dataclasses
import difflib
import re
from pathlib import Path

from trainform.catalog import defaults
from trainform.errors import InputError, Problem
from trainform.project import known_stacks, stack_path
from trainform.spec.read import Content, read_content

NAMESPACE = "trainform"
CORRECT = "correct the YAML of this line, whose value is not shown: it may be a secret"
KEYS = ("experiment", "environment", "run")


@dataclasses.dataclass(frozen=True)
class Stack:
    """An experiment in an environment, as names or as paths from the project's folder on, and the number of the run."""

    experiment: str
    environment: str
    run: int


def load_stack(name: str, root: Path) -> Stack:
    """The stack as `pulumi up -s NAME` would read it; InputError where it has no file, or runs no experiment. Of its
    config only `KEYS` are looked at, and no other value is in any message: it may be a secret."""
    short = name.rpartition("/")[2]  # Pulumi's own names are ORGANIZATION/PROJECT/STACK, its files have the last part
    known = known_stacks(root)
    if short not in known:
        near = difflib.get_close_matches(short, known, 1)
        offer = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}" if known else "run `trainform new`"
        raise InputError([Problem("--stack", name, f"has no file {stack_path('STACK')}", offer)])
    contents = [_read(root, file) for file in (stack_path(short), "Pulumi.yaml") if (root / file).exists()]
    found = {key: next(filter(None, (_entry(content, key) for content in contents)), "") for key in KEYS}
    own = contents[0]
    if not found["environment"]:
        raise _unset(own, "environment", "is not set", f"pulumi config set -s {short} {NAMESPACE}:environment NAME")
    if not found["experiment"]:
        reason = "is not set: this stack is the environment's own, with its queues and claims"
        raise _unset(own, "experiment", reason, f"run `pulumi preview -s {short}`, or name the stack of an experiment")
    return Stack(found["experiment"], found["environment"], run_number(found["run"]))


def run_number(written: str | None) -> int:
    """`run` of a stack's config; 1 where it says nothing."""
    if not written:
        return 1
    digits = len(str(defaults.LAST_RUN))
    number = int(written) if re.fullmatch(f"[0-9]{{1,{digits}}}", written) else 0
    if not 1 <= number <= defaults.LAST_RUN:
        reason, fix = f"is not a whole number from 1 to {defaults.LAST_RUN}", f"pulumi config set {NAMESPACE}:run 2"
        raise InputError([Problem(f"{NAMESPACE}:run", written, reason, fix)])
    return number


def _read(root: Path, name: str) -> Content:
    """The file; InputError with the problems of its form, of which value and fix would repeat what may be a secret."""
    try:
        content = read_content(root / name, name)
        problems = [*content.problems]
    except InputError as error:
        problems = error.problems
    if problems:
        raise InputError([dataclasses.replace(problem, value=None, fix=CORRECT) for problem in problems])
    return content


def _entry(content: Content, key: str) -> str:
    """The text of the key's value, "" where it has none. Pulumi.yaml may declare it with a `value` or a `default`."""
    config = content.data.get("config")
    path, found = f"config.{NAMESPACE}:{key}", config.get(f"{NAMESPACE}:{key}") if isinstance(config, dict) else None
    if isinstance(found, dict):
        if "secure" in found:
            reason, fix = "is a secret, and what a job runs is none", f"pulumi config set {NAMESPACE}:{key} VALUE"
            raise InputError([content.source.locate(Problem(path, None, reason, fix))])
        part = next((part for part in ("value", "default") if part in found), "value")
        path, found = f"{path}.{part}", found.get(part)
    if isinstance(found, str):
        return found
    # as it stands in the file, where YAML reads it as a number or the like
    return "" if found is None else content.source.written.get(path, "")


def _unset(content: Content, key: str, reason: str, fix: str) -> InputError:
    return InputError([content.source.locate(Problem(f"config.{NAMESPACE}:{key}", None, reason, fix))])
