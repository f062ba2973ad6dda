"""Runs a command once, and measures its time and peak memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil
from msgspec import Struct

from bench.samples import Sample
from trainform.errors import TrainformError

REPOSITORY = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent
LAUNCHER = Path(__file__).with_name("launch.py")
COMMAND_SECONDS = 300.0
TAIL_LINES = 15
# ru_maxrss counts kilobytes on Linux and bytes on macOS.
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
MEGABYTE = 1e6


class Command(Struct, frozen=True):
    """A command to measure. `name`: in the report. `environ`: more environment variables. `codes`: exit codes of a
    success."""

    name: str
    words: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str] = {}
    codes: tuple[int, ...] = (0,)


def trainform(name: str, folder: Path, *words: str) -> Command:
    """Return a command of this checkout's `trainform`."""
    return Command(name, (str(PROGRAMS / "trainform"), *words), folder)


def measure(command: Command) -> Sample:
    """Run a command and return its measurement. Raises `TrainformError` with the end of its output if it fails."""
    return run(command)[0]


def run(command: Command) -> tuple[Sample, str]:
    """Run a command; return the measurement and its standard output. Raises `TrainformError` if it fails."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        code, seconds, peak = _numbers(command, _launch(command, output, errors))
        text, complaints = _read(output), _read(errors)
    if code not in command.codes:
        raise TrainformError(
            f"`{_spell(command.words)}` ended with code {code}; its last lines:",
            "run it alone, correct its error, then run `make bench` again",
            f"{text}\n{complaints}".strip().splitlines()[-TAIL_LINES:],
        )
    return Sample(seconds, peak * MAXRSS_UNIT / MEGABYTE), text


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _launch(command: Command, output: IO[bytes], errors: IO[bytes]) -> str:
    reading, writing = os.pipe()
    with open(reading, closefd=True) as numbers:  # noqa: PTH123  (a pipe has no path)
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER), str(writing), *command.words],
                cwd=command.folder,
                env={**os.environ, **command.environ},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                pass_fds=[writing],
                start_new_session=True,  # Ctrl-C is sent to the benchmark only, which then kills all of it
            )
        finally:
            os.close(writing)
        try:
            process.wait(COMMAND_SECONDS)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise TrainformError(
                    f"`{_spell(command.words)}` did not end within {COMMAND_SECONDS:.0f} s",
                    "run it alone to see where it waits",
                ) from None
            raise
        return numbers.read()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all its children: Pulumi's plugins have their own process groups, and would outlive the
    engine."""
    with contextlib.suppress(psutil.NoSuchProcess):
        launcher = psutil.Process(process.pid)
        for each in [*launcher.children(recursive=True), launcher]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait()


def _numbers(command: Command, text: str) -> tuple[int, float, int]:
    if not text:  # the launcher prints nothing if the command could not be started
        raise TrainformError(f"`{_spell(command.words)}` could not be started", "run it alone to see why")
    code, seconds, peak = text.split()
    return int(code), float(seconds), int(peak)


def _spell(words: Sequence[str]) -> str:
    return " ".join([Path(words[0]).name, *words[1:]])
