"""Lines of text on standard output or standard error."""

from __future__ import annotations

import contextlib
import contextvars
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from trainform.console.escaping import escaped, is_visible

_QUIET = contextvars.ContextVar("quiet", default=False)
DEFAULT_WIDTH = 80
"""Columns, if the width of the terminal is unknown."""


def echo(*lines: str, err: bool = False) -> None:
    """Print the lines; line ends inside of a line are escaped."""
    stream = output_stream(err)
    shown = lines if is_visible("".join(lines)) else map(escaped, lines)
    stream.write("\n".join([*shown, ""]))
    stream.flush()


@contextlib.contextmanager
def suppress_notes(quiet: bool) -> Iterator[None]:
    """Suppress notes and progress inside the block if `quiet` is true."""
    before = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(before)


def is_quiet() -> bool:
    """Return True if only results and errors are printed."""
    return _QUIET.get()


def note(*lines: str, err: bool = False) -> None:
    """Print remarks, such as the next command to type; with `--quiet` they are left out."""
    if not is_quiet():
        echo(*lines, err=err)


def terminal_width() -> int:
    """Return the columns of the terminal, or the variable COLUMNS, or `DEFAULT_WIDTH`."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def stdin_is_terminal() -> bool:
    """Return True if standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def ask(question: str) -> bool:
    """Ask on standard error, and return whether the answer is `y` or `yes`. The end of the input is a no."""
    stream = output_stream(err=True)
    stream.write(escaped(question))
    stream.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def echo_json(data: Any) -> None:
    """Print data as JSON, in which all characters outside of ASCII are escaped."""
    echo(*json.dumps(data, indent=2).split("\n"))


def discard_output(err: bool) -> None:
    """Replace a stream that cannot be written: at its exit Python would try again, and print an error."""
    setattr(sys, "stderr" if err else "stdout", Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - it stays open


def flush_or_discard() -> None:
    """Flush standard output. If that fails, the output is lost, and the exit code does not change."""
    try:
        output_stream().flush()
    except OSError:
        discard_output(err=False)


def output_stream(err: bool = False) -> TextIO:
    """Return standard output or standard error. Characters that its encoding lacks are escaped.

    A stream that the caller has closed (`>&-`, None in Python) is replaced by the null device, also for typer and rich.
    """
    name = "stderr" if err else "stdout"
    if getattr(sys, name) is None:
        setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - it stays open
    stream: TextIO = getattr(sys, name)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
