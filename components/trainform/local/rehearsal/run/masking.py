"""Hiding the values of Secrets in what the pods write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from trainform.console.escaping import SEQUENCE, escaped
from trainform.errors import MASK

SHORTEST_VALUE = 4  # hiding a shorter value would hide half of every line, and such a value is no secret
SHORTEST_LINE = 9  # a line of a file, such as a key's
# A program that colours what it writes may begin a colour inside a value.
_BETWEEN = f"(?:{SEQUENCE.pattern})*"


class Masker:
    """Hides every value of the Secrets in a text: the whole value, its escaped forms, and each of its lines. A text has
    to be masked before it is escaped."""

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
