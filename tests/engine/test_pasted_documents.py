"""The documents as a newcomer uses them: their blocks, pasted in order into a new shell of a machine with Python, make
and git."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.documents import (
    ADDRESS,
    EMPTY_FOLDER,
    FIRST_JOB,
    PAGES,
    README,
    TUTORIALS,
    Block,
    block_of_a_new_shell,
    blocks_of,
)
from tests.support.pasting import Pasted, PastingShell
from tests.support.repository import ROOT, committed_copy
from trainform.local.toolchain.cache import CACHE_VARIABLE, cache_folder
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("a fresh clone with an environment and a sandbox of its own")

# How this machine reaches package registries and Docker, which is no part of what a newcomer lacks.
OF_THE_MACHINE = ("PIP_", "UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "DOCKER_HOST")
PIP_SETTINGS = (".config/pip", ".config/uv", ".pip")
# What make begins here would be this test run again, minutes of measuring, or the image that a fixture has: are the
# targets there?
BY_NAME = {f"make {target}": f"make --dry-run {target} > /dev/null" for target in ("test", "proof", "bench", "image")}


class Newcomer:
    """A person with a home of their own, and what they paste."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = folder / "trainform"
        self.address = folder / "origin"
        committed_copy(self.address)
        home = folder / "home"
        for name in filter(lambda name: (Path.home() / name).exists(), PIP_SETTINGS):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).symlink_to(Path.home() / name)
        home.mkdir(exist_ok=True)
        self.environ = {name: value for name, value in os.environ.items() if name.upper().startswith(OF_THE_MACHINE)}
        self.environ |= {
            "HOME": str(home),
            "PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            # downloads and builds that this machine has made
            CACHE_VARIABLE: str(cache_folder()),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def shell(self, folder: Path, kind: str = "bash") -> PastingShell:
        """Return a new shell in a folder."""
        return PastingShell(kind, folder, self.environ)

    def paste(self, shell: PastingShell, block: Block) -> Pasted:
        """Paste a block with the address in its place, and with what `BY_NAME` has for a line."""
        lines = [BY_NAME.get(line, line.replace(ADDRESS, self.address.as_uri())) for line in block.commands]
        return shell.paste("\n".join(lines))

    def changed(self) -> list[str]:
        """Return what git sees in the clone."""
        words = ["git", "status", "--porcelain", "--untracked-files=all"]
        return subprocess.run(words, cwd=self.clone, capture_output=True, text=True, check=True).stdout.splitlines()


@contextlib.contextmanager
def newcomer_in(folder: Path) -> Iterator[Newcomer]:
    """Yield a newcomer before the first block; the sandboxes of the clone end with them."""
    newcomer = Newcomer(folder)
    try:
        yield newcomer
    finally:
        for name in ("sandbox", "prod", "rehearsals"):
            sandbox = newcomer.clone / ".trainform" / name
            subprocess.run([sys.executable, "-m", "trainform", "sandbox", "down", "--folder", str(sandbox)], check=True)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Iterator[Newcomer]:
    """Yield a newcomer who has pasted the README's commands: a clone, its Python environment, and the demo on its
    sandbox."""
    [first] = blocks_of("sh", README)
    assert first.text.count(ADDRESS) == 1
    with newcomer_in(tmp_path_factory.mktemp("newcomer")) as newcomer:
        with newcomer.shell(newcomer.folder) as shell:
            assert "+ 12 created" in newcomer.paste(shell, first).succeeded()
        assert newcomer.changed() == [], "the demo leaves the clone as it is"
        yield newcomer


def test_the_first_job(newcomer: Newcomer) -> None:
    with newcomer.shell(newcomer.clone) as shell:
        for block in blocks_of("sh", FIRST_JOB):
            newcomer.paste(shell, block).succeeded()
    assert newcomer.changed() == ["?? stacks/Pulumi.bert.dev.yaml", "?? stacks/experiments/bert.yaml"]
    subprocess.run(["git", "clean", "-fdq", "stacks"], cwd=newcomer.clone, check=True)  # for the other pages


def test_a_project_without_the_repository(newcomer: Newcomer) -> None:
    """And what `init` says to look at first; tests/wheel goes on with the rest."""
    folder = newcomer.folder / "empty"
    folder.mkdir()
    with newcomer.shell(folder) as shell:
        for block in blocks_of("sh", EMPTY_FOLDER):
            assert "wrote stacks/experiments/hello.yaml" in newcomer.paste(shell, block).succeeded()
        shell.paste("trainform check hello -e dev\ntrainform plan hello -e dev").succeeded()


@pytest.mark.shows("a page with commands has a shell here")
def test_the_pages_are_all_of_them() -> None:
    begun = {page.relative_to(ROOT).as_posix() for page in (README, FIRST_JOB, EMPTY_FOLDER)}
    pages = dict.fromkeys(block.document for block in blocks_of("sh"))
    assert list(PAGES) == [page for page in pages if page not in begun]


WITH_CONTAINERS = "docs/how-to/rehearse.md"
CONTAINERS = pytest.mark.rehearsal("real nodes and an image for one page, which takes two minutes")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=CONTAINERS if page == WITH_CONTAINERS else ())
        for page in PAGES
        if ROOT / page not in TUTORIALS
    ],
)
def test_a_page_in_a_new_shell(newcomer: Newcomer, page: str, request: pytest.FixtureRequest) -> None:
    """Of every page but the lessons, which test_documents follows with their answers."""
    blocks = blocks_of("sh", ROOT / page)
    if any(command.startswith("trainform rehearse ") for block in blocks for command in block.commands):
        request.getfixturevalue("image")
    with newcomer.shell(newcomer.clone, PAGES[page]) as shell:
        for block in [*begin(blocks), *blocks]:
            newcomer.paste(shell, block).succeeded()


def begin(blocks: Sequence[Block]) -> list[Block]:
    """The block for a new shell; none where `make` is all that is typed."""
    if all(command.startswith("make ") for block in blocks for command in block.commands):
        return []
    return [block_of_a_new_shell()]
