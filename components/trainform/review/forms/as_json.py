"""A review as JSON, and the file of its schema."""

from __future__ import annotations

import json

from trainform.review.model import Review

SCHEMA_FILE = "review.schema.json"


def render(review: Review) -> str:
    """One document in which everything outside of ASCII is escaped, with a line feed at its end."""
    return json.dumps(review.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"
