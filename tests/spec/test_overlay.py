"""What an experiment says of one environment: merged, checked as strictly as the rest, and named by its place in the
file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

from tests.cli.running import run
from tests.rules.limits.cases import TOKEN
from tests.support.samples import environment
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob, job_manifests, render_job
from trainform.manifests.manifest import Manifest
from trainform.plan.inputs import job_inputs
from trainform.plan.model import Plan
from trainform.plan.record import Record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch
from trainform.spec.load import Text

PROD = environment(name="prod", queues={"research": {"weight": 1}})
FILE = """\
name: resnet
image: registry.example.com/ai/pytorch-training:2.8
launcher: {command: [python, /app/train.py]}
roles:
  node: {replicas: 2, accelerators: {a800: 8}}
prepare:
- {name: code, command: [git, pull]}
- {name: data, command: [rsync]}
env: {NCCL_DEBUG: INFO}
environments:
  prod:
    roles:
      node: {replicas: 4, accelerators: {a800: null, l40s: 4}}
      watch: {ranked: false, command: [watch]}
    queue: research
    env: {NCCL_DEBUG: null}
    prepare: {data: {command: [s3, sync]}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the environments dev and prod."""
    (tmp_path / "Pulumi.yaml").write_text("name: trainform\nruntime: python\n")
    for folder in ("experiments", "environments"):
        (tmp_path / "stacks" / folder).mkdir(parents=True)
    for model in (environment(), PROD):
        path = tmp_path / "stacks" / "environments" / f"{model.name}.yaml"
        path.write_text(yaml.safe_dump(model.model_dump(mode="json", exclude_unset=True)))
    return tmp_path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("overlays")


def problems(text: str, where: Environment, root: Path) -> dict[str, tuple[int, str]]:
    """Line and reason of each problem, by path."""
    found = check_experiment(Text("resnet.yaml", text), where, root=root).problems
    return {problem.path: (problem.line, problem.reason) for problem in found}


def rendered(text: str, where: Environment, root: Path) -> RenderedJob:
    return check_experiment(Text("resnet.yaml", text), where, root=root).or_raise()


def without_base(job: RenderedJob) -> tuple[Plan, list[Manifest]]:
    """The plan and the objects, without what the record alone has of the overlays."""
    assert job.plan.record is not None
    plan = structs.replace(job.plan, record=structs.replace(job.plan.record, base=None))
    return plan, job_manifests(plan)


def test_an_environment_gets_its_own_values_and_another_one_none_of_them(project: Path) -> None:
    prod, dev = rendered(FILE, PROD, project), rendered(FILE, environment(), project)
    assert {role.name: role.replicas for role in prod.plan.roles} == {"node": 4, "watch": 1}
    assert prod.plan.roles[0].accelerators == ("l40s", 4)
    assert prod.plan.queue.name == "research"
    assert [step.command for step in prod.plan.roles[0].init] == [["git", "pull"], ["s3", "sync"]]
    assert "NCCL_DEBUG" not in prod.experiment.env
    without = yaml.safe_load(FILE)
    del without["environments"]
    plain = render_job(Experiment.model_validate(without), environment())
    assert without_base(dev) == without_base(plain)


def test_revision_record_and_inputs_hold_the_merged_values(project: Path) -> None:
    data = yaml.safe_load(FILE)
    whole = merge_patch(
        {key: value for key, value in data.items() if key != "environments"}, data["environments"]["prod"]
    )
    prod, plain = rendered(FILE, PROD, project), render_job(Experiment.model_validate(whole), PROD)
    assert without_base(prod) == without_base(plain)
    assert isinstance(prod.plan.record, Record)
    assert "environments" not in prod.plan.record.experiment
    assert "environments" not in job_inputs(prod.experiment, PROD, prod.plan).job


@pytest.mark.parametrize(
    ("written", "instead", "path", "line", "reason"),
    [
        (
            "replicas: 4",
            'replicas: "4"',
            "environments.prod.roles.node.replicas",
            13,
            "the value must be a whole number",
        ),
        ("replicas: 4", "replica: 4", "environments.prod.roles.node.replica", 13, "the key is not known here"),
        ("[s3, sync]", "s3 sync", "environments.prod.prepare.data.command", 17, "the value must be a list"),
        ("command: [watch]}", "cpu: 1}", "environments.prod.roles.watch.command", 14, "the command is missing"),
        ("queue: research", "queue: night", "environments.prod.queue", 15, "the environment has no queue of this name"),
        ("queue: research", "name: other", "environments.prod.name", 15, "the name is that of the objects"),
        (
            "{a800: null, l40s: 4}",
            "{a800: null, l40: 4}",
            "environments.prod.roles.node.accelerators.l40",
            13,
            "the environment",
        ),
        ("  prod:", "  prd:", "environments.prd", 11, "no file of stacks/environments/ has the name"),
    ],
)
def test_a_problem_names_the_place_in_the_overlay(
    written: str, instead: str, path: str, line: int, reason: str, project: Path
) -> None:
    found = problems(FILE.replace(written, instead, 1), PROD, project)
    assert path in found, found
    assert found[path][0] == line
    assert found[path][1].startswith(reason)


def test_overlays_of_other_environments_are_checked_as_far_as_they_can_be(project: Path) -> None:
    wrong = FILE.replace("replicas: 4", "replicas: -4").replace("queue: research", "queue: nowhere")
    assert problems(wrong, environment(), project) == {
        "environments.prod.roles.node.replicas": (13, "the value is below 0")
    }


def test_a_problem_of_the_file_is_told_once_and_at_its_own_place(project: Path) -> None:
    wrong = FILE.replace("replicas: 2", "replicas: many").replace("replicas: 4, ", "")
    assert list(problems(wrong, PROD, project)) == ["roles.node.replicas"]
    assert list(problems(wrong, environment(), project)) == ["roles.node.replicas"]


def test_what_an_overlay_makes_wrong_elsewhere_is_told_there_with_its_cause(project: Path) -> None:
    broken = FILE.replace("queue: research", "runtime: {name: torch}").replace("env: {NCCL_DEBUG: INFO}\n", "ssh: {}\n")
    for where in (PROD, environment()):
        line, reason = problems(broken, where, project)["ssh"]
        assert (line, reason) == (
            9,
            "with environments.prod, `ssh` and `runtime` exclude each other: a runtime has its own SSH or none",
        )


def test_a_secret_in_an_overlay_is_not_shown(project: Path) -> None:
    text = FILE.replace("queue: research", "env: {DB_PASSWORD: 12345678}").replace("    env: {NCCL_DEBUG: null}\n", "")
    found = check_experiment(Text("resnet.yaml", text), PROD, root=project).problems
    assert "environments.prod.env.DB_PASSWORD" in {problem.path for problem in found}
    assert not any("12345678" in str(problem) for problem in found)


@pytest.mark.parametrize(
    ("base", "overlays", "places"),
    [
        ({"HF_TOKEN": TOKEN}, {"dev": {"env": {"HF_TOKEN": None}}}, ["env.HF_TOKEN"]),
        ({"HF_TOKEN": TOKEN}, {"dev": {"env": {"HF_TOKEN": {"secret": {"name": "a", "key": "b"}}}}}, ["env.HF_TOKEN"]),
        ({}, {"prod": {"env": {"HF_TOKEN": TOKEN}}}, ["environments.prod.env.HF_TOKEN"]),
        (
            {"HF_TOKEN": TOKEN},
            {"prod": {"env": {"HF_TOKEN": TOKEN}}},
            ["env.HF_TOKEN", "environments.prod.env.HF_TOKEN"],
        ),
        (
            {},
            {"prod": {"launcher": {"command": ["a", "--hf-token", TOKEN]}}},
            ["environments.prod.launcher.command[2]"],
        ),
        ({}, {"prod": {"env": {"DB_PASSWORD": "hunter2Zq9"}}}, ["environments.prod.env.DB_PASSWORD"]),
    ],
)
def test_a_secret_that_only_the_record_would_hold_is_refused_in_every_environment(
    base: dict[str, str], overlays: dict[str, Any], places: list[str], project: Path, folder: Path
) -> None:
    data = yaml.safe_load(FILE) | {"env": {"NCCL_DEBUG": "INFO", **base}, "environments": overlays}
    text = yaml.safe_dump(data, sort_keys=False)
    lines = {
        problem.path: problem.line for problem in check_experiment(Text("a.yaml", text), PROD, root=project).problems
    }
    for where in (PROD, environment()):
        found = check_experiment(Text("resnet.yaml", text), where, root=project).problems
        assert [(problem.path, problem.code) for problem in found] == [(place, "TF-SEC-1") for place in places]
        assert all(text.splitlines()[problem.line - 1].strip() for problem in found)
        assert {problem.path: problem.line for problem in found} == lines
    path = folder / "resnet.yaml"
    path.write_text(text)
    for command in COMMANDS:
        code, out, err = run(*command, str(path), "-e", "dev", *(["-e", "prod"] if command[0] == "check" else []))
        shown = out + err
        assert (code, "TF-SEC-1" in shown) == (2, True)
        assert not any(text in shown for text in (TOKEN, "hunter2", "in dev"))


COMMANDS = [["check"], ["check", "--output", "json"], ["plan", "--output", "json"], ["plan"], ["render"]]
