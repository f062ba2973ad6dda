"""The index for language models has the pages of the list, by its headings."""

from __future__ import annotations

import re

from tools.docs.llms import LIST, llms_index


def test_the_index_has_every_page_of_the_list() -> None:
    listed, index = LIST.read_text(encoding="utf-8"), llms_index()
    link, heading = re.compile(r"^- (\[[^]]*\]\([^)]*\))", re.MULTILINE), re.compile(r"^## .*$", re.MULTILINE)
    assert link.findall(index) == link.findall(listed)
    assert heading.findall(index) == heading.findall(listed)
    assert len(link.findall(index)) > 40


def test_a_line_says_what_a_page_is_about() -> None:
    title, summary = llms_index().split("\n")[:3:2]
    assert title == "# trainform"
    assert summary.startswith("> trainform turns a description of a training job into Kubernetes objects")
    assert "- [Limits](reference/limits.md): the rules that experiments must keep, and waivers" in llms_index()
    assert "- [Keep checkpoints](how-to/keep-data.md)" in llms_index().split("\n")
    assert "- [Components](reference/components.md)" in llms_index().split("\n")
