"""Masks the secrets of a preview, before anything of it is kept.

The engine masks each state alone, so the plain text of a value that only now became a secret stands in the old state. A place is therefore masked
in every state of a step if it is secret in one of them. Secrets that nobody has marked are known by their names and shapes (`secret_text`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from trainform.escaping import without_invisible, without_sequences
from trainform.review.known_texts import KnownTexts
from trainform.review.secret_places import (
    DEEPEST,
    INSIDE,
    JSON,
    KEY_FILE,
    LIST,
    LONGEST_TEXT,
    MAPPING,
    UNKNOWNS,
    Places,
    Search,
    content_of_type,
    inside_text,
    is_opaque,
    item_key,
    marks,
    plain_texts,
    same,
    secret_texts,
    whole_characters,
)
from trainform.review.stand_ins import CHANGED_MASK, MASKED, UNKNOWN
from trainform.secret_text.search import gives_away, masked, masked_line

LONGEST_PATH = 4096  # characters of a path in a difference

NAMES = ("name", "namespace")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # of an object of Kubernetes

_COLOUR = re.compile(r"<\{%[^%]{0,40}%\}>")
_BETWEEN = re.compile(r"[^\n\t]+")  # what stands between line ends and tabs
_PART_OF_PATH = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')

Path = tuple[str, ...]


class Sides(Struct, frozen=True):
    """The inputs and outputs of both states of a step. shown: the outputs that are kept; of the others only the marks count."""

    type: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    old_outputs: Mapping[str, Any]
    new_outputs: Mapping[str, Any]
    old_shown: Mapping[str, Any]
    new_shown: Mapping[str, Any]


class Hidden(Struct, frozen=True):
    """The same without secrets."""

    old: dict[str, Any]
    new: dict[str, Any]
    old_shown: dict[str, Any]
    new_shown: dict[str, Any]


class Masks:
    """The masks of one preview. First every step is looked at, then every step is hidden: a secret that one step shows may stand in another."""

    def __init__(self, marked: bool = True) -> None:
        """marked: False if the engine has marked nothing in the preview."""
        self._marked = marked
        self._search = Search()
        self._known = KnownTexts()
        self.count = 0

    def look(self, sides: Sides, urn: str) -> Places:
        """Where the secrets of a step are."""
        places = Places()
        self._search.rewrites = False
        for value in (sides.old,) if same(sides.old, sides.new) else (sides.old, sides.new):
            places.add(self._search.find(value))
            places.add(content_of_type(sides.type, value))
        for value in (sides.old_shown, sides.new_shown):
            places.add(self._search.find(value))
        if self._marked:
            for outputs in (sides.old_outputs, sides.new_outputs):
                places.add(marks(outputs))
        places.rewrites = self._search.rewrites
        for value in (sides.old, sides.new, sides.old_outputs, sides.new_outputs) if places else ():
            self._known.add(secret_texts(value, places))
        names, secret_names = _names(sides, urn, places)
        self._known.spare(names)
        self._known.never_spare(secret_names)
        return places

    def hide(self, sides: Sides, places: Places, diffs: Iterable[str], detail: Iterable[str] | None) -> Hidden:
        """The states of a step without its secrets. A secret of which the step shows that it changes is called so in the new state."""
        old, before = self._hide(sides.old, places, frozenset())
        new, after = self._hide(sides.new, places, frozenset())
        changed = _changed(before, after)
        changed |= _named(before, after, (sides.old, sides.new), (old, new), diffs if detail is None else detail)
        if changed:
            new, after = self._hide(sides.new, places, frozenset(changed))
        old_shown, of_old = self._hide(sides.old_shown, places, frozenset())
        new_shown, of_new = self._hide(sides.new_shown, places, frozenset())
        self.count += len(before.keys() | after.keys() | of_old.keys() | of_new.keys())
        return Hidden(old, new, old_shown, new_shown)

    def name(self, text: str) -> str:
        """A name, a path or a reference without secrets."""
        shown = masked(self._known.without(whole_characters(text)), MASKED)
        self.count += shown != text and MASKED in shown
        return shown

    def text(self, text: str) -> str:
        """A message without secrets, colours and control sequences. Called when every step is hidden."""
        plain = without_sequences(_COLOUR.sub("", whole_characters(text)))
        if len(plain) > LONGEST_TEXT:
            self.count += 1
            return MASKED
        shown = self._without_secrets(plain)
        visible = _BETWEEN.sub(lambda match: without_invisible(match[0]), shown)
        read = self._without_secrets(visible)
        if read != visible:  # a character that nobody sees stood in a secret
            shown = read
        self.count += shown != plain
        return shown

    def _without_secrets(self, text: str) -> str:
        shown = self._known.without(text)
        return MASKED if KEY_FILE.search(shown) else _without_secret_lines(shown)

    def _hide(
        self, value: Mapping[str, Any], places: Places, changed: frozenset[Path]
    ) -> tuple[dict[str, Any], dict[Path, Any]]:
        if not (places or places.rewrites or self._known):
            return dict(value), {}
        hiding = _Hiding(changed, self._search.keys, self._known.without)
        found = hiding.hide(value, places, ())
        return (found if isinstance(found, dict) else {}), hiding.hidden


def _names(sides: Sides, urn: str, places: Places) -> tuple[set[str], set[str]]:
    """What a preview cannot be read without: stack, project and kind, and the names of objects and namespaces; and those of which a side says that they are
    secret. The engine marks what is made of a secret, so that a name without a mark is made of none, whatever else has the same text."""
    names, secret_names = {*urn.removeprefix("urn:pulumi:").split("::")[:2], sides.type.rpartition(":")[2]}, set[str]()
    of_metadata = places.of("metadata")
    for inputs in (sides.old, sides.new) if sides.type.startswith("kubernetes:") else ():
        metadata = inputs.get("metadata")
        for key in NAMES:
            value = metadata.get(key) if isinstance(metadata, dict) else metadata
            if places.whole or of_metadata.whole or of_metadata.of(key):
                secret_names.update(plain_texts(value))
            elif isinstance(value, str) and _NAME.fullmatch(value) is not None:
                names.add(value)
    return names, secret_names


class _Hiding(Struct):
    """One state without its secrets, and in `hidden` what was masked, by path. changed: the paths of secrets that change. keys: those without secrets."""

    changed: frozenset[Path]
    keys: set[str]
    without_known: Callable[[str], str]
    hidden: dict[Path, Any] = {}

    def hide(self, value: Any, places: Places, path: Path) -> Any:
        if value is None or value in ({}, []):
            return value
        if places.whole or len(path) > DEEPEST:
            return self._mask(value, path)
        if isinstance(value, str):
            return self._text(value, places, path)
        kind = MAPPING if isinstance(value, dict) else LIST if isinstance(value, list) else ""
        if places.inner and kind not in places.kinds:
            return self._mask(value, path)
        if isinstance(value, dict):
            return {self._key(key, path): self.hide(item, places.of(key), (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            keys = [item_key(item, index) for index, item in enumerate(value)]
            return [self.hide(item, places.of(key), (*path, key)) for key, item in zip(keys, value, strict=True)]
        return value

    def _mask(self, value: Any, path: Path) -> str:
        self.hidden[path] = value
        return CHANGED_MASK if path in self.changed else MASKED

    def _key(self, key: str, path: Path) -> str:
        if key in self.keys:
            return self.without_known(key)
        shown = whole_characters(key)
        if not gives_away("", shown):
            return self.without_known(shown)
        self.hidden[(*path, f"key {key}")] = None
        return MASKED

    def _text(self, text: str, places: Places, path: Path) -> str:
        text = whole_characters(text)
        if text in UNKNOWNS:
            return UNKNOWN
        if places.inner:
            inside = inside_text(text) if JSON in places.kinds else None
            if inside is None:
                return self._mask(text, path)
            shown = self.hide(inside, places.of(INSIDE), (*path, INSIDE))
            return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        if places.lines:
            return "\n".join(self._line(line, (*path, str(number))) for number, line in enumerate(text.split("\n")))
        return self.without_known(text)

    def _line(self, line: str, path: Path) -> str:
        shown = masked_line(line, MASKED)
        if shown != line:
            self.hidden[path] = None
        return self.without_known(shown)


def _changed(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> set[Path]:
    """The secrets that both states tell, and that differ."""
    told = (path for path in before.keys() & after.keys() if not is_opaque(before[path]) and not is_opaque(after[path]))
    return {path for path in told if not same(before[path], after[path])}


def _named(
    before: Mapping[Path, Any],
    after: Mapping[Path, Any],
    states: tuple[Any, Any],
    shown: tuple[Any, Any],
    diffs: Iterable[str],
) -> set[Path]:
    """The secrets that the states do not tell, and that a difference names which nothing else explains. states: before and after."""
    both = {path for path in before.keys() & after.keys() if is_opaque(before[path]) or is_opaque(after[path])}
    named = {
        path
        for parts in (map(_parts, diffs) if both else ())
        if _at(parts, shown[0]) == _at(parts, shown[1])
        for path in {_path(parts, state) for state in states}
    }
    above = {path[:length] for path in named for length in range(len(path))}
    return {path for path in both if path in above or any(path[:length] in named for length in range(len(path) + 1))}


def _parts(text: str) -> list[str | int]:
    """A path of the engine's in its parts: `spec.containers[0]`, `data["tls.crt"]`."""
    return [
        int(match[2]) if match[2] else match[3] if match[3] else match[1].replace('\\"', '"')
        for match in _PART_OF_PATH.finditer(text[:LONGEST_PATH])
    ]


def _path(parts: list[str | int], value: Any) -> Path:
    """The path by the names of items."""
    path: list[str] = []
    for part in parts:
        inner = _at([part], value)
        path.append(item_key(inner, part) if isinstance(part, int) else part)
        value = inner
    return tuple(path)


def _at(parts: list[str | int], value: Any) -> Any:
    """The value at the path, or what stands in its way: a mask."""
    for part in parts:
        if isinstance(value, str):
            return value
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _without_secret_lines(text: str) -> str:
    shown = "\n".join(masked_line(line, MASKED) for line in text.split("\n"))
    return MASKED if gives_away("", shown) else shown
