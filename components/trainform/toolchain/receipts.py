"""Receipts of downloads: a file beside the programs with each URL, its SHA-256, and where that hash was published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from trainform.toolchain.origins import BUILD, DOWNLOAD, SYSTEM

NAME = "download.json"
DESCRIPTIONS = {SYSTEM: "from this machine", BUILD: "built"}


class Receipt(Struct, frozen=True):
    """The receipt of one release. `checked`: where the hash that it was compared with is published, None if there is none."""

    name: str
    url: str
    sha256: str
    checked: str | None


def write_receipts(folder: Path, receipts: Sequence[Receipt]) -> None:
    """Write the receipts into a finished folder."""
    (folder / NAME).write_text(json.dumps(msgspec.to_builtins([*receipts]), indent=2) + "\n")


def read_receipts(folder: Path) -> list[Receipt] | None:
    """Return the receipts of a finished folder, None if there are none or they cannot be read."""
    try:
        return [Receipt(**row) for row in json.loads((folder / NAME).read_text())]
    except (OSError, ValueError, TypeError):
        return None


def describe_origin(origin: str, folder: Path) -> str:
    """Return a text that says where the content of a finished folder comes from."""
    if origin != DOWNLOAD:
        return DESCRIPTIONS[origin]
    receipts = read_receipts(folder)
    return "downloaded, not verified" if receipts is None else f"downloaded, {verification(receipts)}"


def verification(receipts: Sequence[Receipt]) -> str:
    """Return a text that says if every hash was compared with a published one, and names the releases without one."""
    unchecked = [receipt.name for receipt in receipts if receipt.checked is None]
    return f"not verified: {', '.join(unchecked)}" if unchecked else "hashes verified"
