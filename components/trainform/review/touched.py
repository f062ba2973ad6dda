"""The stacks that changed files touch: those that read such a file, and all of them where it makes their program.

Paths count from the project's folder. One that ends with `/` is a folder whose files git does not tell: of a submodule,
for example.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from trainform.project import ENVIRONMENTS, EXPERIMENTS, PROJECT_FILE, RELEASES, stack_path

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
"""Files that a stack reads by itself or not at all: documents, the policy pack, hidden folders, and what lies above the
project (`../`)."""
NEVER_MODULES = ("*/tests/*", "*/test/*", "*/test_*.py", "*_test.py", "*/conftest.py", "*/docs/*", "*/doc/*")
"""Modules that no program imports, outside of its folders: a name alone does not keep a file of `components/` out of
it."""
_CONFIG = re.compile(re.escape(stack_path("*")).replace(r"\*", "([^/]+)"))


def touched(changed: Iterable[str], stacks: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """The files that touch each of the stacks that are touched, sorted; the stacks in their order. stacks: the files
    that each reads."""
    names = sorted(set(changed))
    program = {name for name in names if makes_program(name)}
    found = {
        stack: [name for name in names if name in program or _is_read(name, files)] for stack, files in stacks.items()
    }
    return {stack: files for stack, files in found.items() if files}


def removed(changed: Iterable[str], stacks: Collection[str]) -> list[str]:
    """The stacks whose file of config has changed and is gone, sorted. stacks: those that have one."""
    configs = (_CONFIG.fullmatch(name) for name in changed)
    return sorted({config[1] for config in configs if config is not None} - {*stacks})


def makes_program(name: str) -> bool:
    """Whether the program of all stacks may be another one when this file changes. Which modules it imports is not
    looked at."""
    if _like(name, NEVER_PROGRAM):
        return False
    return _like(name, (*PROGRAM, *DEPENDENCIES)) or (_like(name, MODULES) and not _like(name, NEVER_MODULES))


def _is_read(name: str, files: Collection[str]) -> bool:
    """Whether it is one of the files, or a folder or a link to a folder in which one stands."""
    return name in files or any(file.startswith(f"{name.rstrip('/')}/") for file in files)


def _like(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(f"/{name}", pattern) for pattern in patterns)
