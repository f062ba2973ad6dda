"""The code blocks of the documents that a user reads. The word behind the fence says what a block is:

`sh`       commands, one a line, to be pasted as they are: no prompt, no output, nothing that asks
`console`  commands behind `$ ` and what they print: shown, and held against the real output
`yaml`     a fragment of an experiment, or a whole one behind the comment with its path
`python`   a program
`text`     what trainform prints
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tests.repository import ROOT

LANGUAGES = ("sh", "console", "yaml", "json", "python", "text")
README = ROOT / "README.md"
DOCUMENTS = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
PROMPT = "$ "
ADDRESS = "ADDRESS"  # of the repository, for which a reader writes what they know
ELSEWHERE = "Without this repository"  # the heading in the README of the blocks for an empty folder
# Every page in a shell of its own; the sandbox's last, since it ends with `down`. `sh` is any machine's plainest.
PAGES = {
    "CONTRIBUTING.md": "bash",
    "docs/benchmarks.md": "bash",
    "docs/command-line.md": "bash",
    "docs/how-it-works.md": "bash",
    "docs/rehearsal.md": "bash",
    "docs/sandbox.md": "sh",
}
_BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the one of its first fence, counted from 1, and `heading` the last one above it."""

    document: str
    line: int
    heading: str
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it is, for messages and names of tests."""
        return f"{self.document}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The lines that a person types; none in a block that is no shell's."""
        if self.language == "sh":
            return self.text.splitlines()
        return [
            line.removeprefix(PROMPT) for line in self.text.splitlines() if self.language == "console" and _typed(line)
        ]

    @property
    def output(self) -> list[str]:
        """The lines of a `console` that are shown as the answer."""
        return [line for line in self.text.splitlines() if self.language == "console" and line and not _typed(line)]


def _typed(line: str) -> bool:
    return line.startswith(PROMPT)


def read_blocks(document: Path) -> list[Block]:
    """All blocks of a document, in order."""
    text = document.read_text()
    name = document.relative_to(ROOT).as_posix()
    return [
        Block(name, text.count("\n", 0, found.start()) + 1, _heading_above(text[: found.start()]), found[1], found[2])
        for found in _BLOCK.finditer(text)
    ]


def _heading_above(text: str) -> str:
    return str(re.findall(r"^#+ (.*)$", text, re.MULTILINE)[-1])


def blocks_of_a_clone() -> list[Block]:
    """What is pasted from the README to begin with the repository, in order."""
    return [block for block in blocks_of("sh", README) if block.heading != ELSEWHERE]


def blocks_of(language: str, *documents: Path) -> list[Block]:
    """The blocks of one language in these documents; in all of them where none is named."""
    found = [block for document in documents or DOCUMENTS for block in read_blocks(document)]
    return [block for block in found if block.language == language]
