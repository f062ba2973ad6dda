"""Lines of text on standard output or standard error, without invisible characters."""

from __future__ import annotations

import contextlib
import contextvars
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

MASK = "[secret]"
"""Stands for a secret in everything that is shown. Where either side of a change is secret, both sides are masked."""
CHANGED_MASK = "[secret, changed]"
"""Stands for the new side of a secret of which a preview shows that it changes, although both sides are masked."""
UNKNOWN = "[known after apply]"
"""Stands for a value that the engine knows only at `up`."""

# For Unicode these are letters, marks or symbols, but they are invisible: fillers, joiners, selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d173-\U0001d17a\U000e0100-"
    "\U000e01ef]"
)
SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Control sequences of ECMA-48, which colour text, move the cursor or erase."""
# Its control strings, which hold addresses and titles: OSC, DCS and others.
_CONTROL_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)")


def escaped(text: str) -> str:
    """Return the text on one line, with invisible characters as Python's escapes. A second call changes nothing."""
    if is_visible(text):
        return text
    return "".join(each if is_visible(each) else each.encode("unicode_escape").decode() for each in text)


def strip_invisible(text: str) -> str:
    """Return only the visible characters of the text, by which people and rules recognise a name."""
    return text if is_visible(text) else "".join(filter(is_visible, text))


def strip_sequences(text: str) -> str:
    """Return the text without control sequences (colours, cursor movements) and control strings (links, titles)."""
    return SEQUENCE.sub("", _CONTROL_STRING.sub("", text))


def plain_text(line: str) -> str:
    """Return a line of another program's output without its colours and other control sequences; tabs stay."""
    return line if is_visible(line) else "\t".join(map(escaped, strip_sequences(line).split("\t")))


_OWN_SIGNS = str.maketrans("→…", "--")
"""Signs of trainform's own sentences, one column each: they need no import of rich, which measures other letters."""


def display_width(text: str) -> int:
    """Return the columns of a text in a terminal: East Asian letters have two, combining marks none."""
    if text.translate(_OWN_SIGNS).isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int) -> list[str]:
    """Return lines of whole words. A word that is longer than a line has its own line, so that it can be copied."""
    lines: list[str] = []
    room = 0
    for word in re.findall(r" *[^ ]+", escaped(text)):
        room -= display_width(word)
        if lines and room >= 0:
            lines[-1] += word
        else:
            lines.append(word.lstrip(" "))
            room = width - display_width(lines[-1])
    return lines


def is_visible(text: str) -> bool:
    """Return True if `escaped` changes nothing."""
    return text.isprintable() and _BLANK.search(text) is None


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
    import shutil  # which imports compression

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
        discard_output(err)
    stream: TextIO = getattr(sys, name)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
