"""Writes a report as JSON, and reads one back. It may come from another program: nothing in it is believed."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from trainform.errors import InputError, Problem
from trainform.review.model import VERSION, Review
from trainform.spec.explain import explain

SCHEMA_FILE = "review.schema.json"
FIX = "give a file that `trainform review -o FILE.json` has written"
MOST_PROBLEMS = 20


def render(review: Review) -> str:
    """One document in which everything outside of ASCII is escaped, with a line feed at its end."""
    return json.dumps(review.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"


def read_review(text: str, option: str, source: str) -> Review:
    """Return the review in the text. InputError with what is wrong. option, source: where it comes from."""
    try:
        data = json.loads(text)
        version = data.get("version") if isinstance(data, dict) else None
        if type(version) is int and version != VERSION:
            reason = f"this report has version {version}, and this trainform reads version {VERSION}"
            raise InputError([Problem(option, source, reason, "write and read the report with the same trainform")])
        review = Review.model_validate_json(text, strict=True)
        render(review)  # 1e999 is read as a number, and is none in JSON
    except ValidationError as error:
        raise InputError(_problems(data, error, source)) from None
    except (ValueError, RecursionError):
        raise InputError([Problem(option, source, "this is not the JSON of a report", FIX)]) from None
    return review


def _problems(data: Any, error: ValidationError, source: str) -> list[Problem]:
    """Return the first problems, each with its path in the file; a file that is no report at all has thousands."""
    if not isinstance(data, dict) or any(detail["type"] == "json_invalid" for detail in error.errors()):
        return [Problem("", None, "this is not the JSON of a report", FIX, source)]
    found = explain(Review, data, error)[:MOST_PROBLEMS]
    return [Problem(each.path, each.value, each.reason, FIX, source) for each in found]
