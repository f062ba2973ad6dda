"""`trainform`: the table of verbs, and where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import io
import os
import sys

import typer

from trainform.errors import TrainformError

# Verb -> what its line in `trainform --help` says. The module of the verb is imported when it is called: `check` in an editor's
# save hook must not pay for the sandbox. A module has either `command` (one verb) or `app` (a group of them).
VERBS = {
    "new": "Write the files of a new experiment.",
    "check": "Validate experiments for an environment, without a cluster.",
    "plan": "Show what will run: roles, pods, ranks, ports, environment, totals, names.",
    "render": "Print the manifests that `pulumi up` applies, as YAML documents.",
    "rehearse": "Run the job's pods as containers on this machine, before it queues for accelerators.",
    "schema": "Write the JSON Schemas of both files, for editors.",
    "sandbox": "A real control plane with simulated nodes on this machine.",
    "toolchain": "Pulumi, its plugins and the sandbox's binaries.",
    "demo": "Walk a four-node job through preview, up and its pods on the sandbox.",
}
INTERRUPTED = 130  # as shells report SIGINT


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
    for stream in (sys.stdout, sys.stderr):
        # a file's name may hold bytes that are no text, and a terminal may be ASCII
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        build_app(arguments)(args=arguments, prog_name="trainform")
    except TrainformError as error:
        typer.echo(f"trainform: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        # a full disk or a folder without permission; the rooms tell what they expect by themselves
        typer.echo(f"trainform: {error}", err=True)
        sys.exit(TrainformError.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            typer.echo("trainform: interrupted; to go on, run the same command again", err=True)
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trainform {version('trainform')}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Distributed training jobs as infrastructure code: plan, review, apply, take down."""


if __name__ == "__main__":
    main()
