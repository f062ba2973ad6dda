"""Plan and render for jobs of growing size, inside a process and as commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.aims import Judged, judge_at_most, judge_seconds
from bench.commands import REPOSITORY, Command, run, trainform
from bench.rounds import in_turn
from bench.samples import Sample, Series, ratio_of
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
Taken = Mapping[tuple[str, int], Series]


def measure(workplace: Workplace) -> list[Section]:
    """Measure both."""
    inside, commands = in_process(workplace), as_commands(workplace)
    rows = (*(_row(text, [inside[phase, size] for size in SIZES]) for phase, text in PHASES.items()), *commands)
    table = Table("Plan and render by size", ("what", *(f"{size:,} pods" for size in SIZES)), rows)
    return [Section(table.title, judged=(*_judge(inside),), further=(table,))]


def in_process(workplace: Workplace) -> Taken:
    """Measure after the imports, each size in a new process, since a user waits for the first plan of a process."""
    probes = [Probe(shape) for shape in _shapes(workplace, "growth")]
    in_turn(
        "plan and render in process",
        {str(probe.shape.pods): probe.run for probe in probes},
        workplace.runs,
        workplace.progress,
    )
    return {
        (phase, probe.shape.pods): Series(f"{pods(probe.shape)}: {text}", probe.samples(phase, workplace.runs))
        for phase, text in PHASES.items()
        for probe in probes
    }


def as_commands(workplace: Workplace) -> list[tuple[str, ...]]:
    """Measure `trainform plan --output json` and `trainform render` as whole processes, and return the rows."""
    shapes = _shapes(workplace, "commands")
    named = {"`trainform plan --output json`": ("plan", "--output", "json"), "`trainform render`": ("render",)}
    commands = [_command(shape, name, *words) for name, words in named.items() for shape in shapes]
    measurements = {command.name: _measurement(command) for command in commands}
    series = in_turn("plan --output json and render", measurements, workplace.runs, workplace.progress)
    return [_row(name, series[start : start + len(SIZES)]) for name, start in zip(named, (0, len(SIZES)), strict=True)]


def _row(name: str, series: Sequence[Series]) -> tuple[str, ...]:
    return name, *(spell_seconds(one.median) for one in series)


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


def _judge(taken: Taken) -> Iterable[Judged]:
    """Judge the time of a plan, and that times do not grow faster than the number of pods, with a margin for noise."""
    planned = taken["plan", PLANNED].median
    listed = planned + taken["json", PLANNED].median
    yield judge_seconds(f"plan of {PLANNED:,} pods after import", planned, PLAN_SECONDS)
    yield judge_seconds(f"plan of {PLANNED:,} pods, each of them listed as JSON", listed, PLAN_SECONDS)
    small, large = SIZES[-2:]
    for phase, text in PHASES.items():
        name = f"{large:,} pods / {small:,} pods: {text}"
        ratio = ratio_of(name, taken[phase, large].samples, taken[phase, small].samples)
        yield judge_at_most(ratio, NOISE * large / small)
