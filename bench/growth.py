"""Plan and render for jobs of growing size, inside a process and as commands."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Mapping

from bench.aims import Judged, judge_at_most, judge_seconds
from bench.commands import REPOSITORY, Command, run, trainform
from bench.rounds import in_turn
from bench.samples import Ratio, Sample, Series, ratio_of
from bench.sections import Section, Table
from bench.shapes import Shape, write_shape
from bench.spelling import spell_seconds
from bench.workplace import Workplace

SIZES = (4, 256, 1024, 3072)  # Volcano takes 3,372 pods of these names in a role
# What is timed in the process -> its name in the report.
PHASES = {
    "plan": "check (both files to plan and objects)",
    "render": "print the objects as YAML",
    "json": "list every pod as JSON (`plan --output json`)",
}
PLANNED = 1024
PLAN_SECONDS = 0.050
NOISE = 1.1


def measure(workplace: Workplace) -> list[Section]:
    """Measure both."""
    return [in_process(workplace), as_commands(workplace)]


def in_process(workplace: Workplace) -> Section:
    """Measure after the imports, each size in a new process, since a user waits for the first plan of a process."""
    probes = [Probe(shape) for shape in _shapes(workplace, "growth")]
    in_turn(
        "plan and render in process",
        {str(probe.shape.pods): probe.run for probe in probes},
        workplace.runs,
        workplace.progress,
    )
    series = {
        (phase, probe.shape.pods): Series(f"{pods(probe.shape)}: {text}", probe.samples(phase, workplace.runs))
        for phase, text in PHASES.items()
        for probe in probes
    }
    planned = series["plan", PLANNED].median
    listed = planned + series["json", PLANNED].median
    judged = [
        judge_seconds(f"plan of {PLANNED:,} pods after import", planned, PLAN_SECONDS),
        judge_seconds(f"plan of {PLANNED:,} pods, each of them listed as JSON", listed, PLAN_SECONDS),
    ]
    judged += _linear(series)
    return Section(
        "Plan and render after import", tuple(series.values()), judged=tuple(judged), further=(_per_pod(series),)
    )


def as_commands(workplace: Workplace) -> Section:
    """Measure `trainform render` and `trainform plan --output json` as whole processes."""
    commands = {
        command.name: command
        for shape in _shapes(workplace, "commands")
        for command in (
            _command(shape, "`trainform render`", "render"),
            _command(shape, "`trainform plan --output json`", "plan", "--output", "json"),
        )
    }
    measurements = {name: _measurement(command) for name, command in commands.items()}
    series = in_turn("render and plan --output json", measurements, workplace.runs, workplace.progress)
    return Section("Plan and render, whole processes", tuple(sorted(series, key=lambda one: one.name.split(":")[1])))


class Probe:
    """Runs `bench.probe` for one size and stores its times. `samples` leaves out the warm-up round."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._timed: list[tuple[dict[str, float], float | None]] = []
        words = (sys.executable, "-m", "bench.probe", str(shape.experiment), str(shape.environment))
        self._command = Command(pods(shape), words, REPOSITORY)

    def run(self) -> Sample:
        """Run one process and return its whole time."""
        sample, output = run(self._command)
        self._timed.append((json.loads(output), sample.megabytes))
        return sample

    def samples(self, phase: str, runs: int) -> tuple[Sample, ...]:
        """Return the times of a phase in the last `runs` processes."""
        return tuple(Sample(seconds[phase], megabytes) for seconds, megabytes in self._timed[-runs:])


def pods(shape: Shape) -> str:
    """Return a text such as `1,024 pods`."""
    return f"{shape.pods:,} pods"


def _shapes(workplace: Workplace, name: str) -> list[Shape]:
    folder = workplace.new(name)
    return [write_shape(folder, size) for size in SIZES]


def _command(shape: Shape, name: str, verb: str, *options: str) -> Command:
    words = (verb, str(shape.experiment), "-e", str(shape.environment), *options)
    return trainform(f"{pods(shape)}: {name}", REPOSITORY, *words)


def _measurement(command: Command) -> Callable[[], Sample]:
    return lambda: run(command)[0]


def _linear(series: Mapping[tuple[str, int], Series]) -> Iterable[Judged]:
    """Judge that time does not grow faster than the number of pods, with a margin for noise."""
    for phase, text in PHASES.items():
        ratio = _growth(f"{SIZES[-1]:,} pods / {SIZES[-2]:,} pods: {text}", series, phase, SIZES[-2:])
        yield judge_at_most(ratio, NOISE * SIZES[-1] / SIZES[-2])


def _growth(name: str, series: Mapping[tuple[str, int], Series], phase: str, sizes: tuple[int, ...]) -> Ratio:
    small, large = sizes
    return ratio_of(name, series[phase, large].samples, series[phase, small].samples)


def _per_pod(series: Mapping[tuple[str, int], Series]) -> Table:
    """Return a table with the time per pod at each size, and the ratio to the size before."""
    steps = list(itertools.pairwise(SIZES))
    columns = (
        "per pod, at",
        *(f"{size:,} pods" for size in SIZES),
        *(f"{small:,} → {large:,}" for small, large in steps),
    )
    rows = tuple(
        (
            PHASES[phase].partition(" (")[0],
            *(spell_seconds(series[phase, size].median / size) for size in SIZES),
            *(f"{_growth('', series, phase, step).median:.2f}x" for step in steps),
        )
        for phase in PHASES
    )
    return Table("", columns, rows)
