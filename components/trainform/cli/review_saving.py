"""`trainform review STACK --save FILE`: the facts for a later `trainform apply FILE`, gathered during the preview."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainform.cli.review_stacks import refuse_beside, stacks_of
from trainform.console.files import output_to, target_of
from trainform.console.lines import echo, note
from trainform.errors import CommandLineError, TrainformError

if TYPE_CHECKING:
    from trainform.review.whole import Read
    from trainform.stacks.saved.gather import Facts, Source

SAVE = "--save"
Gathered = tuple["Facts", "Source", Mapping[str, Any]]


class Saving:
    """A review that is to be saved."""

    def __init__(self, file: str, stack: str, root: Path) -> None:
        self.file, self.stack, self.root = file, stack, root

    @contextlib.contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather in a thread while the preview runs. The modules are imported before: two threads that import modules
        which need each other find half of one."""
        import trainform.stacks.saved.gather  # noqa: F401

        with ThreadPoolExecutor(1) as beside:
            self._gathered: Future[Gathered] = beside.submit(_gather, self.stack, self.root)
            yield

    def write(self, read: Sequence[Read]) -> None:
        """Write the file. Raises `TrainformError` if something could not be gathered; the report is printed before."""
        from trainform.stacks.saved.file import text_of
        from trainform.stacks.saved.preview import saved_review

        try:
            facts, source, sealed = self._gathered.result()
            (only,) = read
            text = text_of(saved_review(facts, only.preview, only.files.environment, source), source.key, sealed)
        except TrainformError:
            echo(f"trainform: {self.file} is not written:", err=True)
            raise
        with output_to(self.file, SAVE):
            echo(*text.removesuffix("\n").split("\n"))
        words = shlex.quote(self.file)
        note(f"trainform: saved; `trainform apply {words}` applies what was reviewed, and nothing else", err=True)


def saving_of(file: str | None, words: list[str], environment: str | None, given: Mapping[str, bool]) -> Saving | None:
    """Return how to save, None without a file. given: options that exclude it."""
    if file is None:
        return None
    refuse_beside(SAVE, given, "save the review of one stack that is previewed here")
    found, root = stacks_of(words, environment)
    if len(found) > 1:
        reason = f"{SAVE} takes the review of one stack, and {len(found)} are named"
        raise CommandLineError(reason, "save each by itself")
    target_of(file, SAVE)
    return Saving(file, found[0], root)


def _gather(stack: str, root: Path) -> Gathered:
    from trainform.stacks.saved.file import new_key
    from trainform.stacks.saved.gather import Source, gather

    key, sealed = new_key(stack, root)
    source = Source(stack, root, key)
    return gather(source), source, sealed
