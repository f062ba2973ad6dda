"""One key of a stack is set in its file, and no other character of the file changes. `test_stack_file.py` has more
spellings of files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trainform.deployed.stack_keys import insert_key, set_key
from trainform.errors import InputError, TrainformError
from trainform.spec.stack import Stack, load_stack

PATH = "stacks/Pulumi.resnet.dev.yaml"
TEXT = "# ours\nconfig:\n  trainform:experiment: resnet # what runs\n{own}  trainform:environment: dev\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: trainform\nruntime: python\n")
    (tmp_path / PATH).write_text(TEXT.format(own=""))
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "  trainform:run: 2\n"),
        ("  trainform:run: 7 # seeds\n", "  trainform:run: 2 # seeds\n"),
        ("  trainform:run:   '7'\n", "  trainform:run:   2\n"),
        ("  run: 7\n", "  run: 2\n"),
    ],
)
def test_a_number_replaces_a_number(before: str, after: str, root: Path) -> None:
    text = TEXT.format(own=before)
    assert insert_key(text, "run", "2", PATH, root) == TEXT.format(own=after)


def test_the_stack_is_returned_as_it_was(root: Path) -> None:
    before, value = set_key("resnet.dev", "suspend", lambda stack: not stack.suspend, root)
    assert (before, value) == (Stack("resnet", "dev", 1), True)
    assert load_stack("resnet.dev", root) == Stack("resnet", "dev", 1, suspend=True)
    assert (root / PATH).read_text() == TEXT.format(own="  trainform:suspend: true\n")
    set_key("resnet.dev", "suspend", lambda stack: False, root)
    assert (root / PATH).read_text() == TEXT.format(own="  trainform:suspend: false\n")


def test_the_same_value_writes_nothing(root: Path) -> None:
    before = (root / PATH).stat().st_ino
    set_key("resnet.dev", "suspend", lambda stack: False, root)
    set_key("resnet.dev", "run", lambda stack: 1, root)
    assert (root / PATH).stat().st_ino == before


def test_a_value_of_the_whole_project_is_overridden(root: Path) -> None:
    (root / "Pulumi.yaml").write_text("name: vision\nruntime: python\nconfig:\n  trainform:suspend: {value: true}\n")
    assert set_key("resnet.dev", "suspend", lambda stack: False, root)[0].suspend
    assert not load_stack("resnet.dev", root).suspend


def test_of_several_at_the_same_moment_none_is_lost(root: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: set_key("resnet.dev", "run", lambda stack: stack.run + 1, root), range(16)))
    assert load_stack("resnet.dev", root).run == 17


def test_what_is_refused_writes_nothing(root: Path) -> None:
    def refuse(stack: Stack) -> int:
        raise InputError([])

    with pytest.raises(InputError):
        set_key("resnet.dev", "run", refuse, root)
    (root / PATH).write_text("config: {trainform:experiment: resnet, trainform:environment: dev}\n")
    with pytest.raises(TrainformError, match="cannot be changed") as raised:
        set_key("resnet.dev", "run", lambda stack: 2, root)
    assert raised.value.fix == "write `trainform:run: 2` under `config` there, and run the same command again"
