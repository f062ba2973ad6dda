"""docs/reference/backends.md has the fields in which operators differ."""

from __future__ import annotations

import re

import pytest

from tools.docs.backends import comparison_page
from trainform.backends.table import BACKENDS

PAGE = comparison_page()


def section(backend: str) -> str:
    """What the page says of one operator, in one line."""
    return " ".join(PAGE.partition(f"\n### {backend}\n")[2].partition("\n### ")[0].split())


def row(field: str) -> list[str]:
    """The cells of a field in the table."""
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| `{field}` |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_row_has_a_difference() -> None:
    rows = re.findall(r"^\| `([^`]*)` \|", PAGE, re.MULTILINE)
    assert rows
    assert all(set(row(field)) != {"yes"} for field in rows)


def test_fields_below_a_refused_field_are_refused() -> None:
    assert row("launcher.mpi")[-1] == "refused"
    assert row("launcher.mpi.processes_per_node")[-1] == "refused"


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_field_of_the_tables_is_told(backend: str) -> None:
    told = section(backend)
    for field, support in BACKENDS[backend].FIELDS.items():
        assert f"`{field}`" in told
        assert " ".join(support.how.split()) in told
