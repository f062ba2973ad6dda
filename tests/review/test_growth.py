"""No preview takes more than its share of work, however large it is: twice as much of anything is about twice the work.

Work is counted in calls of functions, as in `tests/test_growth.py`.
"""

from __future__ import annotations

import cProfile
import gc
from collections.abc import Callable

import pytest

from tests.support.large_previews import WAYS, large_preview
from trainform.review.context import Context
from trainform.review.forms import as_json, document, markdown, terminal
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview
from trainform.review.report import build_report
from trainform.review.whole import review_of

SIZES = {"secret items": 200}
SIZE, CHARACTERS = 30, 3_000
"""Of a way that is not above; of one that is a text."""
MOST = 1.1
TEXTS = ("text", "lines", "addresses", "logins", "pairs", "quotes", "settings", "words of commands",
         "letters outside of ASCII", "lines of a secret", "a secret that repeats itself")  # fmt: skip


def review(text: str) -> list[str]:
    """As the command does it, in each form."""
    preview = read_preview(text)
    review = review_of([build_report(Context("bert.dev", preview, jobs_of(preview)))])
    return [form.render(review) for form in (terminal, markdown, as_json)]


def calls(work: Callable[[str], object], text: str) -> int:
    profile = cProfile.Profile()
    gc.disable()  # its callbacks would be counted
    try:
        profile.runcall(work, text)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("way", list(WAYS))
def test_a_review_grows_with_the_preview(way: str) -> None:
    """The third part must not cost more than the second."""
    size = CHARACTERS if way in TEXTS else SIZES.get(way, SIZE)
    texts = [large_preview(way, parts * size) for parts in (1, 2, 3)]
    review(texts[0])  # fills what is made once in a process
    first, second, third = (calls(review, text) for text in texts)
    assert third - second <= MOST * (second - first)


def test_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_ITEMS", 2)
    monkeypatch.setattr(document, "MOST_ROWS", 3)
    for shown in review(large_preview("claims", 5))[:2]:
        assert "And 3 more: 3 high." in shown
        assert shown.count("And 3 more: 3 delete.") == 2
    assert "And 4 more." in review(large_preview("fields", 7))[0]
    assert review(large_preview("claims", 5))[2].count('"TR-DATA-1"') == 5


def test_the_headline_names_few_of_many_claims() -> None:
    shown = review(large_preview("volumes that go", 9))[0]
    assert "the claims bert-data-00000, bert-data-00001" in " ".join(shown.split())
    assert "bert-data-00004 and 4 more are deleted" in " ".join(shown.split())
