"""Where the secrets of a state are: what the engine has marked, and what is one by its name or shape (`secret_text`)."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.rules.limits.secrets import REFERENCES, SECRET_CONTENT
from trainform.secret_text.search import gives_away, looks_secret, masked_line, secret_in, secret_words

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key in a mapping by which the engine marks what is no plain mapping: a secret, or one of these."""
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

# More than any object of Kubernetes has; what is longer or deeper is masked without being searched.
LONGEST_TEXT = 1 << 20  # characters
DEEPEST = 100  # mappings and lists in each other
MOST_OTHERS = 50  # fields that one item of a list may have because others have them; with more it is masked whole
# Files of keys, of which every line is a secret.
_OF_SECRETS = re.compile("Secret(Patch)?$")  # types, whoever makes them
# A manifest in a text: nobody can tell its lines apart without reading YAML.
_SECRET_MANIFEST = re.compile(r"""\bkind["']?[ \t]*:[ \t]*["']?Secret(?![\w-])""")
KEY_FILE = re.compile("-----BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-")
LIST, MAPPING, JSON = "list", "mapping", "json"
INSIDE = "(JSON)"  # the part of a path between a text and what is in it


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
    _any: dict[bool, Places] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.whole or self.lines or bool(self.inner)

    def add(self, other: Places) -> None:
        """Add what the same place of another state has."""
        self._any.clear()
        self.whole |= other.whole
        self.marked |= other.marked
        self.lines |= other.lines
        self.kinds |= other.kinds
        for key, places in other.inner.items():
            self.inner.setdefault(key, Places()).add(places)

    def put(self, kind: str, key: str, found: Places) -> None:
        """Add what is in the entry or item."""
        if found:
            self._any.clear()
            self.kinds.add(kind)
            self.marked |= found.marked
            self.inner.setdefault(key, Places()).add(found)

    def of(self, key: str) -> Places:
        """The places in the entry or item. A list may have another order in another state: an item with no name can be any other of the list
        that the engine has marked."""
        found = self.inner.get(key, _NOWHERE)
        if LIST not in self.kinds:
            return found
        others = self._others(_is_index(key))
        if not found or (found.marked and _is_index(key)):
            return others
        both = Places()
        both.add(found)
        both.add(others)
        return both

    def _others(self, whole: bool) -> Places:
        """What any other item of a list can be. whole: the items with names too. Made once for all items."""
        if whole not in self._any:
            together = self._any[whole] = Places()
            for key, places in self.inner.items():
                if places.marked and (whole or _is_index(key)):
                    together.add(places)
            if len(together.inner) > MOST_OTHERS:  # they would be looked up for each item
                together.whole = True
                together.inner.clear()
        return self._any[whole]


_NOWHERE = Places()


def _whole(marked: bool = False) -> Places:
    return Places(whole=True, marked=marked)


def item_key(item: Any, index: int) -> str:
    """What an item of a list is called: its name, or else its index."""
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else f"#{index}"


def _is_index(key: str) -> bool:
    return key.startswith("#")


class Search(Struct):
    """Finds what is a secret in a value: what the engine has marked, and what is one by its name or shape.

    rewrites: True once something was found that is written in another way: a key that is a secret, a value that is not known yet, half a
    character. seen: what was found in each text, under the name of its field: a preview has the same texts many times. keys: those without
    secrets. broken: texts with halves of characters.
    """

    rewrites: bool = False
    seen: dict[tuple[str, str], Places] = {}
    keys: set[str] = set()
    broken: set[str] = set()

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
                places.put(MAPPING, key, found)
        if value.get("kind") == "Secret":
            places.add(_content(value))
        return places

    def _look_at_key(self, key: str) -> None:
        if gives_away("", key) or whole_characters(key) != key:
            self.rewrites = True
        else:
            self.keys.add(key)

    def _in_list(self, value: list[Any], name: str, depth: int) -> Places:
        places = Places()
        for index, item in enumerate(value):
            found = self.find(item, name, "", depth + 1)
            if found:
                places.put(LIST, item_key(item, index), found)
        if value and all(isinstance(item, str) for item in value):
            for index in secret_words(value):
                places.put(LIST, f"#{index}", _whole())
        return places

    def _in_text(self, text: str, name: str, depth: int) -> Places:
        known = self.seen.get((name, text))
        if known is None:
            known = self.seen[(name, text)] = self._of_text(text, name, depth)
            if whole_characters(text) != text:
                self.broken.add(text)
        self.rewrites |= text in UNKNOWNS or text in self.broken
        return known

    def _of_text(self, text: str, name: str, depth: int) -> Places:
        if text in (MASKED, CHANGED_MASK):
            return _whole(marked=True)
        if len(text) > LONGEST_TEXT or KEY_FILE.search(text):
            return _whole()
        inside = inside_text(text)
        if inside is not None:
            places = Places()
            places.put(JSON, INSIDE, self.find(inside, name, "", depth + 1))
            return places
        if name == LAST_APPLIED:
            return _whole()
        if _SECRET_MANIFEST.search(text):
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
            entries.put(MAPPING, key, _whole())
        places.put(MAPPING, field, entries if entries else _whole() if content else _NOWHERE)
    return places


def content_of_type(type_: str, inputs: Mapping[str, Any]) -> Places:
    """What is secret by the type of the resource."""
    if _OF_SECRETS.search(type_) is not None:
        return _content(inputs)
    places = Places()
    items = inputs.get("items")
    if type_.endswith(("SecretList", "SecretListPatch")) and isinstance(items, list):  # of which none says its kind
        found = Places()
        for index, item in enumerate(items):
            found.put(LIST, item_key(item, index), _content(item) if isinstance(item, dict) else _NOWHERE)
        places.put(MAPPING, "items", found)
    if type_ == "pulumi:providers:kubernetes" and "kubeconfig" in inputs:
        places.put(MAPPING, "kubeconfig", _whole())
    return places


def marks(value: Any, depth: int = 0) -> Places:
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
            places.put(MAPPING, key, marks(item, depth + 1))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            places.put(LIST, item_key(item, index), marks(item, depth + 1))
    return places


def _is_marked(value: dict[str, Any]) -> bool:
    """True if the engine has put a secret in the place of the mapping. A mark that is not known may be one of a newer engine."""
    if SIGNATURE not in value:
        return False
    mark = value[SIGNATURE]
    return value.get("secret") is True or not (isinstance(mark, str) and mark in OTHER_MARKS)


def inside_text(text: str) -> Any:
    """The object or list that the text is in JSON; None if it is none, or one that is nested too deep."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def secret_texts(value: Any, places: Places, depth: int = 0) -> Iterator[str]:
    """The plain texts in the places that are secret in one of the states."""
    if not places or depth > DEEPEST:
        return
    kind = MAPPING if isinstance(value, dict) else LIST if isinstance(value, list) else JSON
    inside = inside_text(value) if isinstance(value, str) and JSON in places.kinds else None
    if places.whole or (places.inner and (kind not in places.kinds or (kind == JSON and inside is None))):
        yield from plain_texts(value, depth)
    elif inside is not None:
        yield from secret_texts(inside, places.of(INSIDE), depth + 1)
    elif isinstance(value, dict) and not _is_marked(value):
        for key, item in value.items():
            yield from secret_texts(item, places.of(key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secret_texts(item, places.of(item_key(item, index)), depth + 1)


def plain_texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and numbers of a secret as far as they are there: in the other state, or within the engine's mark."""
    if depth > DEEPEST:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, dict) and _is_marked(value):
        yield from _told_texts(value.get("plaintext"), depth)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from plain_texts(item, depth + 1)


def _told_texts(told: Any, depth: int) -> Iterator[str]:
    """The texts in what the engine tells of a secret, which is JSON."""
    if isinstance(told, str):
        try:
            plain = json.loads(told)
        except (ValueError, RecursionError):
            plain = told
        yield from plain_texts(plain, depth + 1)


def same(one: Any, other: Any) -> bool:
    """True if both are equal. What is nested deeper than Python compares is not."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def is_opaque(value: Any, depth: int = 0) -> bool:
    """True if the value, or a part of it, is not told: two that look alike may differ."""
    if isinstance(value, str):
        return value == MASKED
    if isinstance(value, dict):
        told = "plaintext" in value if _is_marked(value) else True
        return not told or depth > DEEPEST or any(is_opaque(item, depth + 1) for item in value.values())
    return isinstance(value, list) and (depth > DEEPEST or any(is_opaque(item, depth + 1) for item in value))


def whole_characters(text: str) -> str:
    """The text without halves of characters, which JSON can write and nobody can print."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
