"""Checks of files that grow in different ways, inside a process and as a command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from bench.aims import Judged, judge_at_most
from bench.commands import REPOSITORY, Command, run, trainform
from bench.growing import grown_files
from bench.rounds import in_turn
from bench.samples import Ratio, Sample, Series, ratio_of
from bench.sections import Section, Table
from bench.shapes import write_yaml
from bench.spelling import spell_seconds
from bench.workplace import Workplace

BACKEND = "volcano"
FACTORS = (1, 2)
# The largest size of each way. At larger sizes an object exceeds the limit of etcd, and the check refuses the file,
# which is less work. An experiment has at most 64 roles.
WAYS = {
    "replicas with ports of their own": 512,
    "DeepSpeed nodes with ports of their own": 480,
    "Services": 1_024,
    "roles": 64,
    "variables": 10_000,
    "volumes that are made": 2_000,
    "steps": 560,
    "policies": 5_000,
    "queues in a line": 2_000,
    "kinds of accelerators in use": 64,
    "unknown kinds": 64,
}
RUNS = 3  # a round has many processes, and ratios need few rounds
NOISE = 1.25  # for noise of caches and garbage collection; `tests/test_growth.py` counts calls, without noise
REFUSED = 2  # exit code of a check that found problems
Taken = Mapping[tuple[str, int], Series]


class Grown(Struct, frozen=True):
    """The files for one way and one size."""

    way: str
    factor: int
    size: int
    experiment: Path
    environment: Path

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments for the command line."""
        return str(self.experiment), "-e", str(self.environment)


def measure(workplace: Workplace) -> list[Section]:
    """Measure inside a process and as whole processes, in turn."""
    grown = _write(workplace.new("ways"))
    runs = min(RUNS, workplace.runs)
    alone = _series("checks in process", {each: _in_process(each) for each in grown}, runs, workplace)
    whole = _series("checks as commands", {each: _as_command(each) for each in grown}, runs, workplace)
    further = (table(alone, whole),)
    note = f"What grows: seconds of the processor after import, {runs} rounds, on {BACKEND}."
    return [Section("Check by what grows", judged=(judge(alone),), further=further, notes=(note,))]


def _write(folder: Path) -> list[Grown]:
    grown = []
    for way, largest in WAYS.items():
        for factor in FACTORS:
            size = largest * factor // FACTORS[-1]
            stem = f"{way.replace(' ', '-')}-{size}"
            made = Grown(way, factor, size, folder / f"{stem}.yaml", folder / f"{stem}-environment.yaml")
            for path, data in zip((made.experiment, made.environment), grown_files(way, size, BACKEND), strict=True):
                write_yaml(path, data)
            grown.append(made)
    return grown


def _in_process(grown: Grown) -> Callable[[], Sample]:
    words = (sys.executable, "-m", "bench.probe_check", str(grown.experiment), str(grown.environment))
    command = Command(grown.way, words, REPOSITORY)

    def measured() -> Sample:
        sample, seconds = run(command)
        return Sample(float(seconds), sample.megabytes)

    return measured


def _as_command(grown: Grown) -> Callable[[], Sample]:
    command = trainform(grown.way, REPOSITORY, "check", *grown.words)
    return lambda: run(structs.replace(command, codes=(0, REFUSED)))[0]


def _series(title: str, measurements: Mapping[Grown, Callable[[], Sample]], runs: int, workplace: Workplace) -> Taken:
    named = {f"{grown.size:,} {grown.way}": measurement for grown, measurement in measurements.items()}
    taken = in_turn(title, named, runs, workplace.progress)
    return {(grown.way, grown.factor): series for grown, series in zip(measurements, taken, strict=True)}


def _growth(taken: Taken, way: str, small: int, large: int) -> Ratio:
    name = f"{WAYS[way]:,} / {WAYS[way] * small // large:,} {way}: check"
    return ratio_of(name, taken[way, large].samples, taken[way, small].samples)


def judge(taken: Taken) -> Judged:
    """Judge what grows fastest."""
    small, large = FACTORS
    fastest = max((_growth(taken, way, small, large) for way in WAYS), key=lambda ratio: ratio.median)
    return judge_at_most(fastest, NOISE * large / small)


def table(alone: Taken, whole: Taken) -> Table:
    """Return a table with the times at both sizes, their ratio, and the time of a whole process."""
    small, large = FACTORS
    columns = ("what grows", "n", "n / 2", "n", "times", "whole process, n")
    rows = tuple(
        (
            way,
            f"{WAYS[way]:,}",
            *(spell_seconds(alone[way, factor].median) for factor in FACTORS),
            f"{_growth(alone, way, small, large).median:.2f}",
            spell_seconds(whole[way, large].median),
        )
        for way in WAYS
    )
    return Table("Check by what grows", columns, rows)
