"""No form of a report holds a secret: the test of the fixture that holds every other test to it."""

from __future__ import annotations

import pytest

from tests.support import previews
from tests.support.leaks import UNMARKED
from tests.support.previews import CONFIG_MAP, state, step_event, urn
from trainform.review.context import Context
from trainform.review.masking import Masks
from trainform.review.read import read_preview
from trainform.review.report import build_report

LETTERS = urn(CONFIG_MAP, "bert-letters")


def make_report() -> None:
    """Of a value that was plain when it was deployed, and is a secret now."""
    old, new = ({"data": {"first": value}} for value in (UNMARKED, previews.secret("another letter")))
    text = previews.stream(step_event("update", LETTERS, state(old), state(new), {"data.first": "update"}))
    build_report(Context("bert.dev", read_preview(text), ()))


def test_a_secret_that_is_let_through_is_found_in_every_form(
    leaked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_report()
    assert leaked == []
    monkeypatch.setattr(Masks, "look", lambda self, type_, urn, states, outputs: (states, ()))
    make_report()
    assert leaked == [(form, UNMARKED) for form in ("terminal", "markdown", "html", "json")]
    leaked.clear()
