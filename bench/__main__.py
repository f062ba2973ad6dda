"""`python -m bench [--write] [--only NAME …] [--runs N]`: measure and print; with --write, also into
docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from msgspec import structs

from bench import command_line, drift, dry_run, growth, machine, previews, reports, ways
from bench.commands import REPOSITORY
from bench.display import between_markers, show, to_markdown
from bench.sections import Section
from bench.workplace import Workplace, cache_bytecode
from trainform.cli.progress import display
from trainform.errors import TrainformError

DOCUMENT = REPOSITORY / "docs" / "reference" / "benchmarks.md"
MEASUREMENTS: dict[str, Callable[[Workplace], list[Section]]] = {
    "command-line": command_line.measure,
    "growth": growth.measure,
    "ways": ways.measure,
    "dry-run": dry_run.measure,
    "report": reports.measure,
    "preview": previews.measure,
    "drift": drift.measure,
}
RUNS = 9
INTERRUPTED = 130


def main() -> None:
    """Measure the chosen parts, and print the report."""
    arguments = _arguments()
    chosen = arguments.only if arguments.only else list(MEASUREMENTS)
    load = machine.load()
    with tempfile.TemporaryDirectory(prefix="trainform-bench-") as name:
        whole = Workplace(arguments.runs, Path(name), display())
        cache_bytecode(whole.new("bytecode"))
        # each measurement has a folder of its own: several make a project
        places = {key: structs.replace(whole, folder=whole.new(key)) for key in chosen}
        sections = [section for key, place in places.items() for section in MEASUREMENTS[key](place)]
    description = machine.describe(arguments.runs, load)
    show(description, sections)
    if arguments.write:
        DOCUMENT.write_text(between_markers(DOCUMENT.read_text(), to_markdown(description, sections)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what trainform costs.")
    parser.add_argument("--write", action="store_true", help="Store the tables in docs/reference/benchmarks.md.")
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, help="Only this part; may be repeated.")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"Rounds after the warm-up ({RUNS}).")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs: at least one round is required")
    if arguments.write and arguments.only:
        parser.error("--write stores a whole run: leave out --only")
    return arguments


def _unwind(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _unwind)  # so that the sandbox is stopped
    try:
        main()
    except TrainformError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
