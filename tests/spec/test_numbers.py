"""Numbers that YAML 1.1 and YAML 1.2 read differently are refused, with the plain number as the fix."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.samples import JOB
from trainform.errors import InputError, Problem
from trainform.spec import Experiment
from trainform.spec.load import Text, load, parse
from trainform.spec.overlay import in_environment
from trainform.spec.read import parse_mapping
from trainform.spec.trial import read_assignments


def problems(text: str) -> list[Problem]:
    content = parse_mapping(text, "")
    return parse(Experiment, {**JOB, **content.data}, content.source.written).problems


def roles(replicas: str) -> str:
    return f"roles: {{worker: {{replicas: {replicas}}}}}"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("010", "write 8, or 10 if that is meant"),
        ("0010", "write 8, or 10 if that is meant"),
        ("1:30", "write 90"),
        ("1_0", "write 10"),
        ("0b11", "write 3"),
        ("0x_8", "write 8"),
    ],
)
def test_the_plain_number_is_the_fix(text: str, fix: str) -> None:
    (problem,) = problems(roles(text))
    assert (problem.path, problem.value, problem.fix) == ("roles.worker.replicas", text, fix)
    assert f"the number {text} is {yaml.safe_load(text)} in YAML 1.1" in problem.reason
    for word in fix.replace(",", "").split():
        assert not word.isdigit() or problems(roles(word)) == []


def test_a_text_is_told_to_be_one() -> None:
    (problem,) = problems("env: {A: 010}")
    assert problem.fix == 'put it in quotes: "010"'
    assert problems('env: {A: "010"}') == []


def test_a_secret_is_not_shown() -> None:
    env = "{containers: {main: {env: {HF_TOKEN: {value: 0123}}}}}"
    (problem,) = problems(f"roles: {{worker: {{pod_overrides: {{spec: {env}}}}}}}")
    assert not {"0123", "83", "123"} & {*str(problem).split()}


def test_in_what_differs_in_an_environment() -> None:
    text = yaml.safe_dump(JOB) + "environments: {dev: {env: {A: 010}, max_retry: 010}}\n"
    found = in_environment(load(Experiment, Text("mine.yaml", text)), "dev").problems
    assert {(problem.path, problem.fix) for problem in found} == {
        ("environments.dev.env.A", 'put it in quotes: "010"'),
        ("environments.dev.max_retry", "write 8, or 10 if that is meant"),
    }


@pytest.mark.parametrize("words", ["env.A=010", "max_retry=010"])
def test_a_value_that_is_tried(words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_assignments([words])
    (problem,) = caught.value.problems
    assert problem.fix == "write 8, or 10 if that is meant; put it in quotes if it is text"
    tried: Any = read_assignments([words.replace("010", '"010"')])[0].value
    assert tried == "010"
