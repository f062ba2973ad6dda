"""Secrets in what a person gets to see, however it is wrapped, escaped or encoded there."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

GITHUB_TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
HUB_TOKEN = "hf_" + "AbCdEfGh" * 4
OTHER_HUB_TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ2bC4eF6h"
PASSWORD = "hunter2-hunter2"  # noqa: S105 - of these tests
UNMARKED = "a letter of thirty-one characters"
"""What nobody takes for a secret by its shape: the engine marks it on one side alone."""
SECRETS = (GITHUB_TOKEN, HUB_TOKEN, OTHER_HUB_TOKEN, PASSWORD, UNMARKED)
"""Those in the previews and reports of tests that need no engine."""


@pytest.fixture(autouse=True)
def leaked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """Yield the secrets in any form of any report that is made in this process. The test fails if it has left one."""
    from trainform.review import stored
    from trainform.review.forms import html
    from trainform.review.forms.text import markdown, terminal
    from trainform.review.model import Report
    from trainform.review.whole import review_of

    forms: dict[str, Callable[[Any], str]] = {
        "terminal": lambda review: terminal(review, full=True),
        "markdown": markdown,
        "html": html.render,
        "json": stored.render,
    }
    found: list[tuple[str, str]] = []
    make = Report.__init__

    def made(self: Report, /, **data: Any) -> None:
        make(self, **data)
        review = review_of([self])
        found.extend(leaks({name: render(review) for name, render in forms.items()}, SECRETS))

    monkeypatch.setattr(Report, "__init__", made)
    yield found
    assert found == []


def leaks(forms: Mapping[str, str], secrets: Iterable[str]) -> list[tuple[str, str]]:
    """Each form that holds a secret, and the secret. forms: texts by their names."""
    traces = {secret: (_bare(secret), _bare(base64.b64encode(secret.encode()).decode())) for secret in secrets}
    bare = {name: _bare(text) for name, text in forms.items()}
    return [(name, secret) for name in bare for secret,
        found in traces.items() if any(each in bare[name] for each in found)]  # fmt: skip


def _bare(text: str) -> str:
    """Letters and digits alone: a terminal wraps lines, and Markdown escapes marks."""
    return "".join(filter(str.isalnum, text))
