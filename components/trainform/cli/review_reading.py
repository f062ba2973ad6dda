"""What `trainform review` reads: the preview of each stack, the files beside it, and the cluster. Until the engine runs
nothing heavy is imported."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from trainform import defaults
from trainform.cli.arguments import STANDARD_INPUT
from trainform.cli.review_stacks import PREVIEW, STORED, refuse_repeated
from trainform.errors import CommandLineError, InputError, Problem, TrainformError
from trainform.project import project_root
from trainform.review.run import EngineRun, finished, previews_in
from trainform.terminal.lines import note

if TYPE_CHECKING:
    from trainform.cluster.facts import LiveFacts
    from trainform.cluster.live import LiveReads
    from trainform.review.context import Context, JobReview
    from trainform.review.files import StackFiles
    from trainform.review.model import Report, Review, Selection
    from trainform.review.preview import Preview
    from trainform.spec.environment import Environment

PREVIEW_FIX = "give the path of a file that `pulumi preview --json` has written, or `-` for standard input"
ERROR = "error:"
NO_STACK = "no stack named"  # what the engine says of a stack that its backend does not have


class Read(Struct, frozen=True):
    """What was read of a stack, and what is read of the cluster since its files are known; None: nothing is."""

    stack: str
    preview: Preview
    files: StackFiles
    reads: LiveReads | None


Begin = Callable[["StackFiles"], "LiveReads | None"]


@contextlib.contextmanager
def cluster_reads(*, ask_cluster: bool) -> Iterator[Begin]:
    """What begins to read the cluster of a stack, where it is known which one it is. The reads end with the block."""
    with contextlib.ExitStack() as closing:

        def begin(files: StackFiles) -> LiveReads | None:
            if not ask_cluster or files.environment is None:
                return None
            from trainform.cluster.identity import refuse_another_if_reached
            from trainform.cluster.live import SECONDS, LiveReads

            refuse_another_if_reached(files.environment, SECONDS)
            where = files.environment.cluster.context, files.environment.namespace.name
            kueue = files.environment.admission == defaults.KUEUE
            return closing.enter_context(LiveReads(*where, kueue=kueue))

        yield begin


# --- previews that are made here


def made_here(stacks: Sequence[str], root: Path, begin: Begin) -> list[Read]:
    """Run the previews of the stacks side by side. Beside them the files are checked, and the cluster is read as far as
    no preview is needed for it.

    InputError with every problem of the stacks' files of config, which says more than the engine's errors about them.
    """
    with (
        ThreadPoolExecutor(1) as beside,
        _progress(stacks) as watch,
        previews_in(root, watch=watch) as begin_preview,
    ):
        runs = [begin_preview(stack) for stack in stacks]
        checks = [beside.submit(_begun, stack, root, begin) for stack in stacks]
        beside.submit(_import_the_rest)
        begun = _all_of(checks)
        return [
            Read(stack, _preview_of(finished(run), stack), *found)
            for stack, run, found in zip(stacks, runs, begun, strict=True)
        ]


def _begun(stack: str, root: Path, begin: Begin) -> tuple[StackFiles, LiveReads | None]:
    """The files of the stack, and the reads of its cluster."""
    files = _files_of(stack, root)
    return files, begin(files)


def _files_of(stack: str, root: Path) -> StackFiles:
    from trainform.review.files import stack_files
    from trainform.review.stack_choice import chosen_by

    return stack_files(chosen_by(stack, root), root, stack)


def _all_of(checks: Sequence[Future[tuple[StackFiles, LiveReads | None]]]) -> list[tuple[StackFiles, LiveReads | None]]:
    found, problems = [], list[Problem]()
    for check in checks:
        try:
            found.append(check.result())
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return found


@contextlib.contextmanager
def _progress(stacks: Sequence[str]) -> Iterator[Callable[[Sequence[str]], None]]:
    """Say which previews run: of one it is said once."""
    if len(stacks) == 1:
        note(f"trainform: `pulumi preview -s {stacks[0]}` runs", err=True)
        yield lambda running: None
        return
    from trainform.cli.progress import display

    title = f"previews of {len(stacks)} stacks"
    with display().step(title) as step:
        yield lambda running: step.update(f"{title}: {', '.join(running)}" if running else title)


def _import_the_rest() -> None:
    """Import what follows the previews while the engine works, and build the validators of reports."""
    import trainform.review.fail_on
    import trainform.review.forms.document
    import trainform.review.forms.terminal
    import trainform.review.needed_secrets
    import trainform.review.read
    import trainform.review.report
    import trainform.review.whole  # noqa: F401
    from trainform.report_part import Part

    for part in Part.__subclasses__():
        part.model_rebuild()


def _preview_of(run: EngineRun, stack: str) -> Preview:
    """The preview of a run of the engine; one that failed if the engine ended before it had any."""
    from trainform.review.policies import refusal
    from trainform.review.preview import Message
    from trainform.review.read import INCOMPLETE, read_preview

    ended = f"`pulumi preview` ended with exit code {run.code}"
    lines = [line for line in run.errors.splitlines() if line.strip()]
    try:
        preview = read_preview(run.text, "pulumi preview")
    except InputError as error:
        return _without_steps(lines or error.lines(), stack)
    if run.code and lines and preview.failed == INCOMPLETE:  # only standard error says why
        return structs.replace(preview, failed="\n".join(lines))
    if run.note:
        preview = structs.replace(preview, messages=(*preview.messages, Message("info", run.note)))
    if run.code == 0 or preview.failed:
        return preview
    refused = refusal(preview.policies)
    return structs.replace(preview, failed=refused if refused else ended)


def _without_steps(lines: Sequence[str], stack: str) -> Preview:
    """The preview of an engine that wrote nothing but these lines."""
    from trainform.review.preview import Preview

    begin = next((index for index, line in enumerate(lines) if line.startswith(ERROR)), 0)
    first, *others = lines[begin:]
    fix = [f"  fix: pulumi stack select --create {stack}"] if NO_STACK in first else []
    return Preview("stream", (), failed="\n".join([first, *fix, *others, *lines[:begin]]), incomplete=True)


# --- previews that were made elsewhere


def made_elsewhere(previews: Sequence[str], stacks: Sequence[str], begin: Begin) -> list[Read]:
    """Read previews that were made elsewhere. stacks: those that they are expected to be of, in the same order; none:
    any."""
    if stacks and len(stacks) != len(previews):
        raise CommandLineError(
            f"there are {len(previews)} previews and {len(stacks)} stacks",
            "name the stack of each preview in the same order, or none",
        )
    if previews.count(STANDARD_INPUT) > 1:
        raise CommandLineError(
            "only one preview can come from standard input", "give the path of a file for the others"
        )
    expected: Sequence[str | None] = stacks if stacks else [None] * len(previews)
    read = [_made_elsewhere(source, stack, begin) for source, stack in zip(previews, expected, strict=True)]
    refuse_repeated(each.stack for each in read)
    return read


def _made_elsewhere(given: str, stack: str | None, begin: Begin) -> Read:
    """Read one preview. Its stack may have no files here."""
    from trainform.review.files import without_files
    from trainform.review.read import LARGEST, read_preview

    source, text = _text_of(given, LARGEST, PREVIEW, PREVIEW_FIX)
    preview = read_preview(text, source)
    name = _stack_of(preview, stack)
    try:
        found = _files_of(name, project_root())
    except TrainformError as error:
        found = without_files(error)
    return Read(name, preview, found, begin(found))


def _text_of(file: str, largest: int, option: str, fix: str) -> tuple[str, str]:
    """The name of what is read, and its text. InputError in the words of the option: what is no text there is no file
    to be mended."""
    from trainform.spec import files

    if file == STANDARD_INPUT:
        return files.STANDARD_INPUT, files.read_standard_input(largest)
    try:
        return file, files.read_text(Path(file), file, largest)
    except InputError as error:
        raise InputError([Problem(option, file, problem.reason, fix) for problem in error.problems]) from None


def written_before(given: str) -> Review:
    """The report that an earlier review has written as JSON."""
    from trainform.review.read import LARGEST
    from trainform.review.stored import FIX, read_review

    source, text = _text_of(given, LARGEST, STORED, f"{FIX}, or `-` for standard input")
    return read_review(text, STORED, source)


def _stack_of(preview: Preview, stack: str | None) -> str:
    """The stack of the preview. CommandLineError if it is not the one that was named, or if it has none and none was
    named."""
    named = next((step.urn.split(":")[2] for step in preview.steps if step.urn.count(":") > 2), None)
    if stack is None and named is None:
        if preview.unreadable:
            reason = f"nothing says which stack the preview is of: {preview.unreadable}"
            raise CommandLineError(reason, "make the preview again, or name its stack to review what is left of it")
        raise CommandLineError("Missing argument 'STACK'", "name the stack: the preview has no resource that says it")
    if stack is not None and named is not None and stack.rpartition("/")[2] != named:
        raise CommandLineError(
            f"the preview is one of the stack {named}, not of {stack}", f"name {named}, or leave it out"
        )
    return named if stack is None and named is not None else str(stack)


# --- the cluster, and the review of it all


def review_of_read(
    read: Sequence[Read], selection: Selection | None, hours: Fraction | None, *, ask_cluster: bool
) -> Review:
    """The review of all that was read. The cluster is waited for once for all stacks, so that it takes no longer than
    for one."""
    from trainform.review.jobs import jobs_of
    from trainform.review.whole import review_of

    jobs = [jobs_of(each.preview) for each in read]
    with ThreadPoolExecutor(max(len(read), 1)) as pool:
        live = [*pool.map(_live, read, jobs)]
    contexts = contexts_of(read, jobs, live, hours)
    reports = [_report(each, context, ask_cluster=ask_cluster) for each, context in zip(read, contexts, strict=True)]
    return review_of(reports, selection, _project(read))


def _project(read: Sequence[Read]) -> str:
    """The name of the project, as the previews have it. Where there is no resource, it is that of the file: a comment
    of an earlier run, which had some, is found by it. Empty if there is none."""
    from trainform.spec.stack import project_name

    urns = (step.urn.split("::") for each in read for step in each.preview.steps)
    named = next((parts[1] for parts in urns if len(parts) > 1), None)
    return project_name(project_root()) if named is None else named


def _live(read: Read, jobs: tuple[JobReview, ...]) -> LiveFacts | None:
    """What the cluster says; None if it is not asked."""
    from trainform.review.needed_secrets import needed_secrets
    from trainform.review.objects import asked_of

    if read.reads is None:
        return None
    if read.files.users is not None and read.files.environment is not None:
        from trainform.review.settings import namespace_before

        model = read.files.environment
        read.reads.list_deployed(model.name, namespace_before(read.preview) or model.namespace.name)
    asked = asked_of(read.preview, jobs)
    return read.reads.facts(asked.jobs, asked.queues, (*asked.objects, *needed_secrets(read.preview, jobs)))


def contexts_of(
    read: Sequence[Read],
    jobs: Sequence[tuple[JobReview, ...]],
    live: Sequence[LiveFacts | None],
    hours: Fraction | None,
) -> list[Context]:
    """Everything about each stack, with the stacks on its cluster that are deployed before it: environments first."""
    from trainform.review.context import Context
    from trainform.review.needed_secrets import missing_secrets, needed_secrets

    today = datetime.datetime.now(datetime.UTC).date()
    found: dict[int, Context] = {}
    for at in sorted(range(len(read)), key=lambda at: read[at].files.users is None):
        files, where = read[at].files, _cluster(read[at].files.environment)
        earlier = (other for other in found.values() if where is not None and _cluster(other.environment) == where)
        found[at] = Context(
            read[at].stack,
            read[at].preview,
            jobs[at],
            environment=files.environment,
            live=live[at],
            locate=files.locate,
            today=today,
            hours=hours,
            users=files.users,
            lacks=files.lacks,
            missing=missing_secrets(needed_secrets(read[at].preview, jobs[at]), live[at]),
            earlier=tuple(earlier),
            origin=files.origin,
        )
    return [found[at] for at in range(len(read))]


def _cluster(environment: Environment | None) -> str | None:
    return None if environment is None else environment.cluster.uid or environment.cluster.context or ""


def _report(read: Read, context: Context, *, ask_cluster: bool) -> Report:
    from trainform.review.model import NotChecked
    from trainform.review.report import build_report

    left_out = [*read.files.left_out]
    if context.live is None:
        why = "Without the environment's file nothing says which one it is." if ask_cluster else "--no-cluster is set."
        left_out.append(NotChecked(what="cluster", reason=why))
    return build_report(context, read.files.checked, left_out)
