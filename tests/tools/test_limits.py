"""The page of the limits has every rule, each with an example that breaks it."""

from __future__ import annotations

import pytest
from msgspec import structs

from tools.docs.limit_examples import EXAMPLES
from tools.docs.limits import limits_page
from trainform.rules.limits.table import RULES


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_every_rule_has_an_example_that_breaks_it(code: str) -> None:
    problem = EXAMPLES[code].problem(code)
    assert (problem.code, bool(problem.fingerprint)) == (code, True)
    page = limits_page()
    assert f"\n### {code}\n" in page
    assert " ".join(" ".join(problem.lines()).split()) in " ".join(page.split())


def test_an_example_breaks_its_rule_by_what_it_shows() -> None:
    """Without its own part the small experiment breaks no rule that is an error."""
    for rule in RULES:
        if rule.severity == "error":
            with pytest.raises(StopIteration):
                structs.replace(EXAMPLES[rule.code], written="{}", limits="{}").problem(rule.code)
