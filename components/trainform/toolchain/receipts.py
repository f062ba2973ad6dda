"""What a downloaded part says of itself: a file beside its programs with each address, its SHA-256 and who vouches for that."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from trainform.toolchain.origins import BUILD, DOWNLOAD, SYSTEM

NAME = "download.json"
WORDS = {SYSTEM: "from this machine", BUILD: "built"}


@dataclasses.dataclass(frozen=True)
class Receipt:
    """Of one release. `checked`: where the hash stands that it was held against, None where none is published."""

    name: str
    url: str
    sha256: str
    checked: str | None


def write_receipts(folder: Path, receipts: Sequence[Receipt]) -> None:
    (folder / NAME).write_text(json.dumps([dataclasses.asdict(receipt) for receipt in receipts], indent=2) + "\n")


def read_receipts(folder: Path) -> list[Receipt] | None:
    """None where nothing (or nothing readable) says how it came."""
    try:
        return [Receipt(**row) for row in json.loads((folder / NAME).read_text())]
    except (OSError, ValueError, TypeError):
        return None


def how_it_came(origin: str, folder: Path) -> str:
    """Of a finished folder, in words."""
    if origin != DOWNLOAD:
        return WORDS[origin]
    receipts = read_receipts(folder)
    return "downloaded, not verified" if receipts is None else f"downloaded, {verification(receipts)}"


def verification(receipts: Sequence[Receipt]) -> str:
    """Whether everything was held against a published hash; what was not is named."""
    unchecked = [receipt.name for receipt in receipts if receipt.checked is None]
    return f"not verified: {', '.join(unchecked)}" if unchecked else "hashes as published"
