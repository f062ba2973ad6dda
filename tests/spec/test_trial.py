"""Values that are tried and stand in no file: how they are read, where they may be, and what a wrong one is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, experiment
from trainform.errors import InputError
from trainform.job.check import check_experiment
from trainform.job.render import render_job
from trainform.spec.trial import read_assignments

PARTS: dict[str, Any] = {
    "prepare": [{"name": "code", "command": ["git", "pull"]}],
    "environments": {"dev": {"roles": {"worker": {"replicas": 3}}}, "prod": {"roles": {"worker": {"replicas": 9}}}},
}


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("roles.worker.replicas=2", ("roles", "worker", "replicas"), 2),
        ("queue=research", ("queue",), "research"),
        ("env.NCCL_DEBUG=a=b", ("env", "NCCL_DEBUG"), "a=b"),
        ('env.A="1"', ("env", "A"), "1"),
        (
            "roles.worker.accelerators={a800: null, l40s: 4}",
            ("roles", "worker", "accelerators"),
            {"a800": None, "l40s": 4},
        ),
        ("launcher.command=[python, train.py]", ("launcher", "command"), ["python", "train.py"]),
        ("shared_memory=null", ("shared_memory",), None),
        ('labels."example.com/team"=vision', ("labels", "example.com/team"), "vision"),
        ("labels.'a=b'=c", ("labels", "a=b"), "c"),
    ],
)
def test_a_value_is_yaml_on_one_line(text: str, keys: tuple[str, ...], value: object) -> None:
    (assignment,) = read_assignments([text])
    assert (assignment.keys, assignment.value) == (keys, value)


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("image", "--set", "the text is not PATH=VALUE"),
        ("=2", "--set", "the text is not PATH=VALUE"),
        ("a." * 10_000 + "b=2", "--set", "the text is not PATH=VALUE"),
        ("roles..replicas=2", "--set", "the text is not PATH=VALUE"),
        ("queue=", "--set queue", "the value is empty"),
        ("queue={a", "--set queue", "the value is not YAML that can be read"),
        ("queue=a\nimage: b", "--set queue", "the value is not one value"),
        ("queue=a: b", "--set queue", "the value is not YAML that can be read"),
        ("prepare[0].image=a", "--set", "the text is not PATH=VALUE"),
    ],
)
def test_a_wrong_text_is_refused_with_a_reason(text: str, path: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        read_assignments([text])
    (problem,) = refused.value.problems
    assert problem.path == path
    assert problem.reason.startswith(reason)
    assert problem.fix


def problems(*texts: str) -> dict[str, tuple[str, str]]:
    found = check_experiment(experiment(**PARTS), environment(), tried=read_assignments(texts)).problems
    return {problem.path: (problem.reason, problem.fix) for problem in found}


@pytest.mark.parametrize(
    ("text", "path", "reason", "fix"),
    [
        ("roles.workr.replicas=2", "--set roles.workr.replicas", "`roles` has no `workr`", "did you mean worker?"),
        ("rolls.worker.replicas=2", "--set rolls.worker.replicas", "there is no `rolls`", "did you mean roles?"),
        ("roles.worker.replica=2", "--set roles.worker.replica", "the key is not known here", "did you mean replicas?"),
        (
            "roles.worker.replicas=two",
            "--set roles.worker.replicas",
            "the value must be a whole number",
            "write a whole number",
        ),
        ("queue=nowhere", "--set queue", "the environment has no queue of this name", "known: default, night"),
        (
            "name=other",
            "--set name",
            "the name is that of the objects and of their record, and the same in all environments",
            "remove it; `trainform new NAME --from EXPERIMENT`",
        ),
        (
            "environments.dev.queue=night",
            "--set environments.dev.queue",
            "the patch is for one environment, and sets nothing for others",
            "set the value itself",
        ),
        ("prepare.cod.image=a", "--set prepare.cod.image", "`prepare` has no `cod`", "did you mean code?"),
        (
            "tolerations.gpu.key=a",
            "--set tolerations.gpu.key",
            "`tolerations` has no `gpu`",
            "set it as a whole: tolerations=VALUE",
        ),
    ],
)
def test_a_wrong_place_or_value_is_told_with_the_path_and_a_fix(text: str, path: str, reason: str, fix: str) -> None:
    found = problems(text)
    assert path in found, found
    assert found[path][0] == reason
    assert found[path][1].startswith(fix)


def test_a_value_is_tried_on_top_of_the_overlay_of_the_environment() -> None:
    made = experiment(**PARTS)
    for where, pods in (("dev", 3), ("prod", 9)):
        cluster = environment(name=where)
        assert render_job(made, cluster).plan.totals.pods == pods
        tried = check_experiment(made, cluster, tried=read_assignments(["roles.worker.replicas=5"])).or_raise()
        assert tried.plan.totals.pods == 5
    tried = check_experiment(
        made, environment(), tried=read_assignments(["prepare.code.image=ubuntu", "network.host=true", "env.A=b"])
    ).or_raise()
    assert tried.experiment.prepare[0].image == "ubuntu"
    assert (tried.experiment.network.host, tried.experiment.env) == (True, {"A": "b"})
