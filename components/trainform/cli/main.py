"""`trainform`: the table of commands, and how errors become messages and exit codes."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any, cast

import typer

from trainform.cli.app import App
from trainform.console.lines import discard_output, echo, echo_json, flush_or_discard, output_stream
from trainform.errors import CommandLineError, TrainformError

INTERRUPTED = 130  # as shells report SIGINT


def wants_json(arguments: Sequence[str]) -> bool:
    """Return True if `--output json` is among the options, even if other options are wrong."""
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


# Command -> its line in `trainform --help`. A command's module is imported only when it is called, so that `check` does
# not import the sandbox. A module has either `command` (one command) or `app` (subcommands).
GROUPS = {
    "Projects and jobs": {
        "init": "Create a project in an empty folder",
        "new": "Write the files of a new experiment or environment",
        "check": "Find every problem of experiments in an environment, without a cluster",
        "plan": "Show what will run: roles, pods, ranks, ports, variables, objects",
        "render": "Print the manifests that `pulumi up` applies",
        "review": "Review a change: restarts, data, cost, capacity",
        "diff": "Compare two experiments field by field: deployed, released or in files",
        "apply": "Apply a saved review, if nothing has changed since",
        "promote": "Promote a deployed experiment to another environment",
        "rollback": "Restore the previous release of a stack",
        "history": "Show the promotions, rollbacks and updates of experiments",
        "status": "Show the phase of a deployed job, why it waits or failed, and its pods",
        "logs": "Print the output of a job's pods as one stream",
        "events": "Show what happened to a job, its gang, queue, claims and pods",
        "exec": "Run a command in a pod of a job",
        "port-forward": "Reach a port of a pod from this machine",
        "stacks": "List the experiments that are deployed: phase, accelerators, age, cost",
        "wait": "Wait until a deployed job runs or has succeeded",
        "suspend": "Suspend the job of a stack: its pods end, and its object stays",
        "resume": "Resume the suspended job of a stack",
        "rerun": "Run an unchanged experiment again",
        "destroy": "Delete the resources of a stack",
        "drift": "List changes made outside Pulumi since the last `pulumi up`",
        "rehearse": "Run the job on real nodes on this machine",
    },
    "This machine": {
        "doctor": "Check this machine and the cluster, and show how to install what is missing",
        "sandbox": "Start and stop a real control plane with simulated or real nodes",
        "toolchain": "Install Pulumi, its plugins and the sandbox's programs",
        "demo": "Run a job on the sandbox: preview, up, and its pods",
    },
    "Editors and shells": {
        "schema": "Write the JSON Schemas of both files and of the reports",
        "completion": "Print the script that completes commands in a shell",
    },
}
VERBS = {verb: text for verbs in GROUPS.values() for verb, text in verbs.items()}
COMPLETING = "_TRAINFORM_COMPLETE"  # set by the scripts that `completion` prints
UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])  # typer exports only its subclass


def build_app(arguments: list[str]) -> App:
    """Return the app with the called command in full, and the others by name only."""
    called = next((word for word in arguments if not word.startswith("-")), "")
    app = App(
        name="trainform",
        help="Distributed training jobs as infrastructure code.",
        epilog="`trainform COMMAND --help` shows the arguments of a command. `pulumi preview` and `up` preview and "
        "apply jobs.",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for group, verbs in GROUPS.items():
        for verb, text in verbs.items():
            if verb != called:
                app.verb(verb, help=text, rich_help_panel=group)(lambda: None)
                continue
            module = importlib.import_module(f"trainform.cli.{verb.replace('-', '_')}")
            if hasattr(module, "app"):
                app.add_typer(module.app, name=verb, rich_help_panel=group)
            else:
                app.verb(verb, rich_help_panel=group)(module.command)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit code: 0, 1 (the command failed), 2 (invalid input) or 130 (interrupted)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # pydantic would search all installed packages for plugins, which no command needs
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for err in (False, True):  # typer prints the help itself
        output_stream(err)
    if COMPLETING in os.environ:
        from trainform.cli.completion import complete

        sys.exit(complete(build_app))
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    """Run the command, print its error if there is one, and return the exit code."""
    as_json = wants_json(arguments)
    try:
        code = _called_verb(arguments, as_json)
    except OSError as error:
        # such as a full disk; errors that a command expects have their own messages
        flush_or_discard()
        return show(TrainformError(str(error)), as_json)
    return show_interrupt(as_json) if code == INTERRUPTED else code


def _called_verb(arguments: list[str], as_json: bool) -> int:
    """Run the command and return its exit code."""
    try:
        ended = build_app(arguments)(args=arguments, prog_name="trainform", standalone_mode=False)
    except TrainformError as error:
        return show(error, as_json)
    except typer.Abort:  # typer's error for an EOFError
        return show(TrainformError("the input ended too early"), as_json)
    except UsageError as error:
        return _show_usage(error, as_json)
    return ended if isinstance(ended, int) else 0


def _show_usage(error: Any, as_json: bool) -> int:
    """Print what is wrong with the arguments, or the help if there are none; return the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        echo(*error.format_message().split("\n"))
        return int(error.exit_code)
    command = "trainform" if error.ctx is None else error.ctx.command_path
    fix = f"`{command} --help` shows its arguments"
    near = sorted(getattr(error, "possibilities", None) or ())
    if near:
        return show(CommandLineError(error.message, f"did you mean {' or '.join(near)}? {fix}"), as_json)
    message = " ".join(error.format_message().split())  # choices stand on lines of their own
    return show(CommandLineError(message.replace("Value error, ", ""), fix), as_json)


def _show_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        echo(f"trainform {version('trainform')}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Distributed training jobs as infrastructure code: plan, review, apply, delete."""
