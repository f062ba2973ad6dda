"""`$(NAME)` in texts of containers, as Kubernetes reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^)]*)\)")  # as Kubernetes expands them; `$$(NAME)` stays `$(NAME)`


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """The text with each `$(NAME)` replaced by the value, and each `$$` by one `$`. An unknown name stays as it is."""

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else variables.get(name, match[0])

    head, tail = replaced(text, value)
    return head + tail.replace("$$", "$")


def references(text: str) -> Iterator[str]:
    """The name of each variable that Kubernetes puts into the text."""
    head, _ = _parted(text)
    return (match["name"] for match in _REFERENCE.finditer(head) if match["name"] is not None)


def replaced(text: str, value: Callable[[re.Match[str]], str]) -> tuple[str, str]:
    """The text up to its last reference with the values of all `$(NAME)` and `$$` in it, and the rest."""
    head, tail = _parted(text)
    return _REFERENCE.sub(value, head), tail


def _parted(text: str) -> tuple[str, str]:
    """The text up to the last `)`, and the rest, in which each `$(` would be read to the end of the text in vain."""
    end = text.rfind(")") + 1
    return text[:end], text[end:]
