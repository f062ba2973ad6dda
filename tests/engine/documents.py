"""The code blocks of the project's documents."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tests.repository import ROOT

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block: `language` as it is written behind the fence."""

    document: str
    number: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines that a person types."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]

    @property
    def output(self) -> list[str]:
        """The lines that are shown as the answer."""
        return [line for line in self.text.splitlines() if line and not line.startswith("$ ")]


def blocks(document: Path) -> list[Block]:
    """All blocks of a document, in order."""
    found = _BLOCK.findall(document.read_text())
    name = str(document.relative_to(ROOT))
    return [Block(name, number, language, text) for number, (language, text) in enumerate(found)]


def all_blocks(language: str) -> list[Block]:
    """The blocks of one language in every document that a user reads."""
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [block for document in documents for block in blocks(document) if block.language == language]
