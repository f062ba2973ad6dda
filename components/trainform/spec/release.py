"""The file of a release, whose name is the hash of its content, and the experiment in it.

This module reads the name and the experiment of a release; `trainform.deployed.releases` reads the rest.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform import defaults
from trainform.errors import InputError, Problem
from trainform.project import release_path
from trainform.spec.read import Content, Source, read_content

NAME = re.compile(f"[0-9a-f]{{{defaults.RELEASE_DIGITS}}}")
EXPERIMENT = "experiment"
FORMAT, NUMBER = "release", 1
"""The key and the number of the only file format."""
AGAIN = "run `trainform promote` again"
SETTING = "trainform:release"
NOT_WRITTEN = "the release (not written)"


@dataclasses.dataclass(frozen=True)
class ReleasedExperiment:
    """A release of an experiment, read instead of the experiment's file."""

    experiment: str  # its name, or the path of its file, as the stack has it
    release: str  # name of the release
    data: Mapping[str, Any] | None = dataclasses.field(default=None, hash=False)  # of a release without a file yet

    @property
    def name(self) -> str:
        """Return the name for messages."""
        return self.experiment


def digest(data: Any) -> str:
    """Return the hash of data as JSON. The order of keys counts, since the order of roles is that of the ranks."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_date)
    return hashlib.sha256(text.encode()).hexdigest()[: defaults.RELEASE_DIGITS]


def _date(value: Any) -> str:
    if not isinstance(value, datetime.date):
        raise TypeError(f"{type(value).__name__} is not data")
    return value.isoformat()


def read_release_file(experiment: str, release: str, root: Path) -> Content:
    """Return the content of the file. Raises InputError if it is missing, or does not match the hash in its name."""
    name = release_path(experiment, release)
    if not (root / name).is_file():
        fix = "take it from git (`git pull`, `git log --all -- " + name + "`), or run `trainform promote` again"
        raise InputError([Problem(SETTING, release, f"there is no file {name}", fix)])
    content = read_content(root / name, name)
    if content.problems:
        raise InputError(content.problems)
    found = _digest_of_file(content)
    if found != release:
        reason = f"the file has been changed: the hash of its content is {found}, and a release is never edited"
        fix = f"get it back by `git checkout -- {name}`; what is to change, change in the experiment, and promote that"
        raise InputError([Problem("", None, reason, fix, name)])
    return content


def _digest_of_file(content: Content) -> str:
    """Return the hash of the content, or "none" for content that no release has, such as .nan."""
    try:
        return digest(content.data)
    except ValueError:
        return "none"


def released_experiment(given: ReleasedExperiment, root: Path, *, by_path: bool) -> Content:
    """Return the experiment of the release, with its lines in the file. Raises InputError like `read_release_file`.

    by_path: True if the stack has the path of the experiment's file instead of its name.
    """
    if given.data is not None:
        return Content({**given.data}, Source(NOT_WRITTEN, {}), ())
    runs = _name_at(given.experiment, root) if by_path else given.experiment
    content = read_release_file(runs, given.release, root)
    problem = _release_problem(content.data, runs)
    if problem is not None:
        raise InputError([content.source.locate(problem)])
    return Content(content.data[EXPERIMENT], _experiment_source(content.source), ())


def _name_at(path: str, root: Path) -> str:
    """Return the name in the file of an experiment. Raises InputError if it has none."""
    try:
        name = read_content(root / path, path).data.get("name")
    except InputError:
        name = None
    if isinstance(name, str):
        return name
    reason = "no experiment at this path states its name, so it is unknown whether the release belongs to it"
    fix = "write the experiment's name in place of the path: `trainform:experiment: NAME`"
    raise InputError([Problem("trainform:experiment", path, reason, fix)])


def _release_problem(data: Mapping[str, Any], folder: str) -> Problem | None:
    """Return a problem unless the data is a release of the experiment that its folder is named after."""
    experiment = data.get(EXPERIMENT)
    if data.get(FORMAT) != NUMBER:
        fix = "use the version of trainform that has written it, or a later one"
        return Problem(FORMAT, data.get(FORMAT), "this version of trainform does not know this form of a release", fix)
    if not isinstance(experiment, dict):
        return Problem(EXPERIMENT, None, "the release holds no experiment", AGAIN)
    name = experiment.get("name")
    if isinstance(name, str) and name != folder:
        reason = (
            f"the release holds an experiment of another name, whose objects it would take over, and is one of {folder}"
        )
        return Problem(f"{EXPERIMENT}.name", name, reason, AGAIN)
    return None


def _experiment_source(source: Source) -> Source:
    """Return the lines and texts of the experiment in a release, by paths of the experiment."""
    start = f"{EXPERIMENT}."
    lines = {path.removeprefix(start): line for path, line in source.lines.items() if path.startswith(start)}
    written = {path.removeprefix(start): text for path, text in source.written.items() if path.startswith(start)}
    return Source(source.name, lines, written)
