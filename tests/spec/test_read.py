"""Whatever stands in a file: plain data, or every problem of its form with line, value, reason and fix; never an
exception of YAML's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from trainform.cli.main import main
from trainform.errors import InputError, Problem
from trainform.spec import Experiment
from trainform.spec.load import load
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
FOREIGN = "the value has a tag (!), which is not plain data"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("!!bool abc", "the value is not true or false"),
        ("!!timestamp ''", "the value is not a date that exists"),
        ("2026-02-30", "the value is not a date that exists"),
        ("2026-01-31T25:00:00Z", "the value is not a date that exists"),
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
    "value",
    [
        "!!binary YQ==",
        "!!set {a, b}",
        "!!python/object/apply:os.system [id]",
        "!mine x",
        "!<x:y> x",
        "!!value x",
        "!!str [x]",
        "!!seq {x: 1}",
        "!!map x",
    ],
)
def test_tags(value: str, read: Read) -> None:
    (problem,) = read(f"first: 1\nsecond: {{third: {value}}}\n")[1]
    assert (problem.source, problem.line, problem.path, problem.reason) == ("mine.yaml", 2, "second.third", FOREIGN)
    assert problem.fix.startswith("remove the tag")


@pytest.mark.parametrize(
    ("text", "line", "path", "value", "reason", "fix"),
    [
        ("a: =", 1, "a", "=", "the value is a sign of YAML's own", 'put it in quotes: "="'),
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
            "x: &x {a: 1}\nb: {<<: [*x, [*x]]}",
            2,
            "b.<<",
            None,
            "the key `<<` merges what is not a mapping",
            "name a mapping, such as *defaults, or a list of mappings",
        ),
        (
            "a: 1\n? [b]\n: 1",
            2,
            "",
            None,
            "the mapping has a key that is a list or a mapping",
            "write one word as the key",
        ),
        (
            "a: 1\nb: {? {c: 1} : 1}",
            2,
            "b",
            None,
            "the mapping has a key that is a list or a mapping",
            "write one word as the key",
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
        (
            "a: &x 1\nb: &x 2",
            2,
            "",
            None,
            "the line uses an alias (*) without an anchor before it, or an anchor (&) that stands twice",
            QUOTE,
        ),
        (
            "a: 1\nb: x\x07y",
            2,
            "",
            "\x07",
            "the file has a character that YAML does not allow (U+0007)",
            'remove it, or write it in double quotes as "\\x07"',
        ),
        (
            "a: 1\nb: \0",
            2,
            "",
            "\0",
            "the file has a character that YAML does not allow (U+0000)",
            'remove it, or write it in double quotes as "\\x00"',
        ),
        (
            "a: 1\nb: \uffff",
            2,
            "",
            "\uffff",
            "the file has a character that YAML does not allow (U+FFFF)",
            'remove it, or write it in double quotes as "\\uffff"',
        ),
        (
            "a: &x {b: *x}",
            1,
            "a",
            None,
            "the file is nested deeper than 40 levels once its aliases are followed",
            "write the values out, without an alias of what it stands in",
        ),
    ],
)
def test_signs(text: str, line: int, path: str, value: object, reason: str, fix: str, read: Read) -> None:
    (problem,) = read(text)[1]
    assert (problem.line, problem.path, problem.value, problem.reason) == (line, path, value, reason)
    assert problem.fix == fix


def test_a_bomb_of_aliases_is_told_with_its_line(read: Read) -> None:
    text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    (problem,) = read(text)[1]
    assert (problem.line, problem.path) == (6, "a5")
    assert problem.reason == "the file holds more than 50000 values, with those that its aliases stand for"


def test_every_value_is_told_at_once(read: Read) -> None:
    text = "a: !!bool abc\nb: [2026-02-30, {c: !mine x}]\nd: 1\nd: 2\n1: x\n"
    assert [(problem.line, problem.path) for problem in read(text)[1]] == [
        (1, "a"), (2, "b[0]"), (2, "b[1].c"), (4, "d"), (5, "1"),
    ]  # fmt: skip


def test_what_cannot_be_read_does_not_hide_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: 2026-02-30\nimage: !mine x\nlauncher: {command: [!!int x]}\nqueeu: night\n"
        "roles: {worker: {replicas: !!int two, pod_overrides: {spec: !!set {a}}, cpu: many}}\n"
    )
    loaded = load(Experiment, str(path))
    assert [(problem.line, problem.path) for problem in sorted(loaded.problems, key=lambda problem: problem.line)] == [
        (1, "name"),
        (2, "image"),
        (3, "launcher.command[0]"),
        (4, "queeu"),
        (5, "roles.worker.replicas"),
        (5, "roles.worker.pod_overrides.spec"),
        (5, "roles.worker.cpu"),
    ]
    assert loaded.model is not None
    assert list(loaded.model.roles) == ["worker"]


def test_a_secret_stays_one(read: Read) -> None:
    (problem,) = read("env: {HF_TOKEN: !!int hf_abc}")[1]
    assert "hf_abc" not in str(problem)
    assert "hf_abc" not in str(problem.as_dict())


@pytest.mark.parametrize(
    "text",
    [
        "env: {HF_TOKEN: *s3cr3t}",
        "env: {HF_TOKEN: !s3cr3t x}",
        "env: {HF_TOKEN: !!s3cr3t}",
        "env: {HF_TOKEN: !s3cr3t [x]}",
        "env: {HF_TOKEN: &s3cr3t , WANDB_API_KEY: &s3cr3t }",
        "env: [{name: HF_TOKEN, value: *s3cr3t}]",
        "env: [{name: HF_TOKEN, value: !foo s3cr3t}]",
        "env: [{value: !!int s3cr3t, name: HF_TOKEN}]",
        "env: [{name: HF_TOKEN, value: !s3cr3t x}]",
        "env:\n- name: HF_TOKEN\n  value: *s3cr3t\n",
    ],
)
def test_a_password_may_begin_with_a_sign_of_yaml_or_stand_beside_its_name(text: str, read: Read) -> None:
    (problem,) = read(text)[1]
    assert "s3cr3t" not in str(problem)
    assert "s3cr3t" not in str(problem.as_dict())


KNOWN_TAGS = [str(tag).replace("tag:yaml.org,2002:", "!!") for tag in yaml.SafeLoader.yaml_constructors if tag]
tags = st.sampled_from(
    ["", "!", "!mine", "!<>", "!<x>", "!!", "!!python/object:a.b", "!!python/tuple", "!!value", "!!merge", *KNOWN_TAGS]
)
scalars = st.sampled_from(
    ["x", "''", "-", "_", "+", ".", "0", "08", "0x", "0b", "1:", "1:x", "1e999", ".nan", "-.inf", "~", "on", "abc",
        "<<", "=", "*a", "&b x",
     "2026-02-30", "2026-01-31T25:61:61", "22:30", "1_000", "9" * 400, "'\u202e'", '"\\0"', '"\\ud800"', "YQ=", "é",
     "null", "[]", "{}"]
) | st.text(max_size=8)  # fmt: skip
nodes = st.recursive(
    st.tuples(tags, scalars).map(" ".join),
    lambda below: (
        st.tuples(tags, st.lists(below, max_size=3)).map(lambda made: f"{made[0]} [{', '.join(made[1])}]")
        | st.tuples(tags, st.lists(st.tuples(below, below), max_size=3)).map(
            lambda made: f"{made[0]} {{{', '.join(f'{key}: {value}' for key, value in made[1])}}}"
        )
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("verb", ["check", "plan", "render", "rehearse"])
@pytest.mark.parametrize("wrong", ["!!bool abc", "!!timestamp abc", "2026-02-30", "!mine x", "0x" + "f" * 5000])
@pytest.mark.parametrize("file", ["experiment", "environment"])
def test_every_verb_tells_it(
    verb: str, wrong: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: {wrong}\n")
    words = [str(path), "-e", "dev"] if file == "experiment" else ["hello", "-e", str(path)]
    with pytest.raises(SystemExit) as end:
        main([verb, *words])
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{path}:1: name = " in captured.err


@pytest.mark.parametrize("wrong", ["!!bool abc", "2026-02-30"])
def test_the_environment_of_a_new_experiment(wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: {wrong}\n")
    with pytest.raises(SystemExit) as end:
        main(["new", "mine", "-e", str(path)])
    assert end.value.code == 2
    assert f"{path}:1: name = " in capsys.readouterr().err


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
