"""The kinds of findings, whose texts are in `findings/kinds.toml`, and the identity of a finding."""

from __future__ import annotations

import functools
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from trainform.review.model import Category, Finding, Place

FINGERPRINT_DIGITS = 16
TEXTS = Path(__file__).parent / "findings" / "kinds.toml"


class Kind(Struct, frozen=True):
    """A kind of finding, with its texts."""

    code: str  # its name for ever
    category: Category
    level: Literal["low", "medium", "high"]
    title: str  # a whole sentence about any object
    why: str
    fix: str
    text: str = ""  # the sentence of one finding, with places for what is in it; empty: the title

    def weighing(self, level: Literal["low", "medium", "high"]) -> Kind:
        """Return the same kind with another level."""
        return structs.replace(self, level=level)

    def finding(
        self,
        thing: str,
        field: str = "",
        before: Any = None,
        after: Any = None,
        *,
        title: str | None = None,
        place: Place | None = None,
        identity: str | None = None,
        **words: object,
    ) -> Finding:
        """Return a finding about `thing`. title: its whole sentence, instead of that of the kind. identity: what the
        fingerprint is made of instead of the name, for an object whose name contains its revision. words: of the
        sentence."""
        texts = structs.asdict(self)
        text = texts.pop("text") or self.title
        words |= {"object": thing, "field": field, "before": before, "after": after}
        texts["title"] = text.format(**words) if title is None else title
        of = fingerprint(self.code, thing if identity is None else identity, field, before, after)
        return Finding(**texts, object=thing, field=field, before=before, after=after, place=place, fingerprint=of)


def kind(code: str, variant: str = "") -> Kind:
    """Return the kind of findings with the code, or a variant of it."""
    texts = _texts()[code]
    usual = {field: text for field, text in texts.items() if isinstance(text, str)}
    return Kind(code, Category[code.split("-")[1].lower()], **usual | (texts[variant] if variant else {}))


@functools.cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def fingerprint(code: str, name: str, field: str, before: Any, after: Any) -> str:
    """Return the identity of a finding, which changes with the object, the field and both values alone."""
    text = json.dumps([code, name, field, before, after], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]


KINDS = tuple(map(kind, _texts()))
"""All kinds of findings, from which a page of the documents is made."""
