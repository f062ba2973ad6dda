"""A report as JSON, and the schema of it."""

from __future__ import annotations

import json

from trainform.review.model import Report

SCHEMA_FILE = "review.schema.json"


def render(report: Report) -> str:
    """One document in which everything outside of ASCII is escaped, with a line feed at its end."""
    return json.dumps(report.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"
