"""No command takes more than its share of work for a large file: twice as much of anything is about twice the work.

Work is counted in calls of functions, which is the same on every machine and at every load. A loop in C inside one call
is not seen: the benchmark measures the seconds (`bench.ways`).
"""

from __future__ import annotations

import cProfile
import gc
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.growing import ACCEPTED, REFUSED, WAYS, grown_files
from trainform.backends.backend import BACKENDS
from trainform.cli.main import main
from trainform.errors import InputError
from trainform.job.check import check_experiment

SIZE = 20
MOST, MOST_NEAR = 1.02, 1.25  # how long two names are compared, to find a near one, depends on their letters
REVISION = 100  # calls more or less to quote a revision: one of digits alone, or like 12e345, is no plain text in YAML
OTHERS = [name for name in BACKENDS if name != "volcano"]
ON_EVERY_BACKEND = ("roles", "variables", "volumes that are made", "replicas with ports of their own")
SHOWING = (("plan",), ("plan", "--output", "json"), ("render",))
# What becomes more rows or more text; the rest is work of the check alone.
SHOWN = ("replicas", "Services", "roles", "variables", "volumes that are made", "patched roles")
Files = tuple[str, str]


def write_files(folder: Path, way: str, size: int, backend: str) -> Files:
    """JSON is YAML, and is written faster."""
    paths = folder / f"experiment-{size}.yaml", folder / f"environment-{size}.yaml"
    for path, data in zip(paths, grown_files(way, size, backend), strict=True):
        path.write_text(json.dumps(data, indent=1))
    return str(paths[0]), str(paths[1])


def check(files: Files) -> int:
    """As the command does it, less its start; the number of problems."""
    examined = check_experiment(*files)
    if examined.problems:
        str(InputError(examined.problems))
    return len(examined.problems)


def calls(work: Callable[[Files], object], files: Files) -> int:
    """Calls of functions, those in C too."""
    profile = cProfile.Profile()
    gc.disable()  # its callbacks would be counted
    try:
        profile.enable()
        work(files)
        profile.disable()
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


def hold_to_a_line(work: Callable[[Files], object], folder: Path, way: str, backend: str) -> None:
    """The third part of a file must not cost more than the second. What a command does whatever the size is in
    neither."""
    sizes = [write_files(folder, way, parts * SIZE, backend) for parts in (1, 2, 3)]
    work(sizes[0])  # fills what is made once in a process
    first, second, third = (calls(work, files) for files in sizes)
    most = MOST_NEAR if way.startswith("unknown") else MOST
    assert third - second <= most * (second - first) + REVISION


@pytest.mark.parametrize(
    ("way", "backend"), [(way, "volcano") for way in WAYS] + list(itertools.product(ON_EVERY_BACKEND, OTHERS))
)
def test_a_check_grows_with_the_file(way: str, backend: str, tmp_path: Path) -> None:
    """It makes every object."""
    hold_to_a_line(check, tmp_path, way, backend)


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
@pytest.mark.parametrize("way", SHOWN)
def test_what_is_shown_grows_with_the_file(way: str, words: tuple[str, ...], tmp_path: Path) -> None:
    def show(files: Files) -> None:
        experiment, environment = files
        with pytest.raises(SystemExit) as ended:
            main([*words, experiment, "-e", environment])
        assert ended.value.code == 0

    hold_to_a_line(show, tmp_path, way, "volcano")


@pytest.mark.parametrize("way", list(WAYS))
def test_the_ways_are_what_they_are_called(way: str, tmp_path: Path) -> None:
    """Accepted on Volcano, or refused: what ends early says nothing of the rest of the work."""
    assert (check(write_files(tmp_path, way, 3 * SIZE, "volcano")) == 0) == (way in ACCEPTED)
    assert not ACCEPTED.keys() & REFUSED.keys()
