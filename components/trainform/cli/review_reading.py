"""Read the preview of each stack, its files and the cluster, for `trainform review`. Nothing heavy is imported before
the engine runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from trainform import defaults
from trainform.cli.arguments import STANDARD_INPUT
from trainform.cli.review_stacks import PREVIEW, STORED, refuse_repeated
from trainform.console.lines import note
from trainform.deployed.preview_runs import EngineRun, finished, previews_in
from trainform.errors import CommandLineError, InputError, Problem, TrainformError, each_result
from trainform.project import project_root

if TYPE_CHECKING:
    from trainform.cluster.live import LiveReads
    from trainform.review.files import StackFiles
    from trainform.review.model import Review
    from trainform.review.preview import Preview
    from trainform.review.whole import Read

PREVIEW_FIX = "give the path of a file that `pulumi preview --json` has written, or `-` for standard input"
ERROR = "error:"


Begin = Callable[["StackFiles"], "LiveReads | None"]


@contextlib.contextmanager
def cluster_reads(*, ask_cluster: bool) -> Iterator[Begin]:
    """Yield a function that begins to read the cluster of a stack, if its environment is known. The reads end with the
    block."""
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
    """Run the previews in parallel; check the files and read the cluster meanwhile. Raises `InputError` with every
    problem of the stacks' config files, which says more than the engine's errors."""
    with (
        ThreadPoolExecutor(1) as beside,
        _progress(stacks) as watch,
        previews_in(root, watch=watch) as begin_preview,
    ):
        runs = [begin_preview(stack) for stack in stacks]
        checks = beside.submit(each_result, lambda stack: _begun(stack, root, begin), stacks)
        beside.submit(_import_the_rest)
        begun = checks.result()
        from trainform.review.whole import Read

        return [
            Read(stack, _preview_of(finished(run)), *found)
            for stack, run, found in zip(stacks, runs, begun, strict=True)
        ]


def _begun(stack: str, root: Path, begin: Begin) -> tuple[StackFiles, LiveReads | None]:
    """Return the files of a stack, and the reads of its cluster."""
    files = _files_of(stack, root)
    return files, begin(files)


def _files_of(stack: str, root: Path) -> StackFiles:
    from trainform.review.files import stack_files
    from trainform.spec.stack import load_any_stack

    return stack_files(load_any_stack(stack, root), root, stack)


@contextlib.contextmanager
def _progress(stacks: Sequence[str]) -> Iterator[Callable[[Sequence[str]], None]]:
    """Show which previews run; a single one is shown once."""
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
    import trainform.review.forms.text
    import trainform.review.read
    import trainform.review.report
    import trainform.review.whole  # noqa: F401
    from trainform.console.report_part import Part

    for part in Part.__subclasses__():
        part.model_rebuild()


def _preview_of(run: EngineRun) -> Preview:
    """Return the preview of a run of the engine; a failed one if the engine ended without a preview."""
    from trainform.review.policies import refusal
    from trainform.review.preview import Message
    from trainform.review.read import INCOMPLETE, read_preview

    lines = [line for line in run.errors.splitlines() if line.strip()]
    try:
        preview = read_preview(run.text, "pulumi preview")
    except InputError as error:
        return _without_steps(lines or error.lines())
    if run.code and lines and preview.failed == INCOMPLETE:  # only standard error says why
        return structs.replace(preview, failed="\n".join(lines))
    if run.note:
        preview = structs.replace(preview, messages=(*preview.messages, Message("info", run.note)))
    if run.code == 0 or preview.failed:
        return preview
    failed = refusal(preview.policies) or f"`pulumi preview` ended with exit code {run.code}"
    return structs.replace(preview, failed=failed)


def _without_steps(lines: Sequence[str]) -> Preview:
    """Return the preview of an engine that wrote only these lines."""
    from trainform.review.preview import Preview

    begin = next((index for index, line in enumerate(lines) if line.startswith(ERROR)), 0)
    return Preview("stream", (), failed="\n".join([*lines[begin:], *lines[:begin]]), incomplete=True)


# --- previews that were made elsewhere


def made_elsewhere(previews: Sequence[str], stacks: Sequence[str], begin: Begin) -> list[Read]:
    """Read previews that were made elsewhere. stacks: the stack of each preview; empty: any."""
    if stacks and len(stacks) != len(previews):
        reason = f"there are {len(previews)} previews and {len(stacks)} stacks"
        raise CommandLineError(reason, "name the stack of each preview in the same order, or none")
    if previews.count(STANDARD_INPUT) > 1:
        reason = "only one preview can come from standard input"
        raise CommandLineError(reason, "give the path of a file for the others")
    expected: Sequence[str | None] = stacks if stacks else [None] * len(previews)
    read = [_made_elsewhere(source, stack, begin) for source, stack in zip(previews, expected, strict=True)]
    refuse_repeated(each.stack for each in read)
    return read


def _made_elsewhere(given: str, stack: str | None, begin: Begin) -> Read:
    """Read one preview. Its stack may have no files here."""
    from trainform.review.files import without_files
    from trainform.review.read import LARGEST, read_preview
    from trainform.review.whole import Read

    source, text = _text_of(given, LARGEST, PREVIEW, PREVIEW_FIX)
    preview = read_preview(text, source)
    name = _stack_of(preview, stack)
    try:
        found = _files_of(name, project_root())
    except TrainformError as error:
        found = without_files(error)
    return Read(name, preview, found, begin(found))


def _text_of(file: str, largest: int, option: str, fix: str) -> tuple[str, str]:
    """Return the name of the source, and its text. Raises `InputError` for the option."""
    from trainform.console import files

    if file == STANDARD_INPUT:
        return files.STANDARD_INPUT, files.read_standard_input(largest)
    try:
        return file, files.read_text(Path(file), file, largest)
    except InputError as error:
        raise InputError([Problem(option, file, problem.reason, fix) for problem in error.problems]) from None


def written_before(given: str) -> Review:
    """Return the report that an earlier review wrote as JSON."""
    from trainform.review.read import LARGEST
    from trainform.review.stored import FIX, read_review

    source, text = _text_of(given, LARGEST, STORED, f"{FIX}, or `-` for standard input")
    return read_review(text, STORED, source)


def _stack_of(preview: Preview, stack: str | None) -> str:
    """Return the stack of the preview. Raises `CommandLineError` if another one was named, or if it has none."""
    named = next((step.urn.split(":")[2] for step in preview.steps if step.urn.count(":") > 2), None)
    if stack is None and named is None:
        raise CommandLineError("Missing argument 'STACK'", "name the stack: the preview has no resource that says it")
    if stack is not None and named is not None and stack.rpartition("/")[2] != named:
        reason = f"the preview is one of the stack {named}, not of {stack}"
        raise CommandLineError(reason, f"name {named}, or leave it out")
    return str(named if stack is None else stack)
