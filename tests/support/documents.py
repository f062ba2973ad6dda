"""The code blocks of the documents that a user reads. The word behind the fence says what a block is:

`sh`       commands, one a line, to be pasted as they are: no prompt, no output, nothing that asks
`console`  commands behind `$ ` and what they print: shown, and held against the real output
`yaml`     a fragment of an experiment, or a whole one behind the comment with its path
`python`   a program
`text`     what trainform prints
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tests.support.repository import ROOT

LANGUAGES = ("sh", "console", "yaml", "json", "python", "text")
README = ROOT / "README.md"
DOCS = ROOT / "docs"
TOP = ("CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")
DOCUMENTS = (README, *(ROOT / f"{name}.md" for name in TOP), *sorted(DOCS.rglob("*.md")))
LESSONS = ("first-job.md", "first-change.md", "first-review.md", "from-dev-to-prod.md")
TUTORIALS = tuple(DOCS / "tutorial" / name for name in LESSONS)
FIRST_JOB = TUTORIALS[0]  # goes on in the clone that the README's commands make
FROM_DEV_TO_PROD = TUTORIALS[-1]  # needs a second sandbox
EMPTY_FOLDER = DOCS / "how-to" / "start-a-project.md"  # begins in an empty folder, without the repository
PROMPT = "$ "
ADDRESS = "ADDRESS"  # of the repository, for which a reader writes what they know
NEW_SHELL = "A new shell"  # the heading in the first job of the block with which each new shell begins
# Every page in a shell of its own, in the order of DOCUMENTS. `sh` is any machine's plainest; the sandbox's ends with
# `down`.
PAGES = {
    "CONTRIBUTING.md": "bash",
    "docs/explanation/ranks-and-world.md": "bash",
    "docs/how-to/find-what-is-missing.md": "bash",
    "docs/how-to/policy-pack.md": "bash",
    "docs/how-to/rehearse.md": "bash",
    "docs/how-to/review-in-ci.md": "bash",
    "docs/how-to/rotate-ssh-keys.md": "bash",
    "docs/how-to/run-a-sweep.md": "bash",
    "docs/reference/benchmarks.md": "bash",
    "docs/reference/command-line.md": "bash",
    "docs/reference/sandbox.md": "sh",
    "docs/tutorial/first-change.md": "bash",
    "docs/tutorial/first-review.md": "bash",
    "docs/tutorial/from-dev-to-prod.md": "bash",
}
_BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the one of its first fence, counted from 1, and `heading` the last one above it."""

    document: str
    line: int
    heading: str
    language: str
    text: str

    @property
    def place(self) -> str:
        """File and line, for messages and names of tests."""
        return f"{self.document}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The lines that a user types; none if the block is not for a shell."""
        if self.language == "sh":
            return self.text.splitlines()
        return [
            line.removeprefix(PROMPT) for line in self.text.splitlines() if self.language == "console" and _typed(line)
        ]

    @property
    def output(self) -> list[str]:
        """The lines of a `console` that are shown as the answer."""
        return [line for line in self.text.splitlines() if self.language == "console" and line and not _typed(line)]


def _typed(line: str) -> bool:
    return line.startswith(PROMPT)


def read_blocks(document: Path) -> list[Block]:
    """Return all blocks of a document, in order."""
    text = document.read_text()
    name = document.relative_to(ROOT).as_posix()
    return [
        Block(name, text.count("\n", 0, found.start()) + 1, _heading_above(text[: found.start()]), found[1], found[2])
        for found in _BLOCK.finditer(text)
    ]


def _heading_above(text: str) -> str:
    return str(re.findall(r"^#+ (.*)$", text, re.MULTILINE)[-1])


def write_readme_files(stacks: Path) -> str:
    """Write the README's experiment, and the environment `dev` with accelerators h100; return the experiment's name."""
    path, _, text = blocks_of("yaml", README)[0].text.partition("\n")
    experiment = stacks.parent / path.removeprefix("# ")
    experiment.write_text(text)
    environment = (ROOT / "stacks" / "environments" / "dev.yaml").read_text()
    (stacks / "environments" / "dev.yaml").write_text(re.sub(r"\ba800:", "h100:", environment))
    return experiment.stem


def blocks_of_a_clone() -> list[Block]:
    """Return what is pasted to begin with the repository, in order: the README's commands, then the first job's."""
    return blocks_of("sh", README, FIRST_JOB)


def block_of_a_new_shell() -> Block:
    """Return the block with which each new shell begins."""
    [block] = [block for block in blocks_of("sh", FIRST_JOB) if block.heading == NEW_SHELL]
    return block


def blocks_of(language: str, *documents: Path) -> list[Block]:
    """Return the blocks of one language in these documents, or in all documents."""
    found = [block for document in documents or DOCUMENTS for block in read_blocks(document)]
    return [block for block in found if block.language == language]
