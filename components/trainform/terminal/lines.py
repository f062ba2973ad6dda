"""Lines of text on standard output or standard error."""

from __future__ import annotations

import contextlib
import contextvars
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from trainform.escaping import escaped

_QUIET = contextvars.ContextVar("quiet", default=False)
NARROW = 80
"""Columns where nothing says how wide the terminal is: every one has them."""


def echo(*lines: str, err: bool = False) -> None:
    """Print the lines; what looks like a line end inside one of them is shown, and ends nothing."""
    stream = forgiving_stream(err)
    stream.write("".join(f"{escaped(line)}\n" for line in lines))
    stream.flush()


@contextlib.contextmanager
def quietly(wanted: bool) -> Iterator[None]:
    """Without notes and progress until the block is left, where that is wanted."""
    before = _QUIET.set(wanted)
    try:
        yield
    finally:
        _QUIET.reset(before)


def is_quiet() -> bool:
    """Whether only results and errors are to be printed."""
    return _QUIET.get()


def note(*lines: str, err: bool = False) -> None:
    """Print what a reader can do without: remarks, what to type next. `--quiet` leaves it out."""
    if not is_quiet():
        echo(*lines, err=err)


def width() -> int:
    """The columns of the terminal, or what COLUMNS says; `NARROW` where neither is known."""
    return shutil.get_terminal_size((NARROW, 24)).columns


def columns(text: str) -> int:
    """The columns that the text takes in a terminal: letters of East Asia take two, marks on letters none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words; a word that is longer than a line has one of its own, so that it can be copied."""
    lines: list[str] = []
    room = 0
    for word in re.findall(r" *[^ ]+", escaped(text)):
        room -= columns(word)
        if lines and room >= 0:
            lines[-1] += word
        else:
            lines.append(word.lstrip(" "))
            room = width - columns(lines[-1])
    return lines


def reads_from_a_person() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def echo_json(data: Any) -> None:
    """Print the data for other programs. JSON has escapes of its own for all that is not ASCII."""
    echo(*json.dumps(data, indent=2).split("\n"))


def give_up(err: bool) -> None:
    """Nothing more reaches the stream, which takes nothing: Python would try again at its end, and print what it ran into."""
    setattr(sys, "stderr" if err else "stdout", Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - as below


def forgiving_stream(err: bool = False) -> TextIO:
    """Standard output, or standard error. What its encoding does not know is escaped too: a terminal may be ASCII. In the place of a stream
    that whoever started us has closed (`>&-`, for which Python has None) stands one that leads nowhere, for typer and rich too."""
    name = "stderr" if err else "stdout"
    if getattr(sys, name) is None:
        setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - it stays open, as the others do
    stream: TextIO = getattr(sys, name)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
