"""Measurements in turn: A B C, A B C, …, after one warm-up round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.commands import Command, measure
from bench.samples import Sample, Series
from trainform.console.progress import Progress


def in_turn(
    title: str, measurements: dict[str, Callable[[], Sample]], runs: int, progress: Progress
) -> tuple[Series, ...]:
    """Return a series for each measurement, by name. The samples at one index belong to one round."""
    samples: dict[str, list[Sample]] = {name: [] for name in measurements}
    with progress.step(title) as step:
        for number in range(runs + 1):
            for name, measurement in measurements.items():
                step.update(f"{title}, round {number} of {runs}: {name}" if number else f"{title}, warm-up: {name}")
                sample = measurement()
                if number:
                    samples[name].append(sample)
    return tuple(Series(name, tuple(taken)) for name, taken in samples.items())


def commands_in_turn(title: str, commands: Sequence[Command], runs: int, progress: Progress) -> tuple[Series, ...]:
    """Measure commands in turn; return a series for each."""
    return in_turn(title, {command.name: _measurement(command) for command in commands}, runs, progress)


def _measurement(command: Command) -> Callable[[], Sample]:
    return lambda: measure(command)
