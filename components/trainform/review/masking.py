"""Masks the secrets of a preview, before anything of it is kept.

The engine masks each state alone, so the plain text of a value that only now became a secret stands in the old state. A
value is therefore masked in every state of a step if it is secret in one of them. Secrets that the engine has not
marked are known by their names and shapes (`trainform.console.secrets`). A text that is a secret in one place of a
preview is masked in every other, as a whole.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainform.console.lines import CHANGED_MASK, MASK, UNKNOWN, strip_invisible, strip_sequences
from trainform.console.secrets import DEEPEST, PRIVATE_KEY, has_shape, is_secret, name_of, secret_in, secret_words
from trainform.manifests.differences import is_reference
from trainform.manifests.manifest import mapping
from trainform.review.engine_events import same
from trainform.review.marks import (
    LONG_ENOUGH,
    LONGEST_TEXT,
    UNKNOWNS,
    dumped,
    forms_of,
    has_mark,
    inside_text,
    is_mark,
    is_opaque,
    plain_texts,
    unwrapped,
    whole_characters,
)
from trainform.rules.limits.secrets import SECRET_CONTENT

ITEMS = ("SecretList", "items")  # kind and field of a list of Secrets, which do not say their kind
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_SECRET_MANIFEST = re.compile(r"""\bkind["']?[ \t]*:[ \t]*["']?Secret(?![\w-])""")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # of an object of Kubernetes
_COLOUR = re.compile(r"<\{%[^%]{0,40}%\}>")
_EMPTY: tuple[Any, ...] = (None, {}, [])

Path = tuple[Any, ...]
"""The keys that lead to a value. That of an item of a list is its index, or a pair: `("name", NAME)`, and `("word",
TEXT)` in a list of texts."""
States = Sequence[Any]


class Masks:
    """The masks of one preview. Every step is looked at before any is hidden: it may have secrets of another."""

    def __init__(self, marked: bool = True) -> None:
        """marked: False if the engine has marked nothing in the preview."""
        self._marked = marked
        self._known: set[str] = set()
        self._by_beginning: dict[str, list[str]] = {}
        self._names: set[str] = set()
        self._secret_names: set[str] = set()
        self._seen: dict[str, bool] = {}
        self.count = 0

    def look(self, type_: str, urn: str, states: States, outputs: States) -> tuple[States, tuple[str, ...]]:
        """Return both states of a step without the secrets that it shows itself, and the paths of secrets that stand as
        plain text in the new state and did not in the old one.

        states: the inputs before and after. outputs: of which only the secrets count.
        """
        kind = type_.rpartition(":")[2].removesuffix("Patch")
        every = (*states, *outputs) if self._marked else states
        index = _Index()
        of_states = [_secrets(state, kind=kind) for state in every]
        paths, keys = _secret_paths(every, {path for found in of_states for path, _ in found}, index)
        found = {path: [index.at(path, state) for state in every] for path in paths}
        changed = {path for path, (before, after, *_) in found.items() if _differ(before, after)}
        old, new = _masked(states[0], paths), _masked(states[1], paths, changed)
        self.count += keys
        for path, values in found.items():
            self.count += any(value not in _EMPTY for value in values[:2])
            texts = [text for value in values for text in plain_texts(value)]
            self._known.update(form for text in texts for form in forms_of(text))
            self._secret_names.update(texts if path[:1] == ("metadata",) else ())
        self._names.update(_names(urn, type_, (old, new)))
        was, will = ({_text(path) for path, is_plain in found if is_plain} for found in of_states[:2])
        return (old, new), tuple(sorted(will - was))

    def end_looks(self) -> None:
        """Note that every step was looked at. The names of objects stay visible, whatever else has the same text."""
        self._known -= self._names - self._secret_names
        for known in self._known:
            if len(known) >= LONG_ENOUGH:
                self._by_beginning.setdefault(known[:LONG_ENOUGH], []).append(known)
        self._seen.clear()

    def hide(self, value: Any) -> Any:
        """Return the value without the secrets that any step shows."""
        if not self._known:
            return value
        if isinstance(value, dict):
            return {self.hide(key): self.hide(item) for key, item in value.items()}
        if isinstance(value, list):
            return [*map(self.hide, value)]
        if not isinstance(value, str) or not self._is_known(value):
            return value
        inside = inside_text(value)
        return MASK if inside is None else dumped(self.hide(inside))

    def name(self, text: str) -> str:
        """Return a name, a path or a reference; in place of each part of a URN with a secret the mask."""
        parts = whole_characters(text).split("::")
        shown = "::".join(MASK if self._is_known(part) or has_shape(part) else part for part in parts)
        self.count += MASK in shown and shown != text
        return shown

    def text(self, text: str) -> str:
        """Return a message without colours and control sequences, and with each line masked that holds a secret."""
        plain = strip_sequences(_COLOUR.sub("", whole_characters(text)))
        if len(plain) > LONGEST_TEXT or PRIVATE_KEY.search(plain) is not None:
            shown = MASK
        else:
            shown = "\n".join(MASK if self._is_secret_line(line) else line for line in plain.split("\n"))
        self.count += shown != plain
        return shown

    def _is_secret_line(self, line: str) -> bool:
        """Return whether a secret is in the line, or in what a person reads of it."""
        return any(self._is_known(each) or secret_in(each) is not None for each in {line, strip_invisible(line)})

    def _is_known(self, text: str) -> bool:
        """Return whether the text is a secret elsewhere in the preview, or contains one."""
        if text not in self._seen:
            starts = range(len(text) - LONG_ENOUGH + 1) if self._by_beginning else ()
            pieces = {text[at : at + LONG_ENOUGH] for at in starts} & self._by_beginning.keys()
            alike = (known for piece in pieces for known in self._by_beginning[piece])
            self._seen[text] = text in self._known or any(known in text for known in alike)
        return self._seen[text]


# --- where secrets are


def _secret_paths(states: States, found: set[Path], index: _Index) -> tuple[set[Path], int]:
    """Return the paths of what is secret in any state, none within another, and the number of keys that are secrets."""
    keys = {path for path in found if path and path[-1] is None}
    found -= keys
    while more := {index.fitting(path, state) for path in found for state in states} - found:
        found |= more  # a state has another type on the way: all of it is masked
    return {path for path in found if not any(path[:length] in found for length in range(len(path)))}, len(keys)


def _secrets(value: Any, name: str = "", path: Path = (), kind: str = "") -> list[tuple[Path, bool]]:
    """Return the path of each secret in a state, and whether it is plain text that the engine has not marked. The path
    of a key which is a secret ends with None. name: of the field. kind: of the object."""
    if len(path) > DEEPEST:
        return [(path, False)]
    if isinstance(value, str):
        inside = inside_text(value)
        if inside is None:
            return [(path, is_secret(name, value))] if _is_secret(name, value) else []
        value, kind = inside, ""
    if is_mark(value):
        return [(path, False)]
    if isinstance(value, dict):
        return [*_in_mapping(value, name, path, kind)]
    if isinstance(value, list):
        return [*_in_list(value, name, path, kind)]
    return [(path, True)] if is_secret(name, value) else []


def _in_list(value: list[Any], name: str, path: Path, kind: str) -> Iterator[tuple[Path, bool]]:
    pairs = _pairs(value)
    if pairs and _type(pairs[0][0]) != "name" and has_mark(value):
        yield path, False  # any item may be the secret one in another state
        return
    given = secret_words(value) if pairs and _type(pairs[0][0]) == "word" else {}
    for at, (part, item) in enumerate(pairs):
        yield from [((*path, part), True)] if at in given else _secrets(item, name, (*path, part), kind)


def _in_mapping(value: dict[str, Any], name: str, path: Path, kind: str) -> Iterator[tuple[Path, bool]]:
    if is_reference(value.get("valueFrom")):  # the variable's text in another state is a secret, as in its Secret
        yield (*path, "value"), False
    of_secret = kind.endswith("Secret") or str(value.get("kind")).endswith("Secret")
    for key, item in value.items():
        if secret_in(key) is not None:
            yield (*path, key, None), True
        if of_secret and key in SECRET_CONTENT:
            each_entry = isinstance(item, dict) and not is_mark(item)
            yield from (((*path, key, *entry), False) for entry in (zip(item) if each_entry else [()]))
        elif kind == "kubernetes" and key == "kubeconfig":  # the configuration of the provider
            yield (*path, key), False
        else:
            of_key = name_of(key, value, name) if key == "value" else key
            yield from _secrets(item, of_key, (*path, key), "Secret" if (kind, key) == ITEMS else "")


def _text(path: Path) -> str:
    """Return the path as findings show it: items by their names, a list of texts as a whole."""
    shown = ""
    for part in path:
        word = part[1] if isinstance(part, tuple) and part[0] == "name" else part
        if isinstance(word, int):
            shown += f"[{word}]"
        elif isinstance(word, str):
            shown += f"{'.' if shown else ''}{word if secret_in(word) is None else MASK}"
    return shown


class _Index:
    """The values in the states of a step by their paths. Every list and mapping is read once."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Any, dict[Any, Any]]] = {}

    def entries(self, value: Any) -> dict[Any, Any]:
        """Return the values by their parts of paths."""
        if id(value) not in self._read:
            self._read[id(value)] = value, dict(_pairs(value))
        return self._read[id(value)][1]

    def fitting(self, path: Path, value: Any) -> Path:
        """Return the path, or its beginning up to where the value is of another type than the path leads through."""
        for length, part in enumerate(path):
            if value in _EMPTY:
                return path
            entries = self.entries(value)
            if not entries or _type(next(iter(entries))) != _type(part):
                return path[:length]
            value = entries.get(part)
        return path

    def at(self, path: Path, value: Any) -> Any:
        """Return the value at the path, or the text that stands in its way: a mask."""
        for part in path:
            entries = self.entries(value)
            if not entries:
                return value if isinstance(value, str) else None
            value = entries.get(part)
        return value


def _type(part: Any) -> Any:
    return part[0] if isinstance(part, tuple) else type(part)


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the parts of paths and the values of a mapping, of a list or of JSON in a text."""
    value = inside_text(value) if isinstance(value, str) else value
    if isinstance(value, dict):
        return [*value.items()]
    if not isinstance(value, list):
        return []
    if {*map(type, value)} <= {str}:
        return [(("word", word), word) for word in value]
    names = [item.get("name") for item in value if isinstance(item, dict)]
    if all(isinstance(name, str) for name in names) and len(value) == len(names) == len({*names}):
        return [(("name", item["name"]), item) for item in value]
    return [*enumerate(value)]


# --- masks


@functools.lru_cache(maxsize=4096)
def _shown_key(key: str) -> str:
    return whole_characters(key) if secret_in(key) is None else MASK


def _masked(value: Any, paths: set[Path], changed: Iterable[Path] = (), path: Path = ()) -> Any:
    """Return the value with a mask at each of the paths."""
    if paths and path in paths:
        return value if value in _EMPTY else CHANGED_MASK if path in changed else MASK
    if isinstance(value, dict):
        return {_shown_key(key): _masked(item, paths, changed, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, paths, changed, (*path, part)) for part, item in _pairs(value)]
    if not isinstance(value, str):
        return value
    inside = inside_text(value)
    if inside is None:
        return UNKNOWN if value in UNKNOWNS else whole_characters(value)
    shown_inside = _masked(inside, paths, changed, path)
    return value if shown_inside == inside else dumped(shown_inside)


def _differ(before: Any, after: Any) -> bool:
    """Return True for two secrets of which the preview shows that they differ."""
    if before in _EMPTY or after in _EMPTY or is_opaque(before) or is_opaque(after):
        return False
    return not same(unwrapped(before), unwrapped(after))


def _names(urn: str, type_: str, states: Iterable[Any]) -> Iterator[str]:
    """Yield the names without which a preview cannot be read: of stack, project, kind, objects and namespaces."""
    yield from (*urn.removeprefix("urn:pulumi:").split("::")[:2], type_.rpartition(":")[2])
    for state in states if type_.startswith("kubernetes:") else ():
        metadata = mapping(state).get("metadata")
        for value in metadata.values() if isinstance(metadata, dict) else (metadata,):
            if isinstance(value, str) and _NAME.fullmatch(value) is not None:
                yield value


@functools.lru_cache(maxsize=4096)
def _is_secret(name: str, text: str) -> bool:
    """Return whether a text is a secret, or a mask. A manifest in a text cannot be read without YAML."""
    if is_mark(text) or len(text) > LONGEST_TEXT or name == LAST_APPLIED:  # of which the JSON was cut
        return True
    return is_secret(name, text) or _SECRET_MANIFEST.search(text) is not None
