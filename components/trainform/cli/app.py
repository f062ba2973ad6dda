"""Commands and their help as plain text, and the options that several commands share."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal

import typer
from typer._coercion import build_runtime_param
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from trainform.cli.arguments import SUFFIXES, Form, QuietOption, form_of, option
from trainform.console.files import OPTION, output_to
from trainform.console.lines import suppress_notes
from trainform.errors import CommandLineError

Command = Callable[..., Any]
_TYPE = re.compile(r" <[^ ].*")  # typer's names of Python types, for options without a metavar
_BETWEEN, _AT_LEAST = re.compile(r"([0-9.]+)<=x<=([0-9.]+)"), re.compile(r"x>=([0-9.]+)")


CLOSE = 0.7  # a smaller value would suggest `destroy` for `scale` or `retry`
# words of other tools -> what to type here
OTHER_WORDS = {
    "up deploy submit launch start run train": "`pulumi up -s STACK` creates or changes the job; `trainform sandbox "
    "up` starts a cluster on this machine",
    "restart retry": "`trainform rerun STACK`, then `pulumi up -s STACK`, runs an unchanged experiment again",
    "pause hold": "`trainform suspend STACK`, then `pulumi up -s STACK`, ends the job's pods until `trainform resume`",
    "preview dry-run": "`trainform review STACK` shows the effects of a change, `pulumi preview -s STACK` its fields",
    "down delete remove rm stop cancel kill": "`trainform destroy STACK` deletes the job, but not claims with "
    "`keep: true`; `trainform sandbox down` stops the sandbox",
    "ps get pods describe": "`trainform status STACK` shows the job and its pods, `trainform logs STACK` their output",
    "shell ssh attach bash sh": "`trainform exec STACK ROLE/INDEX` starts a shell in a pod",
    "validate lint verify": "`trainform check EXPERIMENT -e ENV` finds every problem of both files",
    "list ls": "`trainform stacks` lists the deployed experiments, `pulumi stack ls` the stacks of a backend",
    "help": "`trainform --help` lists the commands, `trainform COMMAND --help` shows the arguments of one",
    "version": "`trainform --version` prints it",
}
SUGGESTIONS = {word: text for words, text in OTHER_WORDS.items() for word in words.split()}


def suggestion(command: str, word: str, verbs: Collection[str]) -> str:
    """Return what to type instead of an unknown word. `command`: the words before it."""
    if command == "trainform" and word in SUGGESTIONS:
        return SUGGESTIONS[word]
    near = difflib.get_close_matches(word, verbs, 1, CLOSE)
    return f"did you mean `{command} {near[0]}`?" if near else f"`{command} --help` lists the commands"


class AsTyped:
    """The conversion of arguments, which leaves texts, and values of the right type, as they are: typer would import
    pydantic, which is half of the time until `trainform review` starts the engine."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter, converted if its annotation says another type."""
        kind = param.type_descriptor.annotation
        if value is None:  # the default of an option without one
            return () if param.multiple or param.nargs == -1 else None
        if isinstance(kind, type) and isinstance(value, kind):
            return value
        return [*value] if kind == list[str] else build_runtime_param(param.type_descriptor).coerce(value, param, ctx)


CONVERSION = "get_runtime_param"
for kind in (TyperArgument, TyperOption):
    setattr(kind, CONVERSION, lambda parameter: AsTyped())


class Verb(TyperCommand):
    """A command with plain text for its usage and help."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _plain_usage(super().collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)


class VerbGroup(TyperGroup):
    """A command with subcommands, which its help lists in groups (`rich_help_panel`)."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _plain_usage(super().collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_parameters(self, ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, verbs = args[0], self.list_commands(ctx)
        if word in verbs or ctx.resilient_parsing:  # resilient_parsing: shell completion
            return super().resolve_command(ctx, args)
        raise CommandLineError(f"No such command {word!r}", suggestion(ctx.command_path, word, verbs))

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
    """Return the usage without typer's braces around required arguments."""
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
    """Return the first paragraph of a help text on one line, without the full stop."""
    return " ".join(inspect.cleandoc("" if text is None else text).split("\n\n")[0].split()).removesuffix(".")


class App(typer.Typer):
    """A typer app whose commands all have `--quiet`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=VerbGroup, rich_markup_mode=None, no_args_is_help=True, add_completion=False, **settings)

    def verb(self, name: str, **settings: Any) -> Callable[[Command], Command]:
        register = self.command(name, cls=Verb, **settings)

        def with_quiet(function: Command) -> Command:
            register(_add_options(function, suppress_notes, quiet=(QuietOption, False)))
            return function

        return with_quiet


def prints(*forms: Form) -> Callable[[Command], Command]:
    """Add the options `--output` and `-o` to a command: it gets the chosen form as `form`."""
    form_text = "Form of the output; `json` also for errors. Default: by the suffix of -o, else text."
    form_option = typer.Option("--output", metavar="|".join(forms), help=form_text, show_default=False)
    suffixes = ", ".join(suffix for suffix, form in SUFFIXES.items() if form in forms)
    file_text = f"Write to this file, atomically; {suffixes}: in this form. `-`: standard output."
    options = {
        "output": (Annotated[Literal[*map(str, forms)] | None, form_option], None),
        "output_file": (Annotated[str | None, option("FILE", file_text, OPTION)], None),
    }

    @contextlib.contextmanager
    def printing(output: str | None, file: str | None) -> Iterator[dict[str, Form]]:
        form = form_of(output, file, forms)
        with output_to(file):
            yield {"form": form}

    return lambda function: _add_options(function, printing, {"form"}, **options)


def _add_options(
    function: Command,
    around: Callable[..., AbstractContextManager[Any]],
    computed: Collection[str] = (),
    /,
    **options: tuple[Any, Any],
) -> Command:
    """Return the function with more options: name -> type and default.

    around: returns, for the values of the options, the context manager in which the function is called. computed:
    parameters of the function that it yields."""

    @functools.wraps(function)
    def called(**given: Any) -> Any:
        with around(*(given.pop(name) for name in options)) as more:
            try:
                return function(**given, **({} if more is None else more))
            except typer.Exit as exit_:  # the result is printed already, and an exception would discard it
                ended = exit_
        raise ended

    signature = inspect.signature(function, eval_str=True)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name not in computed]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in options.items()
    ]
    vars(called)["__signature__"] = signature.replace(parameters=[*kept, *added])
    return called
