"""How a verb is called and how its help looks: plain texts, and the options that all verbs have."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from trainform.cli.arguments import OutputOption, QuietOption
from trainform.cli.near_misses import advice
from trainform.errors import CommandLineError
from trainform.terminal.lines import quietly
from trainform.terminal.output import output_to

Command = Callable[..., Any]
_TYPE = re.compile(r" <[^ ].*")  # typer's names of Python's types, where there is no metavar
_BETWEEN, _AT_LEAST = re.compile(r"([0-9.]+)<=x<=([0-9.]+)"), re.compile(r"x>=([0-9.]+)")


class Verb(TyperCommand):
    """A verb, with its usage as a person writes it."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _plain_usage(super().collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)


class VerbGroup(TyperGroup):
    """Verbs below one name, in the groups (`rich_help_panel`) that they were given."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _plain_usage(super().collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_parameters(self, ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, verbs = args[0], self.list_commands(ctx)
        if word in verbs or ctx.resilient_parsing:  # the second: a shell asks what may stand there
            return super().resolve_command(ctx, args)
        raise CommandLineError(f"No such command {word!r}", advice(ctx.command_path, word, verbs, args[1:]))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            title = command.rich_help_panel if isinstance(command.rich_help_panel, str) else "Commands"
            groups.setdefault(title, []).append((name, _first_sentence(command.help)))
        longest = max((len(name) for rows in groups.values() for name, _ in rows), default=0)
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{longest}}", text) for name, text in rows])


def _plain_usage(pieces: Iterable[str]) -> list[str]:
    """Without typer's braces around what must be given."""
    return [piece.translate({ord("{"): None, ord("}"): None}) for piece in pieces]


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            name, text = record
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            rows[title].append((_TYPE.sub("", name), _AT_LEAST.sub(r"at least \1", _BETWEEN.sub(r"\1 to \2", text))))
    for title, found in rows.items():
        if found:
            with formatter.section(title):
                formatter.write_dl(found)


def _first_sentence(text: str | None) -> str:
    """The first paragraph on one line, without the full stop."""
    return " ".join(inspect.cleandoc("" if text is None else text).split("\n\n")[0].split()).removesuffix(".")


class App(typer.Typer):
    """A group of verbs, each of which has `--quiet`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=VerbGroup, rich_markup_mode=None, no_args_is_help=True, add_completion=False, **settings)

    def verb(self, name: str, **settings: Any) -> Callable[[Command], Command]:
        register = self.command(name, cls=Verb, **settings)

        def with_quiet(function: Command) -> Command:
            register(_with_option(function, "quiet", QuietOption, False, quietly))
            return function

        return with_quiet


def prints_data(function: Command) -> Command:
    """The verb with `--output`."""

    return _with_option(function, "output", OutputOption, None, lambda file: output_to(file, _was_read))


def _was_read(path: Path) -> bool:
    from trainform.spec.files import was_read

    return was_read(path)


def _with_option(
    function: Command, name: str, annotation: Any, default: Any, around: Callable[[Any], AbstractContextManager[None]]
) -> Command:
    """The function with one more option, whose value says within what it is called."""

    @functools.wraps(function)
    def called(**given: Any) -> Any:
        with around(given.pop(name)):
            try:
                return function(**given)
            except typer.Exit as exit_:  # it has printed its result, which an exception would throw away
                ended = exit_
        raise ended

    signature = inspect.signature(function, eval_str=True)
    option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    vars(called)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), option])
    return called
