"""`trainform`: the table of verbs, and where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, cast

import typer

from trainform.errors import TrainformError
from trainform.terminal.lines import echo, forgiving_stream

# Verb -> what its line in `trainform --help` says. The module of the verb is imported when it is called: `check` in an editor's
# save hook must not pay for the sandbox. A module has either `command` (one verb) or `app` (a group of them).
VERBS = {
    "init": "Make a project in an empty folder.",
    "new": "Write the files of a new experiment, or of a new environment.",
    "check": "Validate experiments for an environment, without a cluster.",
    "plan": "Show what will run: roles, pods, ranks, ports, environment, totals, names.",
    "render": "Print the manifests that `pulumi up` applies, as YAML documents.",
    "rehearse": "Run the job's pods as containers on this machine, before it queues for accelerators.",
    "schema": "Write the JSON Schemas of both files, for editors.",
    "sandbox": "A real control plane with simulated nodes on this machine.",
    "toolchain": "Pulumi, its plugins and the sandbox's binaries.",
    "doctor": "Look what is there, what is missing for which verb, and what mends it.",
    "demo": "Walk a four-node job through preview, up and its pods on the sandbox.",
}
INTERRUPTED = 130  # as shells report SIGINT
UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])  # typer names only this kind of it


def build_app(arguments: list[str]) -> typer.Typer:
    """The app with the called verb in full and the others by name."""
    called = next((word for word in arguments if not word.startswith("-")), "")
    app = typer.Typer(
        name="trainform",
        help="Distributed training jobs as infrastructure code.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for verb, text in VERBS.items():
        if verb != called:
            app.command(verb, help=text)(lambda: None)
            continue
        module = importlib.import_module(f"trainform.cli.{verb}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb, help=text)
        else:
            app.command(verb)(module.command)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exit code 0, 1 (could not be done), 2 (wrong input) or 130 (interrupted)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # pydantic would look through every installed package for plugins; no verb has a use for one
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for err in (False, True):  # the help is typer's own
        forgiving_stream(err)
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    """The exit code; what went wrong is printed."""
    try:
        ended = build_app(arguments)(args=arguments, prog_name="trainform", standalone_mode=False)
    except TrainformError as error:
        first, *others = error.lines()
        echo(f"trainform: {first}", *others, err=True)
        return error.exit_code
    except typer.Abort:  # typer's word for an EOFError
        echo("trainform: what was read ended too early", err=True)
        return TrainformError.exit_code
    except UsageError as error:
        return _show_usage(error)
    except OSError as error:
        # a full disk or a folder without permission; the rooms tell what they expect by themselves
        echo(f"trainform: {error}", err=True)
        return TrainformError.exit_code
    code = ended if isinstance(ended, int) else 0
    if code == INTERRUPTED:
        echo("trainform: interrupted; to go on, run the same command again", err=True)
    return code


def _show_usage(error: Any) -> int:
    """What is wrong with the words of the command line; nothing where they are missing altogether, and the help has been printed."""
    message = error.format_message()
    if message.strip():
        command = "trainform" if error.ctx is None else error.ctx.command_path
        echo(f"trainform: {message}", f"  fix: `{command} --help` tells what it takes", err=True)
    return int(error.exit_code)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        echo(f"trainform {version('trainform')}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Distributed training jobs as infrastructure code: plan, review, apply, take down."""


if __name__ == "__main__":
    main()
