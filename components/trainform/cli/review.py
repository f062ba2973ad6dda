"""`trainform review`."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform import defaults
from trainform.cli import candidates
from trainform.cli.arguments import (
    JOB,
    SUFFIXES,
    WHICH_JOB,
    Form,
    JobsEnvironmentOption,
    argument,
    option,
    seconds_of,
)
from trainform.cli.review_saving import SAVE, saving_of
from trainform.cli.review_stacks import CHANGED_SINCE, PREVIEW, STORED, refuse_beside, refuse_wrong_words, stacks_of
from trainform.console.files import OPTION, output_to, target_of
from trainform.console.lines import echo, output_stream, terminal_width
from trainform.errors import CommandLineError, InputError, Problem, each_result
from trainform.project import project_root, require_project

if TYPE_CHECKING:
    from fractions import Fraction

    from trainform.cli.review_reading import Begin
    from trainform.review.fail_on import FailOn
    from trainform.review.model import Review, Selection
    from trainform.review.whole import Read

WIDTH_OF_FILES = 100
DETAILS = "--details"
ADDRESS = re.compile(r"https://[A-Za-z0-9._~:/?#@!$&*+,;=%-]{1,2000}")
STYLES = {"": "", "title": "bold", "high": "bold red", "medium": "yellow", "low": "cyan"}


ALL = "Take all stacks of the environment that -e names, its own stack first."
SINCE = "Review all stacks affected by changes since the merge base with REF, a branch, tag or commit."
MADE = "Read the JSON of a preview instead of running one. May be repeated. `-`: standard input."
WRITTEN = "Read a report that `-o FILE.json` has written instead of making one. `-`: standard input."
FULL = "In a terminal: all objects, fields and reasons. Files always have them."
TARGET = "Write the report to this file as well: FILE.md, FILE.html, FILE.json or FILE.txt. May be repeated."
CONDITIONS = (
    "End with exit code 3 if one of these is met: a category (data,restart), a level (high), a cost (cost:500/h, "
    "cost:+20%), incomplete."
)
PAGE = "With --output comment: the address of the whole report, for a link in the comment."
SAVED = "Save the review of one stack, so that `trainform apply FILE` applies what was reviewed, and nothing else."
JOBS = f"{WHICH_JOB} Default: the only stack of the project, or with --preview-json those of the previews."
StackArguments = Annotated[list[str] | None, argument(JOB, JOBS, candidates.jobs)]
AllOption = Annotated[bool, typer.Option("--all", help=ALL)]
ChangedOption = Annotated[str | None, option("REF", SINCE, CHANGED_SINCE)]
PreviewsOption = Annotated[list[str] | None, option("FILE", MADE, PREVIEW)]
StoredOption = Annotated[str | None, option("FILE", WRITTEN, STORED)]
FormOption = Annotated[Form, option("|".join(Form), "Form on standard output.", "--output")]
FullOption = Annotated[bool, typer.Option("--full", help=FULL)]
FilesOption = Annotated[list[str] | None, option("FILE", TARGET, OPTION)]
FailOption = Annotated[str | None, option("WORDS", CONDITIONS, "--fail-on")]
DurationOption = Annotated[str | None, option("TIME", "Length of the run, for its cost: 72h.", "--duration")]
DetailsOption = Annotated[str | None, option("URL", PAGE, DETAILS)]
SaveOption = Annotated[str | None, option("FILE", SAVED, SAVE)]
ClusterOption = Annotated[bool, typer.Option("--no-cluster", help="Do not read the cluster.")]


def command(
    stacks: StackArguments = None,
    every: AllOption = False,
    environment: JobsEnvironmentOption = None,
    changed_since: ChangedOption = None,
    preview_json: PreviewsOption = None,
    review_json: StoredOption = None,
    form: FormOption = Form.TEXT,
    full: FullOption = False,
    files: FilesOption = None,
    fail_on: FailOption = None,
    duration: DurationOption = None,
    no_cluster: ClusterOption = False,
    details: DetailsOption = None,
    save: SaveOption = None,
) -> None:
    """Review a change: restarts, data, cost, capacity.

    It runs `pulumi preview` and reads the cluster beside it, for at most 2 seconds more; nothing is changed. Several
    stacks make one report: an overview, and each stack in which something changes, the most severe first. Secrets are
    masked, those in a program's own messages where they are known. Exit code: 0, 1 if a preview fails, 2 for wrong
    arguments, or 3 if a condition of --fail-on is met: by one of the stacks, or by the cost of all. With --review-json
    and --output comment, and without --fail-on, a preview that failed earlier does not count: the job that made the
    report has failed already.
    """
    conditions = None if fail_on is None else _conditions(fail_on)
    hours = None if duration is None else _hours(duration)
    targets = dict(zip(files or [], each_result(_form_of, files or []), strict=True))
    named, given = stacks or [], preview_json or []
    refuse_wrong_words(named, environment, given, changed_since, every=every)
    making = {
        JOB: bool(named),
        "--all": every,
        CHANGED_SINCE: changed_since is not None,
        PREVIEW: bool(given),
        "--duration": hours is not None,
    }
    if review_json is not None:
        refuse_beside(STORED, making, "leave it out: the report is made already")
    beside_save = {name: there for name, there in making.items() if name not in (JOB, "--duration")}
    beside_save |= {STORED: review_json is not None, "--no-cluster": no_cluster}
    saving = saving_of(save, named, environment, beside_save)
    if details is not None:
        _check_details(details, form)
    if review_json is not None:
        from trainform.cli.review_reading import written_before

        read, review = [], written_before(review_json)
    else:
        from trainform.cli.review_reading import cluster_reads

        selection = None if changed_since is None else _selection(changed_since)
        gathering = contextlib.nullcontext() if saving is None else saving.gathering()
        with gathering, cluster_reads(ask_cluster=not no_cluster) as begin:
            read = _read(named, environment, given, selection, begin, every=every)
            from trainform.review.whole import review_of_read

            review = review_of_read(read, selection, hours, ask_cluster=not no_cluster)
    for file, chosen in targets.items():
        with output_to(file):
            _echo(_text(review, chosen, WIDTH_OF_FILES, None, full=True))
    _show(review, form, details, full=full)
    if saving is not None:
        saving.write(read)
    if review_json is None or form is not Form.COMMENT or fail_on is not None:
        from trainform.review.fail_on import FailOn, exit_code

        raise typer.Exit(exit_code(review, FailOn() if conditions is None else conditions))


# --- arguments


def _form_of(file: str) -> Form:
    """Return the form of a file, which is checked before the preview runs: that may take minutes."""
    form = SUFFIXES.get(Path(file).suffix)
    if form is None:
        fix = f"give it one of {', '.join(SUFFIXES)}; --output chooses the form on standard output"
        raise InputError([Problem(OPTION, file, "the ending of the name does not say the form", fix)])
    target_of(file)
    return form


def _conditions(fail_on: str) -> FailOn:
    from trainform.review.fail_on import parse_fail_on

    return parse_fail_on(fail_on)


def _hours(duration: str) -> Fraction:
    from fractions import Fraction

    length = seconds_of("--duration", duration)
    if not length:
        raise InputError([Problem("--duration", duration, "must be more than 0", "write it like 72h")])
    return Fraction(length, 3600)


def _check_details(details: str, form: Form) -> None:
    if form is not Form.COMMENT:
        raise CommandLineError(f"{DETAILS} has no meaning without --output comment", "add `--output comment`")
    if ADDRESS.fullmatch(details) is None:
        raise InputError([Problem(DETAILS, details, "is not an https address", "write it as https://example.com/page")])


def _read(
    words: list[str],
    environment: str | None,
    previews: list[str],
    selection: Selection | None,
    begin: Begin,
    *,
    every: bool,
) -> list[Read]:
    from trainform.cli.review_reading import made_elsewhere, made_here

    if previews:
        return made_elsewhere(previews, words, begin)
    if selection is None:
        return made_here(*stacks_of(words, environment, every=every), begin)
    return made_here([*selection.touched], project_root(), begin) if selection.touched else []


def _selection(since: str) -> Selection:
    root = require_project()
    from trainform.review.touched import selection_since

    return selection_since(since, root)


# --- writing


def _echo(text: str) -> None:
    echo(*text.removesuffix("\n").split("\n"))


def _text(review: Review, form: Form, width: int, details: str | None, *, full: bool) -> str:
    from trainform.review.forms import text

    match form:
        case Form.TEXT:
            return text.terminal(review, width, full=full)
        case Form.COMMENT:
            return text.comment(review, defaults.LONGEST_COMMENT, details)
        case Form.MARKDOWN:
            return text.markdown(review)
        case Form.HTML:
            from trainform.review.forms import html

            return html.render(review)
        case Form.JSON:
            from trainform.review import stored

            return stored.render(review)


def _show(review: Review, form: Form, details: str | None, *, full: bool) -> None:
    """Print the review; in a terminal with colours."""
    if form is not Form.TEXT or not output_stream().isatty():  # rich is worth the time of its import only there
        _echo(_text(review, form, terminal_width(), details, full=full))
        return
    from trainform.console.screen import screen
    from trainform.review.forms.text import lines

    made = screen()
    for line in lines(review, terminal_width(), full=full):
        made.print(line.text, style=STYLES[line.style], soft_wrap=True)
