"""Times of `trainform` commands as whole processes, compared with Python alone and with the import of its libraries."""

from __future__ import annotations

import sys

from bench.aims import judge_at_most
from bench.commands import REPOSITORY, Command, trainform
from bench.rounds import commands_in_turn
from bench.samples import compare
from bench.sections import Section
from bench.shapes import ENVIRONMENT, EXPERIMENT
from bench.workplace import Workplace

LIBRARIES = "from pydantic import BaseModel; import yaml, typer"
TIMES_LIBRARIES = 2.3


def measure(workplace: Workplace) -> list[Section]:
    """Measure whole processes."""
    check = trainform("`trainform check sdxl-lora -e dev`", REPOSITORY, "check", EXPERIMENT, "-e", ENVIRONMENT)
    libraries = Command(f'`python -c "{LIBRARIES}"`', (sys.executable, "-c", LIBRARIES), REPOSITORY)
    models = '`python -c "from trainform import Environment, Experiment"` (the models)'
    commands = [
        Command('`python -c ""`', (sys.executable, "-c", ""), REPOSITORY),
        libraries,
        Command(models, (sys.executable, "-c", "from trainform import Environment, Experiment"), REPOSITORY),
        trainform("`trainform --help`", REPOSITORY, "--help"),
        check,
    ]
    series = commands_in_turn("command line", commands, workplace.runs, workplace.progress)
    by_name = {one.name: one for one in series}
    ratio = compare(by_name[check.name], by_name[libraries.name])
    return [Section("Command line", series, judged=(judge_at_most(ratio, TIMES_LIBRARIES),))]
