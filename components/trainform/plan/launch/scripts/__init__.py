"""The shell programs that pods run: the `.sh` files in this folder. No other module of the plan reads files.

They hold no value of a plan. Values that differ between jobs and pods are variables of the container, and arguments. A
plan only chooses the lines to leave out, so a pod, and a preview, have no line that this job does not need:

- `## ...` and `# shellcheck ...` are for readers of the file and for checks; no pod gets these lines;
- `#: NAME NAME` begins a section, which ends where the next one begins; a script has the sections with a requested
  name;
- a word on its own line, such as `--multi_gpu \\`, can be left out.

Each file as it stands, with all its sections, is a program that shellcheck reads (`make lint`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from pathlib import Path

_FOR_READERS = re.compile(r"^[ \t]*#(?:#| shellcheck ).*\n", re.MULTILINE)
_SECTION = re.compile(r"(?<=\n)\n*#: (.+)\n")  # with the empty lines before it


@functools.cache
def source(name: str) -> str:
    """Return the whole file. It is package data, and read when the first plan needs it."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def script(name: str, sections: Collection[str] = (), without: Collection[str] = ()) -> str:
    """Return the script as pods get it: with these sections, and without these words. KeyError if the file does not
    have one of them."""
    first, *parts = _SECTION.split(_FOR_READERS.sub("", source(name)))
    names = [frozenset(part.split()) for part in parts[::2]]
    if unknown := set(sections).difference(*names):
        raise KeyError(f"{name} has no section {', '.join(sorted(unknown))}")
    chosen = [text for labels, text in zip(names, parts[1::2], strict=True) if not labels.isdisjoint(sections)]
    text = "".join([first, *chosen])
    for word in without:
        before, line, after = text.partition(f"  {word} \\\n")
        if not line:
            raise KeyError(f"{name} has no line for {word}")
        text = before + after
    return text
