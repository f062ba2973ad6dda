"""What is printed where a command ends without its result. Few modules are loaded for it: it is there before the others are."""

from __future__ import annotations

from collections.abc import Sequence

from trainform.errors import TrainformError
from trainform.terminal.lines import echo, echo_json, give_up

INTERRUPTED = 130  # as shells report SIGINT


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` is among the options, whatever else is wrong with them."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return "--json" in arguments[:end]


def show(error: TrainformError, as_json: bool) -> int:
    """Print the error, for people on standard error or for programs on standard output; its exit code. Where standard output
    takes no document that is told on standard error, and where that takes nothing, the exit code alone is left."""
    try:
        if as_json:
            echo_json({"ok": False, "error": error.as_dict()})
        else:
            first, *others = error.lines()
            echo(f"trainform: {first}", *others, err=True)
    except OSError as failed:
        give_up(err=not as_json)
        if not as_json:
            return error.exit_code
        return show(TrainformError(f"standard output cannot be written: {str(failed.strerror).lower()}"), as_json=False)
    return error.exit_code


def show_interrupt(as_json: bool) -> int:
    """The same for SIGINT."""
    # CPython remembers an interrupt that met code made from text, as dataclasses make it, and would end the process by the signal whatever
    # the exit code: the next such code begins anew.
    eval("0")  # noqa: S307
    show(TrainformError("interrupted; to go on, run the same command again"), as_json)
    return INTERRUPTED
