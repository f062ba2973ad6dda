"""docs/reference/backends.md has the fields in which operators differ."""

from __future__ import annotations

import re

import pytest

from tools.docs.backends import comparison_page
from trainform.backends.backend import BACKENDS

PAGE = comparison_page()


def ways(field: str) -> str:
    """Return the item of a field on the page, in one line."""
    _, _, items = PAGE.partition("\n## In their own way\n")
    [found] = [each for each in items.split("\n- ") if f"`{field}`" in each.partition("\n")[0].split(", ")]
    return " ".join(found.split())


def row(field: str) -> list[str]:
    """Return the cells of a field in the table."""
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| `{field}` |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_row_has_a_difference() -> None:
    _, _, fields = PAGE.partition("\n## Where they differ\n")
    rows = re.findall(r"^\| `([^`]*)` \|", fields, re.MULTILINE)
    assert rows
    assert all(set(row(field)) != {"yes"} for field in rows)


def test_the_admissions_that_each_backend_supports() -> None:
    supported = {name: dict(zip(BACKENDS, row(name), strict=True)) for name in ("none", "volcano", "kueue")}
    assert {supported["volcano"][name] for name in BACKENDS} == {"yes"}
    assert [name for name, word in supported["none"].items() if word == "refused"] == ["volcano"]
    assert [name for name, word in supported["kueue"].items() if word == "refused"] == ["volcano", "kubedl"]


def test_fields_below_a_refused_field_are_refused() -> None:
    assert row("network.topology")[-1] == "refused"
    assert row("network.topology.highest_tier_name")[-1] == "refused"


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_field_that_an_operator_supports_in_its_own_way_is_on_the_page(backend: str) -> None:
    for field, support in BACKENDS[backend].FIELDS.items():
        if support.is_refusal:
            assert "refused" in row(field)
        else:
            assert re.search(rf"\b{backend}\b[^:]*: {re.escape(' '.join(support.how.split()))}\.", ways(field))
