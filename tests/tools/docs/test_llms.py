"""The index for language models has the pages of the list, by its headings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.docs import llms

LISTED = """\
# The documentation

<!-- a comment -->

[trainform](../README.md) describes
jobs.

## How-to

What to do.

- [Keep data](how-to/keep.md): claims that
  stay.
- [Rehearse a job](how-to/rehearse.md) before it queues.

## More

- [Glossary](glossary.md)
- [Changes](../CHANGELOG.md).
"""
INDEX = """\
# trainform

> trainform describes jobs.

## How-to

- [Keep data](how-to/keep.md): claims that stay.
- [Rehearse a job](how-to/rehearse.md): before it queues.

## More

- [Glossary](glossary.md)
- [Changes](../CHANGELOG.md)
"""


def test_the_index_has_every_page_of_the_list() -> None:
    listed, index = llms.LIST.read_text(encoding="utf-8"), llms.llms_index()
    link, heading = re.compile(r"^- (\[[^]]*\]\([^)]*\))", re.MULTILINE), re.compile(r"^## .*$", re.MULTILINE)
    assert link.findall(index) == link.findall(listed)
    assert heading.findall(index) == heading.findall(listed)
    assert len(link.findall(index)) > 40


def test_a_line_says_what_a_page_is_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llms, "LIST", tmp_path / "README.md")
    llms.LIST.write_text(LISTED, encoding="utf-8")
    assert llms.llms_index() == INDEX
