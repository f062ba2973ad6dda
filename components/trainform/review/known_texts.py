"""Texts that are secrets somewhere in a preview, and their places in any other text."""

from __future__ import annotations

import base64
import binascii
import bisect
import html
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator

from msgspec import Struct

from trainform.review.secret_places import LONGEST_TEXT, UNKNOWNS, inside_text, plain_texts
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.rules.limits.secrets import LONG_ENOUGH

SHORTEST = 4  # characters of a secret that is masked elsewhere where it stands alone
LONG_LINE = 16  # characters of a line of a secret that no other text has by chance
MOST_COMPARED = 1 << 28
"""Characters of texts that are compared with secrets. More are needed only where both repeat themselves; what is left is not shown then."""

_AS_IN_GO = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&"})
_FOR_ADDRESSES = str.maketrans("+/", "-_")  # the other alphabet of base64
_ESCAPE = re.compile("%[0-9A-F]{2}")
_PASSWORD = re.compile(r"://[^/?#\s:@]*:([^/?#\s@]+)@")  # in an address
_ASSIGNMENT = re.compile(r"[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*=(.+)")  # a line of a file of variables
# Of a word: a part of a name, of a path or of a number with a point is none.
_BEGINNING = re.compile(r"(?<![\w-])(?<!\w[./])(?=\S)")
_END = re.compile(r"(?![\w-]|[./]\w)")
DEEPEST_TEXT = 3  # an address in a line of variables in JSON

_STAND_INS = frozenset({MASKED, CHANGED_MASK, *UNKNOWNS})


class KnownTexts:
    """Known secrets by their beginnings, so that the work of a search does not grow with their number."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._short: set[str] = set()
        self._alone: set[str] = set()  # the short ones without names, as `_alike` are the others
        self._names: set[str] = set()
        self._secret_names: set[str] = set()
        self._alike: dict[str, _Alike] | None = None
        self._seen: dict[str, str] = {}
        self._compared = 0

    def __bool__(self) -> bool:
        return bool(self._texts or self._short)

    def add(self, texts: Iterable[str]) -> None:
        """Add secrets. A short one would be found in other texts by chance, so it counts as a whole word alone, and a plain word does not; a text in
        which one of more characters could stand is not shown at all."""
        texts = [*texts]
        short = {part for text in texts if len(text) <= LONGEST_TEXT for part in _parts(text) if _is_short(part)}
        if short - self._short:
            self._short |= short
            self._alike = None
            self._seen.clear()
        for text in (each for given in texts for each in (given, *_inner(given, DEEPEST_TEXT))):
            if text not in self._texts and text not in _STAND_INS and LONG_ENOUGH <= len(text) <= LONGEST_TEXT:
                self._texts.update(form for form in _forms(text) if len(form) >= LONG_ENOUGH)
                self._alike = None
                self._seen.clear()

    def spare(self, names: Iterable[str]) -> None:
        """Names that everybody sees: a secret that is equal to one is masked in its own place alone, unless it is one of `never_spare`."""
        self._names.update(names)
        self._alike = None
        self._seen.clear()

    def never_spare(self, names: Iterable[str]) -> None:
        """Names that are secret themselves in some place."""
        self._secret_names.update(names)
        self._alike = None
        self._seen.clear()

    def without(self, text: str) -> str:
        """The text with the mask in the place of each secret."""
        if not self or len(text) < SHORTEST:
            return text
        if text not in self._seen:
            self._seen[text] = self._without_short(self._masked(text))
        return self._seen[text]

    def _without_short(self, text: str) -> str:
        short = self._alone
        if text in short:
            return MASKED
        parts, end = [], 0
        for match in _BEGINNING.finditer(text) if short else ():
            start = match.start()
            ends = range(start + LONG_ENOUGH - 1, start + SHORTEST - 1, -1)
            found = next((at for at in ends if text[start:at] in short and _END.match(text, at)), None)
            if found is not None and start >= end:
                parts += [text[end:start], MASKED]
                end = found
        return "".join((*parts, text[end:]))

    def _masked(self, text: str) -> str:
        if self._alike is None:
            spared = self._names - self._secret_names
            self._alike, self._alone = _by_beginning(self._texts - spared), self._short - spared
        alike, parts, end = self._alike, [], 0
        for start in [at for at in range(len(text) - LONG_ENOUGH + 1) if text[at : at + LONG_ENOUGH] in alike]:
            if start < end:
                continue
            found = alike[text[start : start + LONG_ENOUGH]]
            self._compared += min(found.longest, len(text) - start)
            if self._compared > MOST_COMPARED:
                return MASKED
            length = found.length_at(text, start)
            if length:
                parts += [text[end:start], MASKED]
                end = start + length
        return "".join((*parts, text[end:]))


class _Alike(Struct, frozen=True):
    """Known texts with the same beginning, in order. shorter: of each, the index of the longest other one that it begins with, -1 if there is none."""

    texts: list[str]
    shorter: list[int]
    longest: int

    def length_at(self, text: str, start: int) -> int:
        """The characters of the longest one that stands there; 0 if none does. The last one in order that is not behind it begins with it."""
        index = bisect.bisect_right(self.texts, text[start : start + self.longest]) - 1
        while index >= 0 and not text.startswith(self.texts[index], start):
            index = self.shorter[index]
        return len(self.texts[index]) if index >= 0 else 0


def _by_beginning(texts: Iterable[str]) -> dict[str, _Alike]:
    found: dict[str, list[str]] = {}
    for text in sorted(texts):
        found.setdefault(text[:LONG_ENOUGH], []).append(text)
    return {beginning: _Alike(alike, _shorter(alike), max(map(len, alike))) for beginning, alike in found.items()}


def _shorter(texts: list[str]) -> list[int]:
    shorter: list[int] = []
    above: list[int] = []
    for index, text in enumerate(texts):
        while above and not text.startswith(texts[above[-1]]):
            above.pop()
        shorter.append(above[-1] if above else -1)
        above.append(index)
    return shorter


def _parts(text: str) -> Iterator[str]:
    """The text and what it is out of base64, without what is around it."""
    yield from (text.strip(), _decoded(text).strip())


def _is_short(text: str) -> bool:
    """True for a short secret that is no plain word, which other texts have by chance."""
    is_word = all(character.isalpha() or character.isspace() for character in text)
    return SHORTEST <= len(text) < LONG_ENOUGH and not is_word


def _inner(text: str, depth: int) -> Iterator[str]:
    """The values in a secret that is JSON, an address with a password, or lines of variables."""
    if depth == 0 or not LONG_ENOUGH < len(text) <= LONGEST_TEXT:
        return
    plain = _decoded(text)
    for value in (*plain_texts(inside_text(plain)), *_passwords(plain), *_assigned(plain)):
        yield value
        yield from _inner(value, depth - 1)


def _passwords(text: str) -> Iterator[str]:
    for written in _PASSWORD.findall(text):
        yield from (written, urllib.parse.unquote(written))


def _assigned(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        match = _ASSIGNMENT.fullmatch(line.strip())
        if match is not None:
            yield from (match[1], match[1].strip("'\" "))


def _forms(text: str) -> Iterator[str]:
    """The text as it may stand elsewhere: also within JSON or an address, in base64 and out of it, without the spaces and the newline around it, and
    each of its lines."""
    for plain in (text, _decoded(text)):
        lines = plain.split("\n")
        long = (line.strip() for line in lines if len(line.strip()) >= LONG_LINE) if len(lines) > 1 else ()
        for part in dict.fromkeys((plain, plain.strip(), *long)):
            written = part.encode(errors="replace")
            yield part
            for quoted in (json.dumps(part, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)):
                yield from (quoted, quoted.translate(_AS_IN_GO))
            for escaped in (urllib.parse.quote(written, safe) for safe in ("", "/")):
                yield from (escaped, _ESCAPE.sub(lambda match: match[0].lower(), escaped))
            yield html.escape(part)
            yield from _in_base64(written)


def _in_base64(written: bytes) -> Iterator[str]:
    """The bytes in base64 in both alphabets: alone, and as far as they are the same whatever stands before and after them."""
    yield base64.b64encode(written).decode()
    for before, unsure in enumerate((0, 2, 3)):  # bytes, and the characters that they have a part in
        whole = (before + len(written)) * 8 // 6
        encoded = base64.b64encode(bytes(before) + written).decode()[unsure:whole]
        yield from (encoded, encoded.translate(_FOR_ADDRESSES))


def _decoded(text: str) -> str:
    """The text out of base64, as a Secret has it; as it is if it is none."""
    try:
        found = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return text
    return found if found.replace("\n", "").replace("\t", "").isprintable() else text
