"""`$(NAME)` in texts of containers, as Kubernetes reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^)]*)\)")  # as Kubernetes expands them; `$$(NAME)` stays `$(NAME)`


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """The text with each `$(NAME)` replaced by the value, and each `$$` by one `$`. An unknown name stays as it is."""

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        return "$" if name is None else variables.get(name, match[0])

    return REFERENCE.sub(value, text)


def references(text: str) -> Iterator[str]:
    """The name of each variable that Kubernetes puts into the text."""
    return (match["name"] for match in REFERENCE.finditer(text) if match["name"] is not None)
