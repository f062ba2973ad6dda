"""For tests of the review's parts: no report that they make may hold a secret."""

from __future__ import annotations

from tests.support.leaks import leaked

__all__ = ["leaked"]
