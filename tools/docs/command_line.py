"""The tables of `docs/reference/command-line.md`, generated from the help of the commands. The rest is written by
hand."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from tools.docs.markdown import page, table
from trainform.cli.main import VERBS, build_app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"
BEGIN, END = "<!-- begin of what `make golden` writes -->", "<!-- end of what `make golden` writes -->"
EVERYWHERE = {"--quiet", "--help", "--output", "-o"}
SHARED = ("environment", "all", "set", "output", "o", "quiet")
WITH_SHARED = "check"


def command_line_page() -> str:
    """Return the page with new tables."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    commands = table(("command", "what it does", "arguments and options"), map(_row, _commands()))
    options = table(("option", "meaning"), _shared_options())
    written = page(BEGIN, commands, "Options of several commands:", options, END)
    return f"{before}{written.strip()}{rest.partition(END)[2]}"


@functools.cache
def _command(verb: str) -> Any:
    return get_command(build_app([verb])).commands[verb]  # type: ignore[attr-defined]


def _commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its name: `sandbox up`."""
    for verb in VERBS:
        command = _command(verb)
        inner = getattr(command, "commands", None)
        if inner is None:
            yield verb, command
        else:
            yield from ((f"{verb} {name}", each) for name, each in inner.items())


def _row(named: tuple[str, Any]) -> tuple[str, str, str]:
    name, command = named
    first = " ".join(command.help.split("\n\n")[0].split()).removesuffix(".")
    context = command.make_context(name, [], resilient_parsing=True)
    arguments = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    options = [min(parameter.opts, key=len) for parameter in command.params if _is_own(parameter)]
    return f"`{name}`", first, " ".join(f"`{word}`" for word in (*arguments, *options))


def _is_own(parameter: Any) -> bool:
    return parameter.param_type_name == "option" and EVERYWHERE.isdisjoint(parameter.opts) and not parameter.hidden


def _shared_options() -> Iterator[tuple[str, str]]:
    by_name = {parameter.opts[0].lstrip("-"): parameter for parameter in _command(WITH_SHARED).params}
    for name in SHARED:
        parameter = by_name[name]
        metavar = "" if parameter.is_flag else f" {parameter.metavar}"
        yield f"`{', '.join(sorted(parameter.opts, key=len))}{metavar}`", parameter.help
