"""The shell programs that pods run: the `.sh` files beside this one, and the only place of the plan that reads files.

They hold no value of a plan. What differs between jobs and pods reaches them as variables of the container, and as
arguments. A plan only chooses what a script leaves out, so that a pod, and a preview, have no line that this job does
not need:

- `## ...` and `# shellcheck ...` are for who reads or checks the file here; no pod gets these lines;
- `#: NAME NAME` begins a section, which ends where the next one begins; a script has the sections of which a name is
  asked for;
- a word on a line of its own, such as `--multi_gpu \\`, can be left out.

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
    """The whole file. It is package data, the same in every run, and read when the first plan needs it."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def script(name: str, sections: Collection[str] = (), without: Collection[str] = ()) -> str:
    """The script as pods get it: with these sections, and without these words. A name that the file does not have is a
    KeyError."""
    first, *parts = _SECTION.split(_FOR_READERS.sub("", source(name)))
    names = [frozenset(part.split()) for part in parts[::2]]
    if unknown := set(sections).difference(*names):
        raise KeyError(f"{name} has no section {', '.join(sorted(unknown))}")
    kept = [text for asked, text in zip(names, parts[1::2], strict=True) if not asked.isdisjoint(sections)]
    text = "".join([first, *kept])
    for word in without:
        before, line, after = text.partition(f"  {word} \\\n")
        if not line:
            raise KeyError(f"{name} has no line for {word}")
        text = before + after
    return text
