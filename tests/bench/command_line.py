"""How long the shell waits for `trainform`, with bare Python beside it."""

from __future__ import annotations

import sys

from tests.bench.aims import judge_seconds
from tests.bench.commands import REPOSITORY, Command, trainform
from tests.bench.rounds import commands_in_turn
from tests.bench.sections import Section
from tests.bench.shapes import ENVIRONMENT, EXPERIMENT
from tests.bench.workplace import Workplace

CHECK_SECONDS = 0.35


def measure(workplace: Workplace) -> list[Section]:
    """Whole processes, from start to end."""
    check = trainform("`trainform check sdxl-lora -e dev`", REPOSITORY, "check", EXPERIMENT, "-e", ENVIRONMENT)
    commands = [
        Command('`python -c ""`', (sys.executable, "-c", ""), REPOSITORY),
        Command(
            '`python -c "import trainform.spec"` (the models)',
            (sys.executable, "-c", "import trainform.spec"),
            REPOSITORY,
        ),
        trainform("`trainform --help`", REPOSITORY, "--help"),
        check,
    ]
    series = commands_in_turn("command line", commands, workplace.runs, workplace.progress)
    by_name = {one.name: one for one in series}
    judged = judge_seconds(check.name, by_name[check.name].median, CHECK_SECONDS)
    return [Section("Command line, whole processes", series, judged=(judged,))]
