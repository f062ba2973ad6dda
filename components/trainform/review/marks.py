"""The engine's marks for secret and unknown values in a preview, and the texts of a secret."""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import json
from collections.abc import Iterator
from typing import Any

from trainform.console.lines import CHANGED_MASK, MASK
from trainform.console.secrets import DEEPEST

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""The key in a mapping by which the engine marks what is not a plain mapping: a secret, or one of these."""
# Assets, archives, references to resources and outputs. Any other mark may be of a kind of secret that a newer engine
# has.
OTHER_MARKS = frozenset({
    "c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7",
    "5cf8f73096256a8f31e491e813e4eb8e", "d0e6a833031e9bbcd3f4e8bde6ca49a4",
})  # fmt: skip
# What the engine writes for a value that it knows only at `up`: a truth value, a number, text, a list, an asset, an
# archive, a mapping.
UNKNOWNS = frozenset({
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
})  # fmt: skip
LONGEST_TEXT = 1 << 20  # characters; more than any object of Kubernetes has
LONG_LINE = 16  # characters of a line of a secret that no other text has by chance
LONG_ENOUGH = 8  # characters of a secret that no other text contains by chance
SHORTEST = 4  # characters of a secret that is masked elsewhere where it stands alone


def is_mark(value: Any) -> bool:
    """Return whether the engine has put a secret here. An unknown mark may be one of a newer engine."""
    if isinstance(value, str):
        return value in (MASK, CHANGED_MASK)
    if not isinstance(value, dict) or SIGNATURE not in value:
        return False
    mark = value[SIGNATURE]
    return value.get("secret") is True or not (isinstance(mark, str) and mark in OTHER_MARKS)


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the marks, texts and numbers in the value, and what is nested too deep to be read."""
    if is_mark(value) or depth > DEEPEST or not isinstance(value, dict | list):
        yield value
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from _leaves(item, depth + 1)


def has_mark(value: Any) -> bool:
    """Return whether a secret is somewhere in the value."""
    return any(is_mark(leaf) or isinstance(leaf, dict | list) for leaf in _leaves(value))


def is_opaque(value: Any) -> bool:
    """Return whether a part of the value is hidden: two that look alike may differ."""
    found = (leaf for leaf in _leaves(value) if is_mark(leaf) or isinstance(leaf, dict | list))
    return any(not isinstance(leaf, dict) or "plaintext" not in leaf for leaf in found)


def unwrapped(value: Any) -> Any:
    """Return the value within the engine's mark, which is JSON."""
    if not isinstance(value, dict) or not is_mark(value):
        return value
    try:
        return json.loads(value["plaintext"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return value.get("plaintext")


def plain_texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a secret where they are known: in the other state, or within the engine's mark."""
    for leaf in _leaves(value):
        if isinstance(leaf, dict):
            yield from plain_texts(unwrapped(leaf)) if "plaintext" in leaf else ()
        elif isinstance(leaf, str | int | float) and not isinstance(leaf, bool):
            yield str(leaf)


def forms_of(text: str) -> Iterator[str]:
    """Yield the text as it may stand elsewhere: in base64 and out of it, stripped, and each long line."""
    if text in UNKNOWNS or text in (MASK, CHANGED_MASK) or len(text) > LONGEST_TEXT:
        return
    plains = {text}
    with contextlib.suppress(binascii.Error, ValueError):  # as a Secret has it
        plains.add(base64.b64decode(text, validate=True).decode())
    for plain in plains:
        lines = [line for line in plain.split("\n") if len(line) >= LONG_LINE]
        in_json = json.dumps(plain, ensure_ascii=False)[1:-1]
        for form in (plain, in_json, *lines, base64.b64encode(plain.encode(errors="replace")).decode()):
            stripped = form.strip()
            if len(stripped) >= LONG_ENOUGH or (len(stripped) >= SHORTEST and not stripped.isalpha()):
                yield stripped


@functools.lru_cache(maxsize=64)
def inside_text(text: Any) -> Any:
    """Return the object or list that the text is in JSON; None if it is not one, or is nested too deep."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def dumped(value: Any) -> str:
    """Return the value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def whole_characters(text: str) -> str:
    """Return the text without halves of characters, which JSON can write and no terminal can print."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
