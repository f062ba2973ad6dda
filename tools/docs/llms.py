"""`docs/llms.txt`: the list of pages for language models (https://llmstxt.org), made from `docs/README.md`."""

from __future__ import annotations

import re
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "docs" / "README.md"
_LINK = re.compile(r"^- \[([^]]*)\]\(([^)]*)\)[:,.]?\s*(.*?)(?=^- |\n\n|\Z)", re.MULTILINE | re.DOTALL)


def llms_index() -> str:
    """Return the index: a title, a summary, and the pages with what each is about."""
    start, *sections = LIST.read_text(encoding="utf-8").split("\n## ")
    summary = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", start.strip().split("\n\n")[-1])
    blocks = ["# trainform", f"> {_line(summary)}"]
    for section in sections:
        links = [f"- [{title}]({page}): {_line(about)}" for title, page, about in _LINK.findall(section)]
        blocks += [f"## {section.partition(chr(10))[0]}", "\n".join(link.removesuffix(": ") for link in links)]
    return "\n\n".join(blocks) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())
