"""The contracts of import-linter in pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def contract(name: str) -> dict[str, Any]:
    """Return the contract with this id."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    [found] = [each for each in contracts if each["id"] == name]
    return dict(found)


def layers() -> list[str]:
    """Return the packages of the library, lowest first."""
    return [name for layer in reversed(contract("layers")["layers"]) for name in re.split(r" [|:] ", layer)]
