"""The page of the limits has every rule, and each rule has an example that breaks it."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.support.limit_examples import EXAMPLES
from tools.docs.limits import limits_page
from trainform.rules.limits.table import RULES


@pytest.mark.parametrize("code", [rule.code for rule in RULES])
def test_every_rule_has_an_example_that_breaks_it(code: str) -> None:
    problem = EXAMPLES[code].problem(code)
    assert (problem.code, bool(problem.fingerprint)) == (code, True)


def test_an_example_breaks_its_rule_by_what_it_shows() -> None:
    """Without its own part the small experiment breaks no rule that is an error."""
    for rule in RULES:
        if rule.severity == "error":
            with pytest.raises(StopIteration):
                structs.replace(EXAMPLES[rule.code], written="{}", limits="{}").problem(rule.code)


def test_the_page_has_a_row_for_every_rule() -> None:
    rows = [line.split(" | ") for line in limits_page().splitlines() if line.startswith("| TF-")]
    assert [row[0].removeprefix("| ") for row in rows] == [rule.code for rule in RULES]
    assert all(len(row) == 4 for row in rows)
    by_code = {row[0].removeprefix("| "): row[2:] for row in rows}
    assert by_code["TF-IMG-2"] == ["off", " |"]
    assert by_code["TF-POD-2"] == ["error", "`volume_types`, `host_paths` |"]
    assert by_code["TF-SEC-1"] == ["error, always", " |"]
