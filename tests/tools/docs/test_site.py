"""The site has every document, takes nothing from other hosts, and a broken link fails its build."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.documents import DOCUMENTS
from tools.docs.conf import toctrees

CHANGELOG = ROOT / "CHANGELOG.md"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the documents in a folder of their own."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copytree(ROOT / "tools" / "docs", folder / "tools" / "docs")
    for path in (*DOCUMENTS, CHANGELOG):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


def build(source: Path, builder: str) -> subprocess.CompletedProcess[str]:
    """Run the program of `make docs`."""
    options = ["-c", "tools/docs", "-b", builder, "-E", "-W", "--keep-going", "-q", "-d", ".doctrees", ".", "site"]
    words = [sys.executable, "-m", "sphinx", *options]
    return subprocess.run(words, cwd=source, capture_output=True, text=True, check=False)


def test_the_site(source: Path) -> None:
    done = build(source, "html")
    assert (done.returncode, done.stderr) == (0, "")
    pages = {
        path.relative_to(source / "site").with_suffix(".md").as_posix() for path in (source / "site").rglob("*.html")
    }
    assert {path.relative_to(ROOT).as_posix() for path in (*DOCUMENTS, CHANGELOG)} <= pages
    texts = "".join(page.read_text(encoding="utf-8") for page in (source / "site").rglob("*.html"))
    pairs = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)"|<link[^>]* href="([^"]*)"', texts)
    loaded = {address for pair in pairs for address in pair if address}
    assert any(address.endswith("stack.svg") for address in loaded)
    assert not {address for address in loaded if re.match(r"(https?:)?//", address)}
    styles = "".join(path.read_text(encoding="utf-8") for path in (source / "site").rglob("*.css"))
    assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", styles)


@pytest.mark.parametrize(
    "link",
    ["[gone](gone.md)", "[no heading](../docs/glossary.md#no-such-heading)", "![no figure](figures/gone.svg)"],
)
def test_a_broken_link_fails_the_build(source: Path, link: str) -> None:
    page = source / "docs" / "glossary.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(f"{text}\n{link}\n", encoding="utf-8")
    try:
        done = build(source, "dummy")
    finally:
        page.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    assert "docs/glossary.md" in done.stderr


def test_the_navigation_is_the_list_of_pages() -> None:
    listed = "# All\n\n## One\n\n- [First `up`](how-to/a.md): text.\n- [Second](../B.md)\n\n## Two\n\n- [Third](c.md)\n"
    assert list(toctrees(listed)) == [
        "```{toctree}\n:hidden:\n:caption: One\n\nFirst up </docs/how-to/a>\nSecond </B>\n```\n",
        "```{toctree}\n:hidden:\n:caption: Two\n\nThird </docs/c>\n```\n",
    ]
