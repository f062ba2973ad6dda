"""Masks the secrets of a preview, before anything of it is kept.

The engine masks each state alone, so the plain text of a value that only now became a secret stands in the old state. A place is therefore masked
in every state of a step if it is secret in one of them. Secrets that nobody has marked are known by their names and shapes (`secret_text`).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform.escaping import without_sequences
from trainform.review.preview import CHANGED_MASK, MASKED, UNKNOWN
from trainform.rules.limits.secrets import LONG_ENOUGH, REFERENCES, SECRET_CONTENT
from trainform.secret_text.search import gives_away, looks_secret, masked, masked_line, secret_in, secret_words

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - how the engine marks a secret
# Assets, archives, references to resources and outputs are marked in the same way. A mark that is none of these may be of another kind of secret.
OTHER_MARKS = frozenset(
    {
        "c44067f5952c0a294b673a41bacd8c17",
        "0def7320c3a5731c473e5ecbe6d01bc7",
        "5cf8f73096256a8f31e491e813e4eb8e",
        "d0e6a833031e9bbcd3f4e8bde6ca49a4",
    }
)
# What the engine writes for a value that it knows only at `up`: a truth value, a number, text, a list, an asset, an archive, a mapping.
UNKNOWNS = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

LONGEST_TEXT = (
    1 << 20
)  # characters: more than an object of Kubernetes may have; a longer text is masked without being searched
DEEPEST = (
    100  # mappings and lists in each other: more than any object has; what is deeper is masked without being searched
)
LONGEST_PATH = 4096  # characters of a path in a difference

_COLOUR = re.compile(r"<\{%[^%]{0,40}%\}>")
_KEY_FILE = re.compile("-----BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-")
_PART_OF_PATH = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')
_LIST, _MAPPING, _JSON = "list", "mapping", "json"
_INSIDE = "(JSON)"  # the part of a path between a text and what is in it

Path = tuple[str, ...]


@dataclasses.dataclass
class Places:
    """Where secrets are in a value and in what corresponds to it in the other states.

    whole: the value itself is secret. marked: the engine says so. lines: lines of a text are. inner: by key; for items of lists by their names.
    kinds: what holds `inner`; a value of another kind cannot be followed. rewrites: of a whole step alone: there is something to write in another
    way that is no secret.
    """

    whole: bool = False
    marked: bool = False
    lines: bool = False
    inner: dict[str, Places] = dataclasses.field(default_factory=dict)
    kinds: set[str] = dataclasses.field(default_factory=set)
    rewrites: bool = False

    def __bool__(self) -> bool:
        return self.whole or self.lines or bool(self.inner)

    def add(self, other: Places) -> None:
        """Add what the same place of another state has."""
        self.whole |= other.whole
        self.marked |= other.marked
        self.lines |= other.lines
        self.kinds |= other.kinds
        for key, places in other.inner.items():
            self.inner.setdefault(key, Places()).add(places)

    def put(self, kind: str, key: str, found: Places) -> None:
        """Add what is in the entry or item."""
        if found:
            self.kinds.add(kind)
            self.marked |= found.marked
            self.inner.setdefault(key, Places()).add(found)

    def of(self, key: str) -> Places:
        """The places in the entry or item. A list may have another order in another state: an item with no name can be any other of the list
        that the engine has marked."""
        found = self.inner.get(key, _NOWHERE)
        if _LIST not in self.kinds:
            return found
        both = Places()
        both.add(found)
        for other, places in self.inner.items():
            if places.marked and (_is_index(key) or _is_index(other)):
                both.add(places)
        return both


_NOWHERE = Places()


def _whole(marked: bool = False) -> Places:
    return Places(whole=True, marked=marked)


def _item_key(item: Any, index: int) -> str:
    """What an item of a list is called: its name, or else its index."""
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else f"#{index}"


def _is_index(key: str) -> bool:
    return key.startswith("#")


@dataclasses.dataclass(frozen=True)
class Sides:
    """The inputs and outputs of both states of a step. shown: the outputs that are kept; of the others only the marks count."""

    type: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    old_outputs: Mapping[str, Any]
    new_outputs: Mapping[str, Any]
    old_shown: Mapping[str, Any]
    new_shown: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Hidden:
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
        self._search = _Search()
        self._known: set[str] = set()  # texts that are secrets somewhere
        self._hidden: set[str] = set()  # texts that were masked, which messages may quote
        self._pattern: re.Pattern[str] | None = None
        self.count = 0

    def look(self, sides: Sides) -> Places:
        """Where the secrets of a step are."""
        places = Places()
        self._search.rewrites = False
        for value in (sides.old,) if same(sides.old, sides.new) else (sides.old, sides.new):
            places.add(self._search.find(value))
            places.add(_of_type(sides.type, value))
        for value in (sides.old_shown, sides.new_shown):
            places.add(self._search.find(value))
        if self._marked:
            self._look_at_marks(sides, places)
        places.rewrites = self._search.rewrites
        return places

    def _look_at_marks(self, sides: Sides, places: Places) -> None:
        for value in (sides.old_outputs, sides.new_outputs):
            places.add(_marks(value))
        for value in (sides.old, sides.new, sides.old_outputs, sides.new_outputs):
            long = (text for text in _marked_texts(value, places) if len(text) >= LONG_ENOUGH)
            self._known |= {form for text in long for form in _forms(text)}

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
        self._hidden |= {
            text
            for value in (*before.values(), *after.values())
            for text in _plain_texts(value)
            if len(text) >= LONG_ENOUGH
        }
        return Hidden(old, new, old_shown, new_shown)

    def name(self, text: str) -> str:
        """A name, a path or a reference without secrets."""
        shown = masked(self._without_known(_whole_characters(text)), MASKED)
        self.count += shown != text and MASKED in shown
        return shown

    def text(self, text: str) -> str:
        """A message without secrets, colours and control sequences. Called when every step is hidden."""
        plain = without_sequences(_COLOUR.sub("", _whole_characters(text)))
        if len(plain) > LONGEST_TEXT:
            self.count += 1
            return MASKED
        shown = self._without_known(plain)
        for quoted in sorted(self._hidden, key=len, reverse=True):
            shown = shown.replace(quoted, MASKED)
        shown = MASKED if _KEY_FILE.search(shown) else _without_secret_lines(shown)
        self.count += shown != plain
        return shown

    def _hide(
        self, value: Mapping[str, Any], places: Places, changed: frozenset[Path]
    ) -> tuple[dict[str, Any], dict[Path, Any]]:
        if not (places or places.rewrites or self._known):
            return dict(value), {}
        hiding = _Hiding(changed, self._search.keys, self._without_known)
        found = hiding.hide(value, places, ())
        return (found if isinstance(found, dict) else {}), hiding.hidden

    def _without_known(self, text: str) -> str:
        if not self._known:
            return text
        if self._pattern is None:
            self._pattern = re.compile(
                "|".join(re.escape(known) for known in sorted(self._known, key=len, reverse=True))
            )
        return self._pattern.sub(MASKED, text)


@dataclasses.dataclass
class _Hiding:
    """One state without its secrets, and in `hidden` what was masked, by path. changed: the paths of secrets that change. keys: those without secrets."""

    changed: frozenset[Path]
    keys: set[str]
    without_known: Callable[[str], str]
    hidden: dict[Path, Any] = dataclasses.field(default_factory=dict)

    def hide(self, value: Any, places: Places, path: Path) -> Any:
        if value is None or value in ({}, []):
            return value
        if places.whole or len(path) > DEEPEST:
            return self._mask(value, path)
        if isinstance(value, str):
            return self._text(value, places, path)
        kind = _MAPPING if isinstance(value, dict) else _LIST if isinstance(value, list) else ""
        if places.inner and kind not in places.kinds:
            return self._mask(value, path)
        if isinstance(value, dict):
            return {self._key(key, path): self.hide(item, places.of(key), (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            keys = [_item_key(item, index) for index, item in enumerate(value)]
            return [self.hide(item, places.of(key), (*path, key)) for key, item in zip(keys, value, strict=True)]
        return value

    def _mask(self, value: Any, path: Path) -> str:
        self.hidden[path] = value
        return CHANGED_MASK if path in self.changed else MASKED

    def _key(self, key: str, path: Path) -> str:
        if key in self.keys:
            return self.without_known(key)
        shown = _whole_characters(key)
        if not gives_away("", shown):
            return self.without_known(shown)
        self.hidden[(*path, f"key {key}")] = None
        return MASKED

    def _text(self, text: str, places: Places, path: Path) -> str:
        text = _whole_characters(text)
        if text in UNKNOWNS:
            return UNKNOWN
        if places.inner:
            inside = _inside(text) if _JSON in places.kinds else None
            if inside is None:
                return self._mask(text, path)
            shown = self.hide(inside, places.of(_INSIDE), (*path, _INSIDE))
            return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        if places.lines:
            return "\n".join(self._line(line, (*path, str(number))) for number, line in enumerate(text.split("\n")))
        return self.without_known(text)

    def _line(self, line: str, path: Path) -> str:
        shown = masked_line(line, MASKED)
        if shown != line:
            self.hidden[path] = None
        return self.without_known(shown)


@dataclasses.dataclass
class _Search:
    """Finds what is a secret in a value: what the engine has marked, and what is one by its name or shape.

    rewrites: True once something was found that is written in another way: a key that is a secret, a value that is not known yet, half a
    character. seen: what was found in each text, under the name of its field: a preview has the same texts many times. keys: those without
    secrets. broken: texts with halves of characters.
    """

    rewrites: bool = False
    seen: dict[tuple[str, str], Places] = dataclasses.field(default_factory=dict)
    keys: set[str] = dataclasses.field(default_factory=set)
    broken: set[str] = dataclasses.field(default_factory=set)

    def find(self, value: Any, name: str = "", above: str = "", depth: int = 0) -> Places:
        """Where secrets are in the value. name: of its field. above: of the field that this one is in."""
        if depth > DEEPEST:
            return _whole()
        if isinstance(value, str):
            return self._in_text(value, "" if f"{above}.{name}" in REFERENCES else name, depth)
        if isinstance(value, dict):
            return self._in_mapping(value, name, depth)
        if isinstance(value, list):
            return self._in_list(value, name, depth)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return _whole() if is_number and gives_away(name, str(value)) else _NOWHERE

    def _in_mapping(self, value: dict[str, Any], name: str, depth: int) -> Places:
        if _is_marked(value):
            return _whole(marked=True)
        places = Places()
        beside = value.get("name")
        for key, item in value.items():
            if key not in self.keys:
                self._look_at_key(key)
            named = beside if key == "value" and isinstance(beside, str) else key
            found = self.find(item, named, name, depth + 1)
            if found:
                places.put(_MAPPING, key, found)
        if value.get("kind") == "Secret":
            places.add(_content(value))
        return places

    def _look_at_key(self, key: str) -> None:
        if gives_away("", key) or _whole_characters(key) != key:
            self.rewrites = True
        else:
            self.keys.add(key)

    def _in_list(self, value: list[Any], name: str, depth: int) -> Places:
        places = Places()
        for index, item in enumerate(value):
            found = self.find(item, name, "", depth + 1)
            if found:
                places.put(_LIST, _item_key(item, index), found)
        if value and all(isinstance(item, str) for item in value):
            for index in secret_words(value):
                places.put(_LIST, f"#{index}", _whole())
        return places

    def _in_text(self, text: str, name: str, depth: int) -> Places:
        known = self.seen.get((name, text))
        if known is None:
            known = self.seen[(name, text)] = self._of_text(text, name, depth)
            if _whole_characters(text) != text:
                self.broken.add(text)
        self.rewrites |= text in UNKNOWNS or text in self.broken
        return known

    def _of_text(self, text: str, name: str, depth: int) -> Places:
        if text in (MASKED, CHANGED_MASK):
            return _whole(marked=True)
        if len(text) > LONGEST_TEXT or _KEY_FILE.search(text):
            return _whole()
        inside = _inside(text)
        if inside is not None:
            places = Places()
            places.put(_JSON, _INSIDE, self.find(inside, name, "", depth + 1))
            return places
        if name == LAST_APPLIED:
            return _whole()
        if "\n" not in text:
            return _whole() if gives_away(name, text) or secret_in(text) is not None else _NOWHERE
        if looks_secret(name, None) or (name == "kubeconfig" and ":" in text):
            return _whole()
        shown = "\n".join(masked_line(line, MASKED) for line in text.split("\n"))
        if gives_away("", shown):
            return _whole()
        return _NOWHERE if shown == text else Places(lines=True)


def _content(value: Mapping[str, Any]) -> Places:
    """What a Secret holds. The names of its entries are none."""
    places = Places()
    for field in SECRET_CONTENT:
        content = value.get(field)
        entries = Places()
        for key in content if isinstance(content, dict) and not _is_marked(content) else ():
            entries.put(_MAPPING, key, _whole())
        places.put(_MAPPING, field, entries if entries else _whole() if content else _NOWHERE)
    return places


def _of_type(type_: str, inputs: Mapping[str, Any]) -> Places:
    """What is secret by the type of the resource."""
    if type_ in ("kubernetes:core/v1:Secret", "kubernetes:core/v1:SecretPatch"):
        return _content(inputs)
    places = Places()
    if type_ == "pulumi:providers:kubernetes" and "kubeconfig" in inputs:
        places.put(_MAPPING, "kubeconfig", _whole())
    return places


def _marks(value: Any, depth: int = 0) -> Places:
    """Where the engine has marked secrets."""
    if isinstance(value, str):
        return _whole(marked=True) if value == MASKED else _NOWHERE
    places = Places()
    if depth > DEEPEST:
        return _NOWHERE
    if isinstance(value, dict):
        if _is_marked(value):
            return _whole(marked=True)
        for key, item in value.items():
            places.put(_MAPPING, key, _marks(item, depth + 1))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            places.put(_LIST, _item_key(item, index), _marks(item, depth + 1))
    return places


def _is_marked(value: dict[str, Any]) -> bool:
    """True if the engine has put a secret in the place of the mapping. A mark that is not known may be one of a newer engine."""
    if SIGNATURE not in value:
        return False
    mark = value[SIGNATURE]
    return value.get("secret") is True or not (isinstance(mark, str) and mark in OTHER_MARKS)


def _inside(text: str) -> Any:
    """The object or list that the text is in JSON; None if it is none, or one that is nested too deep."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _marked_texts(value: Any, places: Places) -> Iterator[str]:
    """The plain texts in the places that the engine has marked in one of the states."""
    if not places.marked:
        return
    if places.whole:
        yield from _plain_texts(value)
    elif isinstance(value, dict) and not _is_marked(value):
        for key, item in value.items():
            yield from _marked_texts(item, places.of(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marked_texts(item, places.of(_item_key(item, index)))


def _plain_texts(value: Any) -> Iterator[str]:
    """The text of a secret as far as it is there: in the other state, or within the engine's mark."""
    if isinstance(value, str) and value not in (MASKED, *UNKNOWNS):
        yield value
    elif isinstance(value, dict) and isinstance(value.get("plaintext"), str) and _is_marked(value):
        try:
            plain = json.loads(value["plaintext"])
        except (ValueError, RecursionError):
            plain = value["plaintext"]
        yield from (plain,) if isinstance(plain, str) else ()


def _forms(text: str) -> tuple[str, ...]:
    """The text as it may stand elsewhere: also within JSON, and as the data of a Secret."""
    return text, json.dumps(text)[1:-1], base64.b64encode(text.encode(errors="replace")).decode()


def same(one: Any, other: Any) -> bool:
    """True if both are equal. What is nested deeper than Python compares is not."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _is_opaque(value: Any, depth: int = 0) -> bool:
    """True if the value, or a part of it, is not told: two that look alike may differ."""
    if isinstance(value, str):
        return value == MASKED
    if isinstance(value, dict):
        told = "plaintext" in value if _is_marked(value) else True
        return not told or depth > DEEPEST or any(_is_opaque(item, depth + 1) for item in value.values())
    return isinstance(value, list) and (depth > DEEPEST or any(_is_opaque(item, depth + 1) for item in value))


def _changed(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> set[Path]:
    """The secrets that both states tell, and that differ."""
    told = (
        path for path in before.keys() & after.keys() if not _is_opaque(before[path]) and not _is_opaque(after[path])
    )
    return {path for path in told if not same(before[path], after[path])}


def _named(
    before: Mapping[Path, Any],
    after: Mapping[Path, Any],
    states: tuple[Any, Any],
    shown: tuple[Any, Any],
    diffs: Iterable[str],
) -> set[Path]:
    """The secrets that the states do not tell, and that a difference names which nothing else explains. states: before and after."""
    both = [path for path in before.keys() & after.keys() if _is_opaque(before[path]) or _is_opaque(after[path])]
    found: set[Path] = set()
    for parts in [_parts(diff) for diff in diffs] if both else ():
        named = {_path(parts, state) for state in states}
        if _at(parts, shown[0]) == _at(parts, shown[1]):
            found |= {path for path in both for one in named if path[: len(one)] == one or one[: len(path)] == path}
    return found


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
        path.append(_item_key(inner, part) if isinstance(part, int) else part)
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


def _whole_characters(text: str) -> str:
    """The text without halves of characters, which JSON can write and nobody can print."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
