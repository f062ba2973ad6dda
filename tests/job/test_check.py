"""The check of two files reports all problems, but not the consequences of a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainform.errors import InputError
from trainform.job.check import CheckedJob, check_environment, check_experiment

EXPERIMENT = """\
name: resnet
image: registry.example.com/ai/pytorch:2.8
launcher: {command: [python, /app/train.py]}
roles:
  worker: {replicas: 2, accelerators: {a800: 8}}
storage:
  runs: {size: 1Ti, class: fast, mount: /mnt/runs, roles: [worker]}
queue: night
"""
ENVIRONMENT = """\
name: lab
namespace: {name: team-vision}
queues: {night: {weight: 2}}
accelerators:
  a800: {resource: baidu.com/a800_80g_cgpu, per_node: 8, nodes: 2}
storage_classes: {fast: cephfs-ssd}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder, name, text in (("experiments", "resnet", EXPERIMENT), ("environments", "lab", ENVIRONMENT)):
        path = tmp_path / "stacks" / folder / f"{name}.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def change(root: Path, file: str, before: str, after: str) -> None:
    path = root / "stacks" / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def told(root: Path) -> list[str]:
    """Place and path of each problem."""
    problems = check_experiment("resnet", "lab", root=root).problems
    return sorted(f"{Path(problem.source).stem}:{problem.line} {problem.path}" for problem in problems)


def test_valid_files_have_no_problems(root: Path) -> None:
    examined = check_experiment("resnet", "lab", run=2, root=root)
    assert (examined.name, examined.problems) == ("resnet", ())
    assert examined.or_raise().plan.run == 2


def test_problems_of_both_files_are_found(root: Path) -> None:
    change(root, "experiments/resnet.yaml", "replicas: 2", "replicas: 20, cpu: many")
    change(root, "environments/lab.yaml", "weight: 2", "weight: 0")
    change(root, "environments/lab.yaml", "cephfs-ssd", "Ceph_SSD")
    assert told(root) == [
        "lab:3 queues.night.weight",
        "lab:6 storage_classes.fast",
        "resnet:4 roles",
        "resnet:5 roles.worker.cpu",
    ]


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        # a kind, a queue, a class, a role that is there but wrong is not unknown
        ("environments/lab.yaml", "resource: baidu.com/a800_80g_cgpu, ", "", ["lab:5 accelerators.a800.resource"]),
        ("environments/lab.yaml", "{night: {weight: 2}}", "[night]", ["lab:3 queues"]),
        ("environments/lab.yaml", "{night: {weight: 2}}", "{night: 2}", ["lab:3 queues.night"]),
        ("environments/lab.yaml", "cephfs-ssd", "7", ["lab:6 storage_classes.fast"]),
        ("experiments/resnet.yaml", "worker: {replicas", "worker: {name: x, replicas", ["resnet:5 roles.worker.name"]),
        ("environments/lab.yaml", "name: lab", "name: Lab", ["lab:1 name"]),
        ("environments/lab.yaml", "nodes: 2", "nodes: 1", ["resnet:4 roles"]),
    ],
)
def test_consequences_of_a_problem_are_not_reported(
    root: Path, file: str, before: str, after: str, expected: list[str]
) -> None:
    change(root, file, before, after)
    assert told(root) == expected


def test_an_environment_that_cannot_be_read_leaves_the_experiment(root: Path) -> None:
    change(root, "environments/lab.yaml", "name: lab", "name: [lab")
    change(root, "experiments/resnet.yaml", "replicas: 2", "replicas: -2")
    found = told(root)
    assert len(found) == 2
    assert found[1] == "resnet:5 roles.worker.replicas"


def test_an_environment_by_itself(root: Path) -> None:
    assert check_environment("lab", root).or_raise().name == "lab"
    change(root, "environments/lab.yaml", "weight: 2", "parent: nihgt")
    with pytest.raises(InputError, match=r"(?s)queues.night.parent = nihgt.*did you mean night\?"):
        check_environment("lab", root).or_raise()


def test_invalid_files_have_no_plan_and_raise(root: Path) -> None:
    change(root, "experiments/resnet.yaml", "queue: night", "queue: nowhere")
    with pytest.raises(InputError, match="1 problem"):
        check_experiment("resnet", "lab", root=root).or_raise()
    with pytest.raises(InputError, match="0 problems"):
        CheckedJob("resnet", ()).or_raise()


@pytest.mark.parametrize("run", [0, -3, 10**9, True, 1.5, "2"])
def test_a_run_from_python_is_one_that_a_record_can_hold(root: Path, run: Any) -> None:
    checked = check_experiment("resnet", "lab", run, root)
    (problem,) = checked.problems
    assert (problem.path, problem.reason) == ("run", "the value is not a whole number from 1 to 999999999")
    with pytest.raises(InputError):
        checked.or_raise()
    assert not check_experiment("resnet", "lab", 999_999_999, root).problems
