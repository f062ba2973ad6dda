"""Pictures for the tests: of experiments as they are, of changes, and of any shape."""

from __future__ import annotations

from typing import Any

from tests.review.jobs import change
from tests.support.samples import CLUSTER
from trainform.review.picture.compare import pictures
from trainform.review.picture.parts import Picture
from trainform.spec import Environment

LONG = "registry.example.com/" + "research-platform/" * 8 + "trainer:2026.11"


def of_change(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Picture:
    """The picture of a preview of one job."""
    [picture] = pictures(change(before, after, environment=Environment.model_validate(CLUSTER)))
    return picture
