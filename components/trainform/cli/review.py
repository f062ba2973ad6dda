"""`trainform review`."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from trainform import defaults
from trainform.cli import candidates
from trainform.cli.review_files import Form, forms_of
from trainform.errors import CommandLineError, InputError, Problem, TrainformError
from trainform.terminal.lines import echo, note, terminal_width

if TYPE_CHECKING:
    from trainform.cluster.live import LiveReads
    from trainform.review.fail_on import FailOn
    from trainform.review.files import StackFiles
    from trainform.review.model import Report
    from trainform.review.preview import Preview
    from trainform.review.run import EngineRun

STANDARD_INPUT = "-"
PREVIEW = "--preview-json"
PREVIEW_FIX = "give the path of a file that `pulumi preview --json` has written, or `-` for standard input"
WIDTH_OF_FILES = 100
NO_STACK = "no stack named"  # what the engine says of a stack that its backend does not have
STYLES = {"": "", "title": "bold", "high": "bold red", "medium": "yellow", "low": "cyan"}

StackArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STACK",
        help="Stack of the project. Default: the only one, or with --preview-json the one of the preview.",
        show_default=False,
        autocompletion=candidates.stacks,
    ),
]
PreviewOption = Annotated[
    str | None,
    typer.Option(
        PREVIEW,
        metavar="FILE",
        help="Read what Pulumi has printed of a preview as JSON, in place of running it. `-`: standard input.",
        show_default=False,
    ),
]
FormOption = Annotated[
    Form, typer.Option("--format", metavar="terminal|markdown|json", help="Form on standard output.")
]
FilesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to this file as well: FILE.md, FILE.json or FILE.txt. May be repeated.",
        show_default=False,
    ),
]
FailOption = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="WORDS",
        help="End with exit code 3 if one of these is met: a category (data,restart), a level (high), a cost (cost:500/h, "
        "cost:+20%), incomplete.",
        show_default=False,
    ),
]
DurationOption = Annotated[
    str | None,
    typer.Option("--duration", metavar="TIME", help="Length of the run, for its cost: 72h.", show_default=False),
]
ClusterOption = Annotated[bool, typer.Option("--no-cluster", help="Ask the cluster nothing.")]


def command(
    stack: StackArgument = None,
    preview_json: PreviewOption = None,
    form: FormOption = Form.TERMINAL,
    files: FilesOption = None,
    fail_on: FailOption = None,
    duration: DurationOption = None,
    no_cluster: ClusterOption = False,
) -> None:
    """Say what a change does to the run, the data, the bill and the queue.

    It runs `pulumi preview` and reads the cluster beside it, for at most 2 seconds more; nothing is changed.
    Secrets are masked, those in a program's own messages as far as they are known. Exit code: 0, 1 if the
    preview fails, 2 for wrong arguments, or 3 if a condition of --fail-on is met.
    """
    conditions = None if fail_on is None else _conditions(fail_on)
    hours = None if duration is None else _hours(duration)
    targets = forms_of([] if files is None else files)
    report = _report(stack, preview_json, hours, ask_cluster=not no_cluster)
    for file, chosen in targets.items():
        _write(report, file, chosen)
    _show(report, form)
    code = _exit_code(report, conditions)
    if code:
        raise typer.Exit(code)


# --- arguments


def _conditions(fail_on: str) -> FailOn:
    from trainform.review.fail_on import parse_fail_on

    return parse_fail_on(fail_on)


def _exit_code(report: Report, conditions: FailOn | None) -> int:
    from trainform.review.fail_on import FailOn, exit_code

    return exit_code(report, FailOn() if conditions is None else conditions)


def _hours(duration: str) -> Decimal:
    from trainform.spec.quantities import DURATION_HINT, seconds

    try:
        return (Decimal(seconds(duration)) / 3600).quantize(Decimal("0.01")).normalize()
    except (ValueError, ArithmeticError):
        raise InputError([Problem("--duration", duration, "is not a duration", DURATION_HINT)]) from None


# --- reading


class _Made(NamedTuple):
    """A preview with the stack's name, its files, and what is read of the cluster since they are known; None: nothing is."""

    name: str
    preview: Preview
    files: StackFiles
    reads: LiveReads | None


Begin = Callable[["StackFiles"], "LiveReads | None"]


def _report(stack: str | None, preview_json: str | None, hours: Decimal | None, *, ask_cluster: bool) -> Report:
    with contextlib.ExitStack() as closing:

        def begin(files: StackFiles) -> LiveReads | None:
            """Begin to read the cluster, where it is known which one it is."""
            if not ask_cluster or files.environment is None:
                return None
            from trainform.cluster.live import LiveReads

            where = files.environment.cluster.context, files.environment.namespace.name
            kueue = files.environment.admission == defaults.KUEUE
            return closing.enter_context(LiveReads(*where, kueue=kueue))

        made = _made_here(stack, begin) if preview_json is None else _made_elsewhere(stack, preview_json, begin)
        return _report_on(made, hours, ask_cluster=ask_cluster)


def _report_on(made: _Made, hours: Decimal | None, *, ask_cluster: bool) -> Report:
    from trainform.review.context import Context
    from trainform.review.jobs import jobs_of
    from trainform.review.model import NotChecked
    from trainform.review.objects import asked_of
    from trainform.review.report import build_report

    name, preview, files, reads = made
    jobs = jobs_of(preview)
    live, left_out = None, [*files.left_out]
    if reads is not None:
        asked = asked_of(preview, jobs)
        live = reads.facts(asked.jobs, asked.queues, asked.objects)
    else:
        reason = (
            "Without the environment's file nothing says which one it is." if ask_cluster else "--no-cluster is set."
        )
        left_out.append(NotChecked(what="cluster", reason=reason))
    today = datetime.datetime.now(datetime.UTC).date()
    context = Context(name, preview, jobs, files.environment, live, files.locate, today, hours)
    return build_report(context, files.checked, left_out)


def _made_here(stack: str | None, begin: Begin) -> _Made:
    """Run the preview. Beside it the files are checked, and the cluster is read as far as no preview is needed for it."""
    from trainform.project import project_root, require_project
    from trainform.review.run import run_preview

    root = project_root()
    require_project(root)
    name = _named(stack, root)
    note(f"trainform: `pulumi preview -s {name}` runs", err=True)
    with ThreadPoolExecutor(1) as beside:
        checking = beside.submit(_files_of, name, root)
        reading = beside.submit(lambda: begin(checking.result()))
        beside.submit(_import_the_rest)
        run = run_preview(name, root)
        files = checking.result()  # what is wrong with the stack's file says more than the engine's error about it
        return _Made(name, _preview_of(run, name), files, reading.result())


def _named(stack: str | None, root: Path) -> str:
    """The stack that was named, or the only one. An error if the project has no such stack, or if none was named and it has several."""
    from trainform.project import known_stacks, require_stack

    if stack is not None:
        require_stack(stack, root)
        return stack
    known = known_stacks(root)
    if len(known) != 1:
        listed = f"the project has {', '.join(known)}" if known else "`trainform new` writes one"
        raise CommandLineError("Missing argument 'STACK'", f"name the stack: {listed}")
    return known[0]


def _files_of(stack: str, root: Path) -> StackFiles:
    from trainform.review.files import chosen_by, stack_files

    return stack_files(chosen_by(stack, root), root)


def _import_the_rest() -> None:
    """Import what follows the preview while the engine works."""
    import trainform.review.fail_on
    import trainform.review.forms.terminal
    import trainform.review.jobs
    import trainform.review.report
    import trainform.terminal.screen  # noqa: F401


def _preview_of(run: EngineRun, stack: str) -> Preview:
    """The preview of a run of the engine. TrainformError if the engine failed before it had one."""
    import dataclasses

    from trainform.review.policies import refusal
    from trainform.review.read import read_preview

    ended = f"`pulumi preview` ended with exit code {run.code}"
    try:
        preview = read_preview(run.text, "pulumi preview")
    except InputError as error:
        lines = [line for line in run.errors.splitlines() if line.strip()]
        missing = any(NO_STACK in line for line in lines)
        fix = f"pulumi stack select --create {stack}" if missing else "run `pulumi preview` by hand to see why"
        raise TrainformError(ended, fix, lines or error.lines()) from None
    if run.code == 0 or preview.failed:
        return preview
    refused = refusal(preview)
    return dataclasses.replace(preview, failed=refused if refused else ended)


def _made_elsewhere(stack: str | None, preview_json: str, begin: Begin) -> _Made:
    """Read a preview that was made elsewhere. Its stack may have no files here."""
    from trainform.project import project_root
    from trainform.review.files import without_files
    from trainform.review.read import LARGEST, read_preview
    from trainform.spec import files

    if preview_json == STANDARD_INPUT:
        source, text = files.STANDARD_INPUT, files.read_standard_input(LARGEST)
    else:
        source, text = preview_json, _text_of(preview_json, LARGEST)
    preview = read_preview(text, source)
    name = _stack_of(preview, stack)
    try:
        found = _files_of(name, project_root())
    except TrainformError as error:
        found = without_files(error)
    return _Made(name, preview, found, begin(found))


def _text_of(file: str, largest: int) -> str:
    """The text of a preview's file. InputError in the words of the option: what is no text there is no file to be mended."""
    from trainform.spec import files

    try:
        return files.read_text(Path(file), file, largest)
    except InputError as error:
        problems = [Problem(PREVIEW, file, problem.reason, PREVIEW_FIX) for problem in error.problems]
        raise InputError(problems) from None


def _stack_of(preview: Preview, stack: str | None) -> str:
    """The stack of the preview. CommandLineError if it is not the one that was named, or if it has none and none was named."""
    named = next((step.urn.split(":")[2] for step in preview.steps if step.urn.count(":") > 2), None)
    if stack is None and named is None:
        raise CommandLineError("Missing argument 'STACK'", "name the stack: the preview has no resource that says it")
    if stack is not None and named is not None and stack.rpartition("/")[2] != named:
        raise CommandLineError(
            f"the preview is one of the stack {named}, not of {stack}", f"name {named}, or leave it out"
        )
    return named if stack is None and named is not None else str(stack)


# --- writing


def _write(report: Report, file: str, form: Form) -> None:
    from trainform.spec.files import was_read
    from trainform.terminal.output import output_to

    with output_to(file, was_read):
        echo(*_text(report, form, WIDTH_OF_FILES).removesuffix("\n").split("\n"))


def _text(report: Report, form: Form, width: int) -> str:
    from trainform.review.forms import as_json, markdown, terminal

    if form is Form.TERMINAL:
        return terminal.render(report, width)
    return markdown.render(report) if form is Form.MARKDOWN else as_json.render(report)


def _show(report: Report, form: Form) -> None:
    """Print the report; in a terminal with colours."""
    if form is Form.TERMINAL:
        from trainform.terminal.screen import screen

        made = screen()
        if made.is_terminal:
            from trainform.review.forms.terminal import lines

            for line in lines(report, terminal_width()):
                made.print(line.text, style=STYLES[line.style], soft_wrap=True)
            return
    echo(*_text(report, form, terminal_width()).removesuffix("\n").split("\n"))
