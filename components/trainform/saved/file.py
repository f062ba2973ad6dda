"""The file of a saved review, read and checked."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from trainform.errors import InputError, Problem
from trainform.review.read import DECODER, RepeatedKeyError
from trainform.saved.engine import OF_SERVICES
from trainform.saved.model import VERSION, Saved, SavedFile
from trainform.saved.seal import keyed
from trainform.secrets import masked_line
from trainform.spec.explain import explain
from trainform.spec.files import read_text

LARGEST = 64 << 20
ORGANIZATION = "organization"
"""That of each stack in a folder or a bucket."""
BEGINNING = '{\n  "saved_review": '
FIX = (
    "give a file that `trainform review STACK --save FILE` has written; without a saved review, `pulumi up -s STACK` "
    "applies"
)


def text_of(review: Saved, key: bytes, sealed: dict[str, Any]) -> str:
    """The text of the file, with a line feed at its end."""
    file = SavedFile(key=sealed, review=review, seal=_seal(review, key))
    return json.dumps(file.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"


def read_saved(file: str) -> SavedFile:
    """The file. InputError if it is no saved review; whether it was changed is seen with its key alone."""
    try:
        text = read_text(Path(file), file, LARGEST)
    except InputError as error:
        raise InputError([Problem("FILE", file, problem.reason, FIX) for problem in error.problems]) from None
    try:
        data = DECODER.decode(text)
    except RepeatedKeyError as error:
        key = masked_line(str(error))
        raise _refused(file, f"the key {key} is there twice, so that nobody knows which value counts") from None
    except (ValueError, RecursionError):
        raise _refused(file, "this is not the JSON of a saved review") from None
    version = data.get("saved_review") if isinstance(data, dict) else None
    if type(version) is not int:
        raise _refused(file, "this is not a saved review")
    if version != VERSION:
        reason = f"this saved review has version {version}, and this trainform reads version {VERSION}"
        raise InputError([Problem("FILE", file, reason, "save and apply it with the same trainform")])
    try:
        return SavedFile.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = explain(SavedFile, data, error)[:1]
        where = f": {first[0].path} {first[0].reason}" if first else ""
        raise _refused(file, f"this saved review cannot be read{where}") from None


def refuse_changed(saved: SavedFile, key: bytes, file: str) -> None:
    """Raise `InputError` if somebody has changed the file since it was written."""
    if _seal(saved.review, key) != saved.seal:
        reason = "its seal does not fit: somebody has changed the file, or it belongs to another key"
        raise _refused(file, reason, save_again(saved, file))


def refuse_organization(saved: SavedFile, file: str) -> None:
    """Raise `InputError` if the stack is of an organization where there are none: those of folders and buckets all have
    the same."""
    facts = saved.review.facts
    organization, _, rest = facts.stack.partition("/")
    if rest and urlsplit(facts.backend).scheme not in OF_SERVICES and organization != ORGANIZATION:
        reason = f"the stack {facts.stack} is of the organization {organization}, and {facts.backend} has none"
        raise _refused(file, reason, "log in to the service of that organization, or save the review again")


def save_again(saved: SavedFile, file: str) -> str:
    """What to do about a file that is stale."""
    return f"save the review again: `trainform review {saved.review.facts.stack} --save {shlex.quote(file)}`"


def is_saved(target: Path) -> bool:
    """True for a saved review, and for an empty file."""
    with target.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(len(BEGINNING)) in ("", BEGINNING)


def _seal(review: Saved, key: bytes) -> str:
    return keyed(key, review.model_dump(mode="json"))


def _refused(file: str, reason: str, fix: str = FIX) -> InputError:
    return InputError([Problem("FILE", file, reason, fix)])
