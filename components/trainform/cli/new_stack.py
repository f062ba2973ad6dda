"""`trainform new` for an existing experiment: one more stack, or a copy."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from trainform.cli.created_files import show_created_files
from trainform.console.files import read_text
from trainform.console.lines import note
from trainform.console.sections import counted
from trainform.deployed.releases.gates import needs_release, promote_command
from trainform.errors import InputError, Problem
from trainform.job.check import CheckedJob, check_environment, check_experiment
from trainform.local.scaffold.copying import copied_text
from trainform.local.scaffold.new_experiment import stack_text
from trainform.local.scaffold.writing import write_files
from trainform.project import stack_path
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Text, find_file
from trainform.spec.stack import OwnStackError, load_stack
from trainform.spec.trial import OPTION, Assignment

SSH_SECRET = "head -c 32 /dev/urandom | base64 | pulumi config set --secret trainform:sshSecret -s {stack}"  # noqa: S105 - the command

EXISTS_FIX = (
    "choose another name, or edit that file; to run the same experiment in this environment too: trainform new "
    "{name} -e {environment}"
)


def copy_experiment(
    name: str, source: str, fields: Sequence[Assignment], environment: str, root: Path, as_json: bool
) -> None:
    """Write a copy of an experiment with other fields, and its stack. Raises `InputError` if the copy has a problem."""
    target = check_environment(environment).or_raise()
    named = name_in_stack(environment, root)
    found, shown = find_file(Experiment, source)
    path, text = f"stacks/experiments/{name}.yaml", copied_text(read_text(found, shown), shown, name, fields)
    checked = check_experiment(Text(path, text), named, root=root)
    problems = [*checked.problems]
    for field in fields:
        place, _ = checked.sources[0].origin(field.path)
        if place != field.path:
            fix = f"the copy gets both: leave it out, and write {place} into the copy"
            problems.append(Problem(f"{OPTION}{field.path}", None, f"{place} of {shown} replaces the value", fix))
    if problems:
        raise InputError(problems)
    stack = f"{name}.{target.name}"
    fix = EXISTS_FIX.format(name=name, environment=shlex.quote(environment))
    written = write_files(root, {path: text, stack_path(stack): stack_text(named, name)}, fix)
    show_created_files(written, _following(stack, target, checked), as_json)


def add_stack(name: str, environment: str, root: Path, as_json: bool) -> None:
    """Write the stack of the experiment in the environment. An existing stack is reported and does not change."""
    target = check_environment(environment).or_raise()
    named = name_in_stack(environment, root)
    checked = check_experiment(name, named, root=root)
    own = [problem for problem in checked.problems if problem not in checked.of_both]
    if own:
        raise InputError(own)
    stack = f"{name}.{target.name}"
    path = stack_path(stack)
    if os.path.lexists(root / path):
        _check_stack(stack, name, named, root)
        note(f"{path} exists already, and does not change: the stack {stack} runs {name} in {target.name}", err=as_json)
        written = []
    else:
        written = write_files(root, {path: stack_text(named, name)}, "move it away")
    show_created_files(written, _following(stack, target, checked), as_json)


def _check_stack(stack: str, name: str, environment: str, root: Path) -> None:
    """Raise `InputError` if the existing stack runs something else."""
    try:
        found = load_stack(stack, root)
        runs = f"{found.experiment} in {found.environment}"
    except OwnStackError as error:
        runs = f"the environment {error.environment} alone"
    if runs != f"{name} in {environment}":
        reason = f"the stack exists already, and runs {runs}"
        raise InputError([Problem(stack_path(stack), None, reason, "choose another name, or edit that file")])


def _following(stack: str, target: Environment, checked: CheckedJob) -> dict[str, list[str]]:
    """Return the next commands by heading."""
    over_ssh = checked.job is not None and checked.job.experiment.launcher.over_ssh is not None
    engine = engine_commands(stack, over_ssh, target)
    if not checked.problems:
        return {"next:": [f"trainform plan {stack}", *engine]}
    problems = f"{counted(len(checked.problems), 'problem')} in {target.name}"
    where = (
        f"write what differs there under `environments: {{{target.name}: …}}` in stacks/experiments/{checked.name}.yaml"
    )
    return {f"next: {problems}: {where}; then": [f"trainform check {checked.name} -e {target.name}", *engine]}


def engine_commands(stack: str, over_ssh: bool, target: Environment) -> list[str]:
    """Return the commands that create a stack whose files pass `check`. over_ssh: it needs a secret for SSH keys."""
    secret = [SSH_SECRET.format(stack=stack)] if over_ssh else []
    promote = [promote_command(stack.partition(".")[0], stack, target)] if needs_release(target.promotion) else []
    creation = " && ".join([f"pulumi stack select --create {stack}", *secret, f"pulumi preview -s {stack}"])
    return [*promote, creation, f"pulumi up -s {stack}"]


def name_in_stack(environment: str, root: Path) -> str:
    """Return the environment's name for the stack: paths are relative to the project's folder."""
    path, _ = find_file(Environment, environment, None)
    whole = path.resolve()
    if whole.parent == (root / "stacks" / "environments").resolve() and whole.suffix == ".yaml":
        return whole.stem
    return os.path.relpath(whole, root)
