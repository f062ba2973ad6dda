"""Values of Secrets in what the pods write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from trainform.errors import MASK

SHORTEST_VALUE = 4  # a shorter one would hide half of every line, and is no secret to keep
SHORTEST_LINE = 8  # a line of a file, such as a key's


class Masker:
    """Hides every value of the Secrets, whole or as a line of it."""

    def __init__(self, secrets: Mapping[str, Mapping[str, bytes]]) -> None:
        # the longest first: one value may begin with another
        words = sorted(set(_words(secrets)), key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, words))) if words else None

    def __call__(self, text: str) -> str:
        return text if self._words is None else self._words.sub(MASK, text)


def _words(secrets: Mapping[str, Mapping[str, bytes]]) -> Iterator[str]:
    for data in secrets.values():
        for value in data.values():
            text = value.decode(errors="replace").strip()
            lines = [line.strip() for line in text.splitlines()]
            if len(lines) == 1 and len(text) >= SHORTEST_VALUE:
                yield text
            yield from (line for line in lines if len(line) > SHORTEST_LINE)
