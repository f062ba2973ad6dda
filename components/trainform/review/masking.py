"""Masks the secrets of a preview, before anything of it is kept.

The engine masks each state alone, so the plain text of a value that only now became a secret stands in the old state. A value is therefore masked
in every state of a step if it is secret in one of them. Secrets that the engine has not marked are known by their names and shapes
(`trainform.secrets`). A text that is a secret in one place of a preview is masked in every other, as a whole.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.escaping import without_invisible, without_sequences
from trainform.review.engine_events import same
from trainform.review.stand_ins import CHANGED_MASK, MASKED, UNKNOWN
from trainform.rules.limits.secrets import SECRET_CONTENT
from trainform.secrets import DEEPEST, PRIVATE_KEY, has_shape, is_secret, name_of, secret_in, secret_words

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key in a mapping by which the engine marks what is not a plain mapping: a secret, or one of these."""
# Assets, archives, references to resources and outputs. Any other mark may be of a kind of secret that a newer engine has.
OTHER_MARKS = frozenset({
    "c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7",
    "5cf8f73096256a8f31e491e813e4eb8e", "d0e6a833031e9bbcd3f4e8bde6ca49a4",
})  # fmt: skip
# What the engine writes for a value that it knows only at `up`: a truth value, a number, text, a list, an asset, an archive, a mapping.
UNKNOWNS = frozenset({
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", "3eeb2bf0-c639-47a8-9e75-3b44932eb421", "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", "030794c1-ac77-496b-92df-f27374a8bd58", "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
})  # fmt: skip
ITEMS = ("SecretList", "items")  # kind and field of a list of Secrets, which do not say their kind
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
LONGEST_TEXT = 1 << 20  # characters; more than any object of Kubernetes has
LONGEST_PATH = 4096  # characters of a path in a difference
LONG_LINE = 16  # characters of a line of a secret that no other text has by chance
LONG_ENOUGH = 8  # characters of a secret that no other text contains by chance
SHORTEST = 4  # characters of a secret that is masked elsewhere where it stands alone

_OF_SECRETS = re.compile("Secret$")  # types, whoever makes them
_SECRET_MANIFEST = re.compile(r"""\bkind["']?[ \t]*:[ \t]*["']?Secret(?![\w-])""")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # of an object of Kubernetes
_COLOUR = re.compile(r"<\{%[^%]{0,40}%\}>")
_PART_OF_PATH = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')
_ABSENT = object()
_EMPTY: tuple[Any, ...] = (None, {}, [])

Path = tuple[str | int, ...]
States = tuple[Any, ...]


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

    old: Any
    new: Any
    old_shown: Any
    new_shown: Any


class Masks:
    """The masks of one preview. Every step is looked at before any is hidden: a secret that one step shows may stand in another."""

    def __init__(self, marked: bool = True) -> None:
        """marked: False if the engine has marked nothing in the preview."""
        self._marked = marked
        self._known: set[str] = set()
        self._by_beginning: dict[str, list[str]] = {}
        self._names: set[str] = set()
        self._secret_names: set[str] = set()
        self._seen: dict[str, bool] = {}
        self.count = 0

    def look(self, sides: Sides, urn: str, diffs: Iterable[str]) -> Hidden:
        """Return the states of a step without the secrets that it shows itself. diffs: the paths that change, as the engine names them."""
        kind = sides.type.rpartition(":")[2].removesuffix("Patch")
        outputs = (sides.old_outputs, sides.new_outputs) if self._marked else ()
        hiding = _Hiding()
        old, new, *_ = hiding.hide((sides.old, sides.new, *outputs), kind=kind)
        _show_changes(old, new, hiding.not_told, diffs)
        old_shown, new_shown, *_ = hiding.hide((sides.old_shown, sides.new_shown, sides.old, sides.new), kind=kind)
        self.count += hiding.count
        self._known.update(form for text in hiding.texts for form in _forms(text))
        self._names.update(_names(urn, sides.type, (old, new)))
        self._secret_names.update(hiding.names)
        return Hidden(old, new, old_shown, new_shown)

    def end_looks(self) -> None:
        """Note that every step was looked at. The names of objects stay visible, whatever else has the same text."""
        self._known -= self._names - self._secret_names
        for known in self._known:
            if len(known) >= LONG_ENOUGH:
                self._by_beginning.setdefault(known[:LONG_ENOUGH], []).append(known)
        self._seen.clear()

    def hide(self, hidden: Hidden) -> Hidden:
        """Return the states without the secrets that any step shows."""
        return Hidden(*map(self._without_known, (hidden.old, hidden.new, hidden.old_shown, hidden.new_shown)))

    def name(self, text: str) -> str:
        """Return a name, a path or a reference; in place of each part of a URN with a secret the mask."""
        parts = whole_characters(text).split("::")
        shown = "::".join(MASKED if self._is_known(part) or has_shape(part) else part for part in parts)
        self.count += MASKED in shown and shown != text
        return shown

    def text(self, text: str) -> str:
        """Return a message without colours and control sequences, with the mask in place of each line that holds a secret."""
        plain = without_sequences(_COLOUR.sub("", whole_characters(text)))
        if len(plain) > LONGEST_TEXT or PRIVATE_KEY.search(plain) is not None:
            shown = MASKED
        else:
            shown = "\n".join(MASKED if self._is_secret_line(line) else line for line in plain.split("\n"))
        self.count += shown != plain
        return shown

    def _is_secret_line(self, line: str) -> bool:
        """Return whether a secret is in the line, or in what a person reads of it."""
        return any(self._is_known(each) or secret_in(each) is not None for each in {line, without_invisible(line)})

    def _is_known(self, text: str) -> bool:
        """Return whether the text is a secret elsewhere in the preview, or contains one."""
        if text not in self._seen:
            pieces = (
                {text[at : at + LONG_ENOUGH] for at in range(len(text) - LONG_ENOUGH + 1)} if self._known else set()
            )
            alike = [known for piece in pieces & self._by_beginning.keys() for known in self._by_beginning[piece]]
            self._seen[text] = text in self._known or bool([known for known in alike if known in text])
        return self._seen[text]

    def _without_known(self, value: Any) -> Any:
        if not self._known:
            return value
        if isinstance(value, dict):
            return {self._without_known(key): self._without_known(item) for key, item in value.items()}
        if isinstance(value, list):
            return [*map(self._without_known, value)]
        if not isinstance(value, str) or not self._is_known(value):
            return value
        inside = inside_text(value)
        return MASKED if inside is None else _dumped(self._without_known(inside))


class _Hiding:
    """What stands in the states of one step without what is secret in any of them.

    count: the values that were masked. texts: their plain texts. names: those of objects and namespaces. not_told: the paths of the values that the
    engine does not tell.
    """

    def __init__(self) -> None:
        self.count = 0
        self.texts: list[str] = []
        self.names: set[str] = set()
        self.not_told: list[Path] = []

    def hide(self, values: States, name: str = "", path: Path = (), kind: str = "") -> States:
        """Return what stands at one place in several states, without secrets. Of the third state and those after it only the secrets count.

        name: of the field. kind: of the object, where the type of the resource says it.
        """
        present = [value for value in values if value is not _ABSENT and value is not None]
        if present and all(inside_text(value) is not None for value in present):
            return self._json(values, name, path)
        is_masked = any(_is_mark(value) or _is_secret(name, value) for value in present)
        if is_masked or len(path) > DEEPEST:
            return self._mask(values, path)
        kinds = {*map(type, present)}
        if kinds == {dict}:
            return self._mappings(values, name, path, kind)
        if kinds == {list}:
            return self._lists(values, name, path, kind)
        if kinds & {dict, list}:  # another type in another state
            if any(map(_has_mark, present)):
                return self._mask(values, path)
            return tuple(self.hide((value,), name, path, kind)[0] for value in values)
        return tuple(map(_plain, values))

    def _json(self, values: States, name: str, path: Path) -> States:
        """Return objects and lists that are texts."""
        inside = tuple(inside_text(value) if isinstance(value, str) else value for value in values)
        shown = self.hide(inside, name, path)
        return tuple(
            value if own == after or not isinstance(value, str) else after if isinstance(after, str) else _dumped(after)
            for value, own, after in zip(values, inside, shown, strict=True)
        )

    def _mappings(self, values: States, name: str, path: Path, kind: str) -> States:
        kinds = {kind, *(str(value.get("kind")) for value in values if isinstance(value, dict))}
        of_secret = any(map(_OF_SECRETS.search, kinds))

        def entry(key: str, inner: States) -> States:
            at = (*path, key)
            if of_secret and key in SECRET_CONTENT:
                return self._content(inner, at)
            if kind == "kubernetes" and key == "kubeconfig":  # the configuration of the provider
                return self._mask(inner, at)
            state = next(value for value in values if isinstance(value, dict) and key in value)
            return self.hide(inner, name_of(key, state, name), at, "Secret" if (kind, key) == ITEMS else "")

        return self._entries(values, entry)

    def _content(self, values: States, path: Path) -> States:
        """Return what a Secret holds, with a mask for each entry."""
        if any(not isinstance(value, dict) or _is_mark(value) for value in values if value not in (_ABSENT, None)):
            return self._mask(values, path)
        return self._entries(values, lambda key, inner: self._mask(inner, (*path, key)))

    def _entries(self, values: States, entry: Callable[[str, States], States]) -> States:
        """Return mappings with each entry of the first two as the function returns it."""
        states: list[dict[str, Any]] = [value if isinstance(value, dict) else {} for value in values]
        found, own = {}, {}
        for key in dict.fromkeys(key for state in states[:2] for key in state):
            found[key] = entry(key, tuple(state.get(key, _ABSENT) for state in states))
            own[key] = whole_characters(key) if secret_in(key) is None else MASKED
            self.count += own[key] == MASKED
        return tuple(
            {own[key]: found[key][at] for key in value if key in found} if isinstance(value, dict) else value
            for at, value in enumerate(values)
        )

    def _lists(self, values: States, name: str, path: Path, kind: str) -> States:
        """Return lists: items with names are the same item in every state. In a list of others, a marked secret may be any item of another state."""
        lists = [value for value in values if isinstance(value, list)]
        if all({*map(type, items)} <= {str} for items in lists):
            return self._mask(values, path) if any(map(_has_mark, lists)) else tuple(map(self._words, values))
        if not all(map(_have_names, lists)):
            if any(map(_has_mark, lists)):
                return self._mask(values, path)
            longest = max(map(len, lists))
            keyed = [dict(enumerate(value)) if isinstance(value, list) else {} for value in values]
            keys: Iterable[Any] = range(longest)
        else:
            keyed = [{item["name"]: item for item in value} if isinstance(value, list) else {} for value in values]
            keys = dict.fromkeys(key for state in reversed(keyed[:2]) for key in state)
        found = {}
        for index, key in enumerate(keys):
            items = tuple(state.get(key, _ABSENT) for state in keyed)
            found[key] = self.hide(items, name, (*path, index), kind)
        return tuple(
            [found[key][at] for key in keyed[at] if key in found] if isinstance(value, list) else value
            for at, value in enumerate(values)
        )

    def _words(self, words: Any) -> Any:
        """Return the words of a command, each secret one masked."""
        if not isinstance(words, list):
            return words
        given = secret_words(words)
        secret = [word for at, word in enumerate(words) if at in given or _is_secret("", word)]
        self.count += len(secret)
        self.texts += secret
        return [MASKED if word in secret else _plain(word) for word in words]

    def _mask(self, values: States, path: Path) -> States:
        """Return the mask for each value. The second one is called changed if both are known and differ."""
        texts = [text for value in values for text in _plain_texts(value)]
        self.texts += texts
        if path[:1] == ("metadata",):
            self.names.update(texts)
        shown = [value for value in values[:2] if value is not _ABSENT]
        self.count += any(value not in _EMPTY for value in shown)
        changed = False
        if len(shown) == 2 and all(value not in _EMPTY for value in shown):
            if any(map(_is_opaque, shown)):
                self.not_told.append(path)
            else:
                changed = not same(*map(_told, shown))
        return tuple(
            value if value is _ABSENT or value in _EMPTY else CHANGED_MASK if changed and at == 1 else MASKED
            for at, value in enumerate(values)
        )


def _show_changes(old: Any, new: Any, not_told: Iterable[Path], diffs: Iterable[str]) -> None:
    """Mark the secrets as changed that the engine does not tell, and whose path it names as one that changes. Not where another change explains it."""
    paths = [*not_told]
    named = {parts for parts in map(_parts, diffs if paths else ()) if same(_at(parts, old), _at(parts, new))}
    above = {parts[:length] for parts in named for length in range(len(parts))}
    for path in paths:
        if path in above or any(path[:length] in named for length in range(len(path) + 1)):
            _put_change(path, new)


def _parts(text: str) -> Path:
    """Return the engine's path in parts: `spec.containers[0]`, `data["tls.crt"]`."""
    return tuple(
        int(match[2]) if match[2] else match[3] if match[3] else match[1].replace('\\"', '"')
        for match in _PART_OF_PATH.finditer(text[:LONGEST_PATH])
    )


def _at(path: Path, value: Any) -> Any:
    """Return the value at the path, or the text that stands in its way: a mask."""
    for part in path:
        if isinstance(value, str):
            return value
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _put_change(path: Path, value: Any) -> None:
    above: Any = _at(path[:-1], value)
    if path and isinstance(above, dict | list) and _at(path[-1:], above) == MASKED:
        above[path[-1]] = CHANGED_MASK


def _names(urn: str, type_: str, states: Iterable[Any]) -> Iterator[str]:
    """Yield what a preview cannot be read without: stack, project and kind, and the names of objects and namespaces that are not secret."""
    yield from (*urn.removeprefix("urn:pulumi:").split("::")[:2], type_.rpartition(":")[2])
    for state in states if type_.startswith("kubernetes:") else ():
        metadata = state.get("metadata") if isinstance(state, dict) else None
        for value in metadata.values() if isinstance(metadata, dict) else (metadata,):
            if isinstance(value, str) and _NAME.fullmatch(value) is not None:
                yield value


def _is_mark(value: Any) -> bool:
    """Return whether the engine has put a secret here. An unknown mark may be one of a newer engine."""
    if isinstance(value, str):
        return value in (MASKED, CHANGED_MASK)
    if not isinstance(value, dict) or SIGNATURE not in value:
        return False
    mark = value[SIGNATURE]
    return value.get("secret") is True or not (isinstance(mark, str) and mark in OTHER_MARKS)


def _has_mark(value: Any, depth: int = 0) -> bool:
    if _is_mark(value) or depth > DEEPEST:
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_has_mark(item, depth + 1) for item in items)


def _is_opaque(value: Any, depth: int = 0) -> bool:
    """Return whether the value, or a part of it, is not told: two that look alike may differ."""
    if _is_mark(value):
        return not isinstance(value, dict) or "plaintext" not in value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > DEEPEST or any(_is_opaque(item, depth + 1) for item in items)


def _is_secret(name: str, value: Any) -> bool:
    """Return whether a value is a secret that nobody has marked. A manifest in a text cannot be read without YAML."""
    if not isinstance(value, str):
        return is_secret(name, value)
    if len(value) > LONGEST_TEXT or name == LAST_APPLIED:  # of which the JSON was cut
        return True
    return is_secret(name, value) or _SECRET_MANIFEST.search(value) is not None


def _told(value: Any) -> Any:
    """Return the value within the engine's mark, which is JSON."""
    if not isinstance(value, dict) or not _is_mark(value):
        return value
    try:
        return json.loads(value["plaintext"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return value.get("plaintext")


def _plain_texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts and numbers of a secret where they are known: in the other state, or within the engine's mark."""
    if depth > DEEPEST or value is _ABSENT:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif _is_mark(value):
        yield from _plain_texts(_told(value), depth + 1)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _plain_texts(item, depth + 1)


def _forms(text: str) -> Iterator[str]:
    """Yield the text as it may stand elsewhere: in base64 and out of it, without the spaces around it, and each long line."""
    if text in UNKNOWNS or text in (MASKED, CHANGED_MASK) or len(text) > LONGEST_TEXT:
        return
    for plain in {text, _decoded(text)}:
        lines = [line for line in plain.split("\n") if len(line) >= LONG_LINE]
        in_json = json.dumps(plain, ensure_ascii=False)[1:-1]
        for form in (plain, in_json, *lines, base64.b64encode(plain.encode(errors="replace")).decode()):
            stripped = form.strip()
            if len(stripped) >= LONG_ENOUGH or (len(stripped) >= SHORTEST and not stripped.isalpha()):
                yield stripped


def _decoded(text: str) -> str:
    """Return the text out of base64, as a Secret has it, or else as it is."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return text


def _have_names(items: list[Any]) -> bool:
    names = [item.get("name") for item in items if isinstance(item, dict)]
    return all(isinstance(name, str) for name in names) and len(items) == len(names) == len({*names})


def _plain(value: Any) -> Any:
    """Return a value that is not a secret as it is shown."""
    if isinstance(value, list):
        return [*map(_plain, value)]
    if isinstance(value, str):
        return UNKNOWN if value in UNKNOWNS else whole_characters(value)
    return value


def inside_text(text: Any) -> Any:
    """Return the object or list that the text is in JSON; None if it is not one, or is nested too deep."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def whole_characters(text: str) -> str:
    """Return the text without halves of characters, which JSON can write and nobody can print."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
