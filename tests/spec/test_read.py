"""Whatever stands in a file: plain data, or every problem of its form with line, value, reason and fix; never an
exception of YAML's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainform.errors import InputError, Problem
from trainform.spec.read import read_mapping

Read = Callable[[str | bytes], tuple[dict[str, Any], list[Problem]]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The data of a file with this content, or its problems."""
    path = tmp_path_factory.mktemp("read") / "mine.yaml"

    def read(content: str | bytes) -> tuple[dict[str, Any], list[Problem]]:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            return read_mapping(path, "mine.yaml")[0], []
        except InputError as error:
            return {}, error.problems

    return read


QUOTE = "put it in quotes if it is text"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("!!bool abc", "the value is not true or false"),
        ("2026-02-30", "the value is not a date that exists"),
        ("!!int 08", "the value is not a whole number"),
        ("!!float '.'", "the value is not a number"),
        ("9" * 5000, "the value has 5000 characters, and no number or date has more than 100"),
        ("1:" + "1:" * 50_000 + "1", "the value has 100003 characters, and no number or date has more than 100"),
        ("9223372036854775808", "the value is a whole number of more than 64 bits"),
    ],
)
def test_values_that_are_not_what_they_look_like(value: str, reason: str, read: Read) -> None:
    (problem,) = read(f"first: 1\nsecond: {{third: [0, {value}]}}\n")[1]
    assert (problem.source, problem.line, problem.path, problem.reason) == ("mine.yaml", 2, "second.third[1]", reason)
    assert (problem.value, problem.fix) == (value.split(" ")[-1].strip("'"), QUOTE)


@pytest.mark.parametrize(
    ("text", "line", "path", "value", "reason", "fix"),
    [
        ("a: <<", 1, "a", "<<", "the value is a sign of YAML's own", 'put it in quotes: "<<"'),
        (
            "a: 1\nb: {<<: 5}",
            2,
            "b.<<",
            "5",
            "the key `<<` merges what is not a mapping",
            "name a mapping, such as *defaults, or a list of mappings",
        ),
        (
            "a: {2026-02-30: x}",
            1,
            "a.2026-02-30",
            "2026-02-30",
            "the key is not text",
            'put it in quotes: "2026-02-30"',
        ),
        ("a: {!mine b: x}", 1, "a.b", "b", "the key is not text", 'put it in quotes: "b"'),
        (
            "a: 1\nb: [*py]",
            2,
            "",
            None,
            "the line uses an alias (*) without an anchor before it, or an anchor (&) that stands twice",
            QUOTE,
        ),
    ],
)
def test_signs(text: str, line: int, path: str, value: object, reason: str, fix: str, read: Read) -> None:
    """tests/spec/bad has other signs: list-as-key, control-character, alias-of-itself."""
    (problem,) = read(text)[1]
    assert (problem.line, problem.path, problem.value, problem.reason) == (line, path, value, reason)
    assert problem.fix == fix


def test_every_value_is_told_at_once(read: Read) -> None:
    text = "a: !!bool abc\nb: [2026-02-30, {c: !mine x}]\nd: 1\nd: 2\n1: x\n"
    assert [(problem.line, problem.path) for problem in read(text)[1]] == [
        (1, "a"), (2, "b[0]"), (2, "b[1].c"), (4, "d"), (5, "1"),
    ]  # fmt: skip


def test_a_secret_stays_one(read: Read) -> None:
    (problem,) = read("env: {HF_TOKEN: !!int hf_abc}")[1]
    assert "hf_abc" not in str(problem)
    assert "hf_abc" not in str(problem.as_dict())


@pytest.mark.parametrize(
    "text",
    [
        "env: {HF_TOKEN: *s3cr3t}",
        "env: {HF_TOKEN: !s3cr3t x}",
        "env: {HF_TOKEN: &s3cr3t , WANDB_API_KEY: &s3cr3t }",
        "env: [{name: HF_TOKEN, value: *s3cr3t}]",
        "env: [{name: HF_TOKEN, value: !foo s3cr3t}]",
        "env: [{value: !!int s3cr3t, name: HF_TOKEN}]",
    ],
)
def test_a_password_may_begin_with_a_sign_of_yaml_or_stand_beside_its_name(text: str, read: Read) -> None:
    (problem,) = read(text)[1]
    assert "s3cr3t" not in str(problem)
    assert "s3cr3t" not in str(problem.as_dict())


@pytest.mark.parametrize("key", ["on", "On", "off", "yes", "NO"])
def test_a_key_is_never_a_truth_value_of_old_yaml(key: str, read: Read) -> None:
    """`on: first-pod` is what a step of `prepare` says."""
    assert read(f"a: {{{key}: x}}") == ({"a": {key: "x"}}, [])
    (problem,) = read(f"a: {{{key}: x, true: y}}")[1]
    assert (problem.path, problem.reason) == ("a.true", "the key is not text")


def test_text_that_is_not_yaml_is_told_with_the_line_where_it_began(read: Read) -> None:
    _, (problem,) = read('name: x\nenv:\n  A: "abc\n  B: x\n  C: y\n')
    assert problem.line > 3
    assert problem.reason.endswith("; what is read there began in line 3")
