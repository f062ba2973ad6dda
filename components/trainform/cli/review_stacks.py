"""Stacks that the words of a command name: single ones, all of an environment, or all of the project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from trainform.cli.arguments import JOB
from trainform.cli.jobs import MISSING_ENVIRONMENT, stack_of
from trainform.errors import CommandLineError, each_result, list_names
from trainform.project import known_stacks, require_project

PREVIEW, STORED = "--preview-json", "--review-json"
CHANGED_SINCE = "--changed-since"


def refuse_wrong_words(
    stacks: list[str], environment: str | None, previews: list[str], since: str | None, *, every: bool
) -> None:
    """Raise `CommandLineError` if the words do not go together."""
    if environment is not None and not every and (previews or not stacks):
        raise CommandLineError("-e names the environment of --all, or of experiments", "add --all, or remove -e")
    others = {JOB: bool(stacks), PREVIEW: bool(previews)}
    if since is not None:
        refuse_beside(CHANGED_SINCE, {"--all": every, **others}, f"leave out {CHANGED_SINCE}, or all of the others")
    if every:
        refuse_beside("--all", others, "name stacks, or take all of them")
    if every and environment is None:
        raise CommandLineError(MISSING_ENVIRONMENT, "name an environment with -e")


def refuse_beside(option: str, given: Mapping[str, bool], fix: str) -> None:
    """Raise `CommandLineError` if one of the words is given (True) with the option."""
    extra = [name for name, there in given.items() if there]
    if extra:
        raise CommandLineError(f"{option} cannot be used with {', '.join(extra)}", fix)


def stacks_of(words: Sequence[str], environment: str | None, *, every: bool = False) -> tuple[list[str], Path]:
    """Return the stacks that the words name, and the project's folder. Without words: every stack in the environment or
    the project, or else the only one. Raises `InputError` with each word that names none."""
    root = require_project()
    if words:
        found = each_result(lambda word: stack_of(word, environment, root), words)
        refuse_repeated(found)
        return found, root
    if not every:
        return _only(root), root
    return (known_stacks(root) if environment is None else _in_environment(environment, root)), root


def refuse_repeated(stacks: Iterable[str]) -> None:
    """Raise `CommandLineError` if a stack is named twice: its cost would be counted twice."""
    counts = Counter(stack.rpartition("/")[2] for stack in stacks)
    twice = [stack for stack, count in counts.items() if count > 1]
    if twice:
        raise CommandLineError(f"named more than once: {list_names(twice)}", "name each stack once")


def _only(root: Path) -> list[str]:
    known = known_stacks(root)
    if len(known) != 1:
        several = f"the project has {', '.join(known)}; or take several by --all"
        raise CommandLineError(
            f"Missing argument '{JOB}'", f"name the stack: {several if known else '`trainform new` writes one'}"
        )
    return known


def _in_environment(environment: str, root: Path) -> list[str]:
    """Return all stacks in the environment, its own first. Raises `InputError` with the problems of their files."""
    from trainform.deployed.stacks import environment_file, stacks_by_name
    from trainform.spec.environment import Environment
    from trainform.spec.load import find_file

    wanted = find_file(Environment, environment)[0].resolve()
    own, others = list[str](), list[str]()
    for stack, runs in stacks_by_name(root).items():
        if environment_file(runs.environment, root) == wanted:
            (others if runs.experiment else own).append(stack)
    if not own and not others:
        raise CommandLineError(f"no stack is in the environment {environment}", "`trainform new` writes one")
    return [*own, *others]
