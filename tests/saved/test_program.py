"""Which files make the program of a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.saved.program import program_files

FILES = {
    "Pulumi.yaml": "name: vision\nruntime: python\nmain: infra\n",
    "requirements.txt": "trainform\n",
    "infra/__main__.py": "import trainform\n",
    "infra/parts/queues.py": "",
    "stacks/experiments/bert.yaml": "name: bert\n",
    "stacks/Pulumi.bert.dev.yaml": "config: {}\n",
    "vision/__init__.py": "",
    "vision/jobs.py": "",
    "README.md": "# Vision\n",
    "data/corpus.py": "",
    ".venv/lib/os.py": "",
    "infra/__pycache__/parts.py": "",
    "infra/venv/pyvenv.cfg": "",
    "infra/venv/lib.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_modules_and_what_says_which_packages_there_are(root: Path) -> None:
    assert [name for name, _ in program_files(root)] == [
        "Pulumi.yaml",
        "infra/__main__.py",
        "infra/parts/queues.py",
        "requirements.txt",
        "vision/__init__.py",
        "vision/jobs.py",
    ]


def test_their_contents(root: Path) -> None:
    assert dict(program_files(root))["infra/__main__.py"] == b"import trainform\n"
