"""The version and the hash of a Go module, read from the pins."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from trainform.errors import ToolchainError

_FIX = "the pins do not fit this version of trainform: install it again"


class Module(Struct, frozen=True):
    """A Go module in the pins of `folder`. Its methods raise `ToolchainError` if the pins do not name it."""

    folder: str
    path: str

    def version(self, pins: Path) -> str:
        """Return the required version, without the `v`."""
        text = (pins / self.folder / "go.mod").read_text()
        # The whole line, since a row of `replace (…)` begins in the same way.
        row = rf"^\s*(?:require\s+)?{re.escape(self.path)} v(\S+)[ \t]*(?://.*)?$"
        found = re.search(row, text, re.MULTILINE)
        if found is None:
            raise ToolchainError(f"the pins of {self.folder} name no version of {self.path}", _FIX)
        return found[1]

    def hash(self, pins: Path) -> str:
        """Return the hash of all its files, as in go.sum (`h1:`)."""
        version = self.version(pins)
        text = (pins / self.folder / "go.sum").read_text()
        found = re.search(rf"^{re.escape(self.path)} v{re.escape(version)} (h1:\S+)$", text, re.MULTILINE)
        if found is None:
            raise ToolchainError(f"the pins of {self.folder} have no hash of {self.path} v{version}", _FIX)
        return found[1]

    @property
    def escaped(self) -> str:
        """The path as Go proxies write it: `!x` for a capital X."""
        return re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", self.path)
