"""docs/reference/backends.md has where operators differ, and every refusal."""

from __future__ import annotations

import re

import pytest
from tools.docs.refusals import EXAMPLES

from tests.conftest import ROOT
from tools.docs.backends import comparison_page
from trainform.backends.table import BACKENDS

PAGE = comparison_page()
REFUSALS = ROOT / "tests" / "golden" / "refusals.txt"


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


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_reason_of_an_example_is_told(backend: str) -> None:
    told = section(backend)
    for example in EXAMPLES:
        for reason in {problem.reason for problem in example.problems(backend)}:
            assert f'"{reason}"' in told


@pytest.mark.parametrize("backend", ["volcano", "kubeflow", "kubedl"])
def test_an_operator_without_replicated_jobs_refuses_none(backend: str) -> None:
    titles = re.findall(r"- \*\*([^*]*)\*\*: ", section(backend))
    assert titles
    assert [title for title in titles if "replicated job" in title] == []


def test_the_page_has_every_refusal_of_a_teaching_experiment() -> None:
    refused = re.split(r"^\S+ on (\S+)$", REFUSALS.read_text(), flags=re.MULTILINE)[1:]
    assert len(refused) > 2
    for backend, problems in zip(refused[::2], refused[1::2], strict=True):
        reasons = re.findall(r"^ +why: (.*)$", problems, re.MULTILINE)
        assert reasons
        assert [reason for reason in reasons if reason not in section(backend)] == []
