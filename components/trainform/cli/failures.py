"""Output of errors. It imports few modules, since it is also used for an interrupt during the imports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from trainform.console.lines import discard_output, echo, echo_json
from trainform.errors import TrainformError

INTERRUPTED = 130  # as shells report SIGINT


def wants_json(arguments: Sequence[str]) -> bool:
    """True if `--output json` is among the options, even if other options are wrong."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [part for word in arguments[:end] for part in word.split("=", 1)]
    return ("--output", "json") in itertools.pairwise(words)


def show(error: TrainformError, as_json: bool) -> int:
    """Print the error as text on standard error, or as JSON on standard output, and return its exit code.

    If the JSON cannot be written, an error is printed on standard error; if that fails too, only the exit code remains.
    """
    try:
        if as_json:
            echo_json({"ok": False, "error": error.as_dict()})
        else:
            first, *others = error.lines()
            echo(f"trainform: {first}", *others, err=True)
    except OSError as failed:
        discard_output(err=not as_json)
        if not as_json:
            return error.exit_code
        return show(TrainformError(f"standard output cannot be written: {str(failed.strerror).lower()}"), as_json=False)
    return error.exit_code


def show_interrupt(as_json: bool) -> int:
    """Print the error for an interrupt, and return its exit code."""
    # CPython remembers an interrupt that arrived while code from text was executed, as dataclasses do, and would end
    # the process by the signal, whatever the exit code. Executing other code from text resets that.
    eval("0")  # noqa: S307
    show(TrainformError("interrupted; run the same command again to continue"), as_json)
    return INTERRUPTED
