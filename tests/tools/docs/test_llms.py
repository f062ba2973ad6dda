"""The index for language models has the pages of the list, by its headings."""

from __future__ import annotations

import re

from tools.docs import llms


def test_the_index_has_every_page_of_the_list() -> None:
    listed, index = llms.LIST.read_text(encoding="utf-8"), llms.llms_index()
    link, heading = re.compile(r"^- (\[[^]]*\]\([^)]*\))", re.MULTILINE), re.compile(r"^## .*$", re.MULTILINE)
    assert link.findall(index) == link.findall(listed)
    assert heading.findall(index) == heading.findall(listed)
    assert len(link.findall(index)) > 40
