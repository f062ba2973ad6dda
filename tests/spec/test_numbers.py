"""Numbers that YAML 1.1 and YAML 1.2 read differently are refused, with the plain number as the fix."""

from __future__ import annotations

import pytest
import yaml

from tests.support.samples import JOB
from trainform.errors import Problem
from trainform.spec import Experiment
from trainform.spec.load import parse
from trainform.spec.read import parse_mapping


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
