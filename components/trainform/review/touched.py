"""The stacks that changed files touch: those that read such a file, and all of them where it makes their program.

Paths count from the project's folder. One that ends with `/` is a folder whose files git does not list: a submodule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from trainform.console.secrets import masked_line
from trainform.deployed.stacks import files_read, stacks_by_name
from trainform.errors import InputError
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob
from trainform.plan.inputs import job_inputs
from trainform.project import ENVIRONMENTS, EXPERIMENTS, PROJECT_FILE, RELEASES, known_names, stack_path
from trainform.review.changed_files import changed_files, text_before
from trainform.review.model import Selection
from trainform.spec.environment import Environment
from trainform.spec.load import Text, written_path
from trainform.spec.stack import Stack

PROGRAM = ("/stacks/*", "/components/*")
"""Folders of which every file may make the program; elsewhere only modules of Python do so."""
MODULES = ("*.py", "*/")
DEPENDENCIES = tuple(f"/{name}" for name in (
    PROJECT_FILE, "requirements*.txt", "requirements/*", "constraints*.txt", "pyproject.toml", "setup.py", "setup.cfg",
    "pylock*.toml", "uv.lock",
    "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", ".python-version",
))  # fmt: skip
"""Files at the top of the project that say how the program runs and which packages it has, trainform among them."""
NEVER_PROGRAM = (
    f"/{stack_path('*')}", f"/stacks/{EXPERIMENTS}/*", f"/stacks/{ENVIRONMENTS}/*", f"/stacks/{RELEASES}/*",
    "/stacks/schemas/*", "*.md", "*.rst", "/policy/*", "*/.*/*",
)  # fmt: skip
"""Files that a stack reads by itself or not at all: documents, the policy pack, hidden folders, what is above."""
NEVER_MODULES = ("*/tests/*", "*/test/*", "*/test_*.py", "*_test.py", "*/conftest.py", "*/docs/*", "*/doc/*")
"""Modules that no program imports, outside of the folders in `PROGRAM`."""
_CONFIG = re.compile(re.escape(stack_path("*")).replace(r"\*", "([^/]+)"))


def selection_since(since: str, root: Path) -> Selection:
    """Return the stacks that the change of files since its beginning touches: those of environments first, which the
    others need, then by their names. A stack of which only the environment's file differs is touched if its objects
    differ. InputError if git does not report the changes, or with every problem of the files of config."""
    changed = changed_files(root, since)
    chosen = stacks_by_name(root)
    stacks = sorted(chosen, key=lambda stack: (bool(chosen[stack].experiment), stack))
    found = touched(changed.paths, {stack: files_read(stack, chosen[stack], root) for stack in stacks})
    unaffected = [stack for stack, files in found.items() if is_unaffected(chosen[stack], files, changed.base, root)]
    edited = {name: _environment_path(name) for name in known_names(ENVIRONMENTS, root)}
    recorded = {_environment_path(runs.environment) for runs in chosen.values() if not runs.experiment}
    return Selection(
        since=_text(since),
        base=changed.base,
        touched={stack: [*map(_text, files)] for stack, files in found.items() if stack not in unaffected},
        unaffected=unaffected,
        unrecorded=[name for name, path in edited.items() if path in {*changed.paths} - recorded],
        removed=[*map(_text, removed(changed.paths, stacks))],
    )


def _environment_path(environment: str) -> str:
    return os.path.normpath(written_path(Environment, environment))


def _text(name: str) -> str:
    """Return the name of a file as text: other bytes become escapes, and a secret is masked as in any other text."""
    return masked_line(os.fsencode(name).decode(errors="backslashreplace"))


def is_unaffected(runs: Stack, files: Sequence[str], base: str, root: Path) -> bool:
    """Return True if the file of the stack's environment alone differs, and the stack's objects, and what its
    components are given, are the same with it as it was. False where the experiment has a problem with either."""
    if not runs.experiment or [*files] != [_environment_path(runs.environment)]:
        return False
    before = text_before(root, base, files[0])
    if before is None:
        return False
    written = Text(written_path(Environment, runs.environment), before)
    try:
        checked = [check_experiment(runs.given, given, runs.run, root) for given in (written, runs.environment)]
    except InputError:  # a program makes the experiment, which has no file
        return False
    was, will = (None if each.problems or each.job is None else _applied(each.job) for each in checked)
    return was is not None and was == will


def _applied(job: RenderedJob) -> object:
    """Return what of a rendered job reaches the engine."""
    return job.manifests, job_inputs(job.experiment, job.environment, job.plan), job.environment.cluster


def touched(changed: Iterable[str], stacks: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the files that touch each touched stack, in the order of the stacks. stacks: the files that each reads."""
    names = sorted(set(changed))
    program = {name for name in names if makes_program(name)}
    found = {
        stack: [name for name in names if name in program or _is_read(name, files)] for stack, files in stacks.items()
    }
    return {stack: files for stack, files in found.items() if files}


def removed(changed: Iterable[str], stacks: Collection[str]) -> list[str]:
    """Return the stacks whose file of config has changed and is gone, sorted. stacks: those that have one."""
    configs = (_CONFIG.fullmatch(name) for name in changed)
    return sorted({config[1] for config in configs if config is not None} - {*stacks})


def makes_program(name: str) -> bool:
    """Return True if the file may change the program of all stacks. Its imports are not looked at."""
    if _like(name, NEVER_PROGRAM):
        return False
    return _like(name, (*PROGRAM, *DEPENDENCIES)) or (_like(name, MODULES) and not _like(name, NEVER_MODULES))


def _is_read(name: str, files: Collection[str]) -> bool:
    """Return whether it is one of the files, or a folder or a link to a folder in which one stands."""
    return name in files or any(file.startswith(f"{name.rstrip('/')}/") for file in files)


def _like(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(f"/{name}", pattern) for pattern in patterns)
