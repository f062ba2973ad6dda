"""The report of a rehearsal: the lines of its pods, their states, and why the job failed. Secrets are masked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct, structs

from trainform.console.lines import MASK, SEQUENCE, escaped, strip_sequences
from trainform.local.rehearsal.run.display import ConsoleDisplay
from trainform.local.rehearsal.run.records import ENDED, FAILED, RUNNING, PodRecord, Records
from trainform.local.rehearsal.workload import Workload, short_name


class Outcome(Struct, frozen=True):
    """The result of a rehearsal."""

    pods: tuple[PodRecord, ...]
    problem: str = ""
    """Reason of the failure, empty for a success."""

    @property
    def succeeded(self) -> bool:
        """Return True if the job has succeeded, and no pod had failed for good by then."""
        return not self.problem


class Report:
    """Shows a workload on a display, and keeps the records of its pods. name_of: returns the name by which callers know
    a pod."""

    def __init__(self, workload: Workload, name_of: Callable[[dict[str, Any]], str], display: ConsoleDisplay) -> None:
        self._names = {name_of(pod): short_name(pod) for pod in workload.pods}
        self.records = Records(self._names)
        self._display, self._masked = display, Masker(workload.secrets)

    def watch(self) -> AbstractContextManager[None]:
        """Show the states of the pods until the block ends."""
        return self._display.watch([*self._names.items()], self._rows)

    def note(self, text: str) -> None:
        """Show a line of trainform's own."""
        self._display.note(self._masked(text))

    def write_line(self, pod: str, line: str) -> None:
        """Show a line of a pod."""
        line = self._masked(line)
        words = strip_sequences(line).strip()
        if any(map(str.isalnum, words)):  # not the rule below torchrun's summary
            self.records.change(pod, last_line=words)
        self._display.line(pod, line)

    def failures(self, first: Collection[str] = ()) -> list[str]:
        """Return a line for each pod that has failed. first: pods that come before the others."""
        return [
            f"{self._names[record.pod]} failed, {record.reason}{f': {error}' if error else ''}"
            for record in sorted(self.records.all(), key=lambda record: record.pod not in first)
            if record.phase == FAILED
            for error in [record.error or record.last_line]
        ]

    def late_pods(self) -> list[str]:
        """Return a line for each pod that has not ended."""
        return [
            f"{self._names[record.pod]} {_state(record)}" for record in self.records.all() if record.phase not in ENDED
        ]

    def outcome(self, problems: Iterable[str]) -> Outcome:
        """Return the outcome. problems: lines with whatever the pods wrote; none for a success."""
        return Outcome(self._rows(), "\n".join(escaped(self._masked(line)) for line in problems))

    def _rows(self) -> tuple[PodRecord, ...]:
        # a reason may repeat a word of the pod's command
        return tuple(structs.replace(record, reason=self._masked(record.reason)) for record in self.records.all())


def _state(record: PodRecord) -> str:
    reason = f" ({record.reason})" if record.reason else ""
    state = "still runs" if record.phase == RUNNING and not reason else f"is still in phase {record.phase}{reason}"
    if record.began is None:
        return state
    output = f"its last line: {record.last_line}" if record.last_line else "it wrote nothing"
    return f"{state} after {record.seconds:.0f} s; {output}"


SHORTEST_VALUE = 4  # hiding a shorter value would hide half of every line, and such a value is no secret
SHORTEST_LINE = 9  # a line of a file, such as a key's
# A program that colours what it writes may begin a colour inside a value.
_BETWEEN = f"(?:{SEQUENCE.pattern})*"


class Masker:
    """Hides the values of Secrets in a text that is not escaped yet: whole values, escaped forms, and lines."""

    def __init__(self, secrets: Mapping[str, Mapping[str, bytes]]) -> None:
        # the longest value first, because one value may begin with another
        words = sorted(set(_words(secrets)), key=len, reverse=True)
        self._words = re.compile("|".join(_BETWEEN.join(map(re.escape, word)) for word in words)) if words else None

    def __call__(self, text: str) -> str:
        return text if self._words is None else self._words.sub(MASK, text)


def _words(secrets: Mapping[str, Mapping[str, bytes]]) -> Iterator[str]:
    values = (value.decode(errors="replace").strip() for data in secrets.values() for value in data.values())
    for value in values:
        shortest = SHORTEST_LINE if "\n" in value else SHORTEST_VALUE
        # a line ends at a line feed, and of a line that a carriage return overwrites the last state is shown
        yield from (piece for line in re.split("[\r\n]", value) if len(piece := line.strip()) >= shortest)
        if len(value) >= SHORTEST_VALUE:
            yield from (value, escaped(value), json.dumps(value)[1:-1], repr(value)[1:-1])
