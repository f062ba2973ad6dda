"""The site of the documents, as Sphinx reads it: `make docs`.

The whole repository is the source, so that a link between two documents is the same on GitHub and in the site, and a
broken one, or one to a heading that is not there, fails the build. Nothing comes from another host: the site works
offline, and reports its readers to no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
NAVIGATION = "docs/README"  # the list of all pages: its headings and links are the navigation

project = html_title = "trainform"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = [".*", "bench", "components", "site", "stacks", "tests", "tools"]
myst_heading_anchors = 4
html_theme = "furo"
html_theme_options = {"light_css_variables": {"code-font-size": "var(--font-size--small--2)"}}  # previews are wide
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_extra_path = ["index.html"]  # the first page has its name on GitHub, README
html_copy_source = False
html_show_copyright = False


def toctrees(text: str) -> Iterator[str]:
    """Yield the navigation of the list of pages: one tree for each of its headings."""
    for section in text.split("\n## ")[1:]:
        links = re.findall(r"^- \[([^\]]*)\]\(([^)]*)\.md\)", section, re.MULTILINE)
        pages = "\n".join(f"{title.replace('`', '')} </{_from_root(page)}>" for title, page in links)
        heading = section.partition("\n")[0]
        yield f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n"


def _from_root(page: str) -> str:
    """Return the name of a document, given as a link in the list of pages."""
    return (ROOT / NAVIGATION).parent.joinpath(page).resolve().relative_to(ROOT).as_posix()


def _add_navigation(app: Sphinx, document: str, source: list[str]) -> None:
    if document == root_doc:
        listed = (ROOT / f"{NAVIGATION}.md").read_text(encoding="utf-8")
        every_page = f"```{{toctree}}\n:hidden:\n\nAll pages </{NAVIGATION}>\n```\n"
        source[0] = "\n".join([source[0], every_page, *toctrees(listed)])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _add_navigation)
