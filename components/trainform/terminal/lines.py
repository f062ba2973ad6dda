"""Lines of text on standard output or standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from trainform.escaping import escaped


def echo(*lines: str, err: bool = False) -> None:
    """Print the lines; what looks like a line end inside one of them is shown, and ends nothing."""
    stream = forgiving_stream(err)
    stream.write("".join(f"{escaped(line)}\n" for line in lines))
    stream.flush()


def echo_json(data: Any) -> None:
    """Print the data for other programs. JSON has escapes of its own for all that is not ASCII."""
    echo(*json.dumps(data, indent=2).split("\n"))


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
