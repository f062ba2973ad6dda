"""A large file, whatever it holds, is told in seconds, and in lines of a length that a person reads."""

from __future__ import annotations

import time

import pytest

from trainform.check import check_experiment
from trainform.defaults import LONGEST_PATH
from trainform.errors import InputError, Problem
from trainform.spec.load import Text

JOB = "name: bert\nimage: registry.example.com/ai/bert:1\nlauncher: {command: [python, train.py]}\n"
ROLES = "roles: {worker: {replicas: 2}}\n"
WHOLE = f"{JOB}{ROLES}"
LAB = Text("lab.yaml", "name: lab\nnamespace: {name: ai}\n")
MOST_SECONDS = 30
"""Of the processor, on a slow machine; each of these took minutes, or more memory than there is."""
LONG = "k" * 100_000
MANY = 8_000

FILES = {
    "unknown keys": f"{WHOLE}{''.join(f'k{number}: 1{chr(10)}' for number in range(MANY))}",
    "a long key above many values": f'{WHOLE}? "{LONG}"\n: [{"1," * MANY * 5}]\n',
    "a long name of a role": f'{JOB}roles:\n  ? "{LONG}"\n  : {{tolerations: [{"1," * MANY * 5}]}}\n',
    "many overlays of many words": (
        f"{WHOLE}prepare: [{{name: a, command: [{'x,' * 4_000}]}}]\nenvironments: "
        f"{{{','.join(f'k{n}: {{}}' for n in range(10_000))}}}\n"
    ),
    "variables that refer to others": f"{WHOLE}env: {{{','.join(f'k{n}: $(k{n + 1})' for n in range(8_000))}}}\n",
    "references without an end": f'{WHOLE}env:\n  A: "{"$(" * 60_000}"\n',
    "references without an end in a command": f"{WHOLE.replace('train.py', chr(34) + '$(' * 60_000 + chr(34))}",
    "a long word": WHOLE.replace("bert", "a" * 900_000, 1),
    "a long image": WHOLE.replace("registry.example.com/ai/bert:1", "a." * 100_000),
}


@pytest.mark.parametrize("text", FILES.values(), ids=[*FILES])
def test_a_hostile_file(text: str) -> None:
    before = time.process_time()
    found = check_experiment(Text("bert.yaml", text), LAB).problems
    lines = InputError(found).lines()
    assert time.process_time() - before < MOST_SECONDS
    assert all(len(line) < LONGEST_PATH * 2 for line in lines)


def test_a_key_with_too_long_a_path() -> None:
    text = f'{WHOLE}env:\n  ? "{"K" * LONGEST_PATH}"\n  : a\n'
    (problem,) = check_experiment(Text("bert.yaml", text), LAB).problems
    assert (problem.path, problem.line, problem.fix) == ("env", 5, "shorten the key")
    assert not check_experiment(Text("bert.yaml", text.replace("KKKK", "", 1)), LAB).problems


def test_a_message_is_no_longer_than_a_person_reads() -> None:
    problem = Problem("image", "a", f"it is none of {'a' * 70_000}", f"write {'b' * 70_000}")
    assert all(len(line) < 2_100 for line in problem.lines())
    assert len(str(problem.as_dict()["fix"])) < 2_100
