"""The page "Real jobs": its numbers are those of the corpus, and its patches render."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import yaml

from tests.conftest import Golden
from tests.corpus.test_corpus import CASES, CLUSTER, KINDS, by_fields_alone, read
from tests.support.documents import DOCS, Block, blocks_of
from tests.support.repository import read as read_stack
from trainform.job.render import render_job
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

PAGE = DOCS / "reference" / "real-jobs.md"
HEAD = "| kind | jobs | by fields alone | most patched |\n|---|---|---|---|\n"


def patched_fields(case: dict[str, Any]) -> set[str]:
    """Return the fields of pods that the merge patches of roles set."""
    specs = [role.get("pod_overrides", {}).get("spec", {}) for role in case["experiment"]["roles"].values()]
    found = {field for spec in specs for field in [*spec, *spec.get("containers", {}).get("main", {})]}
    return found - {"containers", "volumeMounts"}


def table() -> str:
    """Return the rows of the page's table, with the sums in the last one."""
    corpus = [(f"{kind.rpartition('/')[2]} on `{backend}`", read(stem)) for stem, (kind, backend) in KINDS.items()]
    return "".join(_row(*each) for each in [*corpus, ("all", [case for _, cases in corpus for case in cases])])


def _row(title: str, cases: list[dict[str, Any]]) -> str:
    patched = Counter(field for case in cases for field in sorted(patched_fields(case)))
    named = ", ".join(f"`{field}` {count}" for field, count in patched.most_common(3))
    return f"| {title} | {len(cases)} | {sum(map(by_fields_alone, cases))} | {named} |\n"


def test_the_numbers_are_those_of_the_corpus(golden: Golden) -> None:
    text, tables = re.subn(rf"({re.escape(HEAD)})(?:\|.*\n)+", lambda found: found[1] + table(), PAGE.read_text())
    text, numbers = re.subn(r"\b\d+ of them,", f"{len(CASES)} of them,", text)
    assert (tables, numbers) == (1, 1)
    golden(PAGE, text)


@pytest.mark.parametrize("block", blocks_of("yaml", PAGE), ids=lambda block: block.place)
def test_a_patch_of_the_page_renders(block: Block) -> None:
    environment = Environment.model_validate({**CLUSTER, "backend": "kubernetes", "admission": "none"})
    experiment = Experiment.model_validate({**read_stack("experiments", "hello"), **yaml.safe_load(block.text)})
    assert render_job(experiment, environment).problems == ()
