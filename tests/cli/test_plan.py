"""`trainform plan` on a terminal of 80 columns: everything is there, and names can be copied."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.support.repository import ROOT, names, read
from trainform.console.lines import display_width
from trainform.console.terminal import in_columns
from trainform.job.check import check_experiment
from trainform.job.render import job_manifests
from trainform.plan.model import Plan

COLUMNS = 80
LONG: dict[str, Any] = {
    "name": "a-rather-long-name-of-an-example",
    "image": "registry.example.com/a-team-with-a-long-name/an-image-with-a-longer-name@sha256:" + "0" * 64,
    "launcher": {"torchrun": {"script": "/app/a/folder/deep/below/another/one/that/has/a/long/name/train.py",
            "args": ["--an-option-with-a-very-long-name=and-a-value-that-is-even-longer-than-that"]}},
    "roles": {
        "the-worker": {
            "replicas": 3,
            "accelerators": {"a800": 8},
            "init": [{"name": "wait-for-the-database",
                    "command": ["sh", "-c", "until nc -z database 5432; do sleep 1; done"]}],
            "env": {"A_VARIABLE_WITH_A_NAME_OF_FORTY_CHARACTERS": "x" * 90},
        }
    },
    "prepare": [
        {"name": "code", "git": {"repository": "https://git.example.com/a-group/a-project-with-a-long-name.git",
                "commit": "0123456789abcdef" * 2 + "01234567", "path": "/workspace/code"}},
        {"name": "tokens", "command": ["python", "-m", "tokenize_everything"],
            "image": "registry.example.com/ai/tokens:1"},
    ],
    "storage": {"checkpoints-of-this-very-job": {"size": "1Ti", "class": "fast", "mount": "/mnt/checkpoints",
            "keep": True}},
    "shared_memory": "16Gi",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


@pytest.fixture
def long(tmp_path: Path) -> str:
    path = tmp_path / "long.yaml"
    path.write_text(yaml.safe_dump(LONG, sort_keys=False))
    return str(path)


def shown(experiment: str) -> str:
    code, out, err = run("plan", experiment, "-e", "dev")
    assert (code, err) == (0, "")
    return out


def test_an_operator_with_a_gang_for_each_role() -> None:
    code, out, _ = run("plan", "sdxl-lora", "-e", "dev", "--set", "backend=kubedl")
    assert (code, "each role starts when all its pods fit" in " ".join(out.split())) == (0, True)
    assert "the job starts when all pods fit" in " ".join(shown("sdxl-lora").split())


def test_a_job_without_admission(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump({**read("environments", "dev"), "admission": "none", "queues": {}}))
    code, out, _ = run("plan", "sdxl-lora", "-e", str(path), "--set", "backend=jobset")
    assert (code, "each pod starts when it fits, whether the others fit or not" in " ".join(out.split())) == (0, True)


def words(text: str) -> set[str]:
    """What a double click takes."""
    return {word for found in re.split(r"\s+", text) for word in (found, found.rstrip(",:"), *found.split("=", 1))}


def named(plan: Plan) -> set[str]:
    """Names that a person would copy."""
    pods = [list(plan.pods_of(role)) for role in plan.roles if role.replicas]
    found = {plan.experiment, plan.environment, f"{plan.namespace}/{plan.job}", plan.queue.name}
    found |= {pod.name for of_role in pods for pod in (of_role[0], of_role[-1])}
    found |= {manifest.body["metadata"]["name"] for manifest in job_manifests(plan)}
    found |= {name for role in plan.roles for mount in role.mounts for name in (mount.source, mount.path)}
    found |= {variable.name for role in plan.roles for variable in role.env}
    found |= {step.name for role in plan.roles for step in role.init}
    return found


def check_layout(text: str, plan: Plan) -> None:
    for line in text.splitlines():
        assert len(line) <= COLUMNS or len(line.split()) <= 2, f"too long, and not for one name alone: {line}"
    assert "…" not in text
    assert named(plan) - words(text) == set()


def columns(lines: list[str]) -> list[int]:
    """The columns at which the cells of a table's lines begin: after two spaces, or at the line's beginning."""
    return [display_width(line[: found.end()]) for line in lines for found in re.finditer(r"(?:^| ) +(?=\S)", line)]


def test_tables_are_aligned_with_any_name() -> None:
    """A cell that is too wide has its own line; the others stay in their columns."""
    short, wide = ("a", "b", "in place"), ("claim-数据", "ConfigMap 数据", "new revision")
    long = ("k" * 30, "PersistentVolumeClaim " + "n" * 40, "grows; kept")
    lines = [*in_columns([short, wide, long], COLUMNS)]
    assert {*columns(lines)} == {2, 34, 50}
    assert [display_width(line) for line in lines if display_width(line) > COLUMNS] == []
    assert [word for line in lines[2:] for word in line.split()] == " ".join(long).split()
    (alone,) = in_columns([("x" * 100,)], COLUMNS)
    assert alone == f"  {'x' * 100}"


@pytest.mark.parametrize("name", names("experiments"))
def test_the_plan_of_every_experiment_fits_the_terminal(name: str) -> None:
    plan = check_experiment(name, "dev").or_raise().plan
    text = shown(name)
    check_layout(text, plan)
    flat = " ".join(text.split())
    assert all(" ".join(note.split()) in flat for note in plan.notes)


def test_a_step_of_one_role(tmp_path: Path) -> None:
    """Each role shows its own steps."""
    data = copy.deepcopy(read("experiments", "extras"))
    data["prepare"] = [{"name": "data", "command": ["fetch", "it"], "roles": ["master"]}]
    path = tmp_path / "extras.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    before = {
        part.split()[1].rstrip(":"): "prepare data: fetch it" in part
        for part in shown(str(path)).split("\n\n")
        if part.startswith("Role ")
    }
    assert before == {"master": True, "worker": False, "extra": False}


def test_the_first_line_names_the_job() -> None:
    plan = check_experiment("extras", "dev").or_raise().plan
    first = f"extras in dev: volcano job ai-namespace/{plan.job} (revision {plan.revision})"
    assert shown("extras").splitlines()[0] == first


def test_sections_of_a_plan() -> None:
    plan = check_experiment("extras", "dev").or_raise().plan
    text = shown("extras")
    assert "Role master: 1 pod, rank 0\n" in text
    assert "Role worker: 3 pods, ranks 1-3\n" in text
    assert "Role extra: 4 pods, no rank\n" in text
    variables = text.split("Variables of master, worker\n")[1].split("\n\n")[0]
    rows = [" ".join(line.split()) for line in variables.splitlines()]
    assert {"WORLD_SIZE=4 (nodes) launcher.command", "NUM_PROCESSES=4 (processes) launcher.command"} <= {*rows}
    assert f"  image     {plan.roles[0].image}\n" in text
    assert f"meeting at {plan.rendezvous.address}" in " ".join(text.split())
    assert "Ends        with the role master\n" in text


def test_a_note_says_that_nothing_ends_the_job(tmp_path: Path) -> None:
    endless = yaml.safe_load((ROOT / "stacks" / "experiments" / "allreduce.yaml").read_text())
    file = tmp_path / "allreduce.yaml"
    file.write_text(yaml.safe_dump({**endless, "policies": []}, sort_keys=False))
    text = shown(str(file))
    note = "Note nothing ends this job when the role launcher completes: the pods of worker, with 16 a800, run"
    assert note in " ".join(text.split())
    assert not [line for line in text.splitlines() if line.startswith("Ends ")]


def test_invisible_characters_in_values_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    file.write_text(yaml.safe_dump({**read("experiments", "hello"), "env": {"NOTE": "a\x1b[31m\nb"}}, sort_keys=False))
    assert r"NOTE=a\x1b[31m\nb" in shown(str(file))


def test_a_limit_that_is_not_the_request_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    roles = {"worker": {"replicas": 2, "cpu": {"request": 1, "limit": 4}, "memory": {"request": "1Gi"}}}
    file.write_text(yaml.safe_dump({**read("experiments", "hello"), "roles": roles}, sort_keys=False))
    assert "each pod  cpu 1 (limit 4), memory 1Gi (limit none)" in shown(str(file))


def test_times_folder_and_nodes_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "hello.yaml"
    nodes = {"require": {"topology.kubernetes.io/zone": ["a", "b"]}, "prefer": {"disk": ["ssd"]}}
    worker = {"working_dir": "/app", "grace_period": "90s", "node_affinity": nodes}
    data = {**read("experiments", "hello"), "roles": {"worker": worker}, "max_run_time": "12h"}
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    lines = {tuple(line.split(maxsplit=1)) for line in shown(str(file)).splitlines()}
    assert {("folder", "/app"), ("to", "end    90 s after SIGTERM"), ("Time", "at most 43200 s")} <= lines
    assert {("nodes", "require topology.kubernetes.io/zone: a, b"), ("prefer", "disk: ssd")} <= lines


OVERLAID = """\
name: resnet
image: registry.example.com/ai/pytorch-training:2.8
launcher: {command: [python, /app/train.py]}
roles: {node: {replicas: 2, cpu: 8}}
shared_memory: 64Gi
environments:
  dev:
    roles: {node: {replicas: 4}}
    env: {NCCL_DEBUG: WARN, API_TOKEN: "$(HOSTNAME)"}
    shared_memory: null
"""


def test_values_of_an_overlay_are_shown_with_their_origin(tmp_path: Path) -> None:
    path = tmp_path / "resnet.yaml"
    path.write_text(OVERLAID)
    lines = shown(str(path)).splitlines()
    start = lines.index("For dev alone")
    assert [re.sub(" {2,}", "  ", line) for line in lines[start + 1 : start + 5]] == [
        "  roles.node.replicas=4  in place of 2  environments.dev, line 8",
        "  env.NCCL_DEBUG=WARN  new  environments.dev, line 9",
        "  env.API_TOKEN=[secret]  new  environments.dev, line 9",
        "  shared_memory=null  in place of 64Gi  environments.dev, line 10",
    ]
    _, out, _ = run("plan", str(path), "-e", "dev", "--output", "json")
    first = json.loads(out)["overlaid"][0]
    assert first == {
        "path": "roles.node.replicas",
        "value": "4",
        "before": "2",
        "place": "environments.dev.roles.node.replicas",
        "source": str(path),
        "line": 8,
    }


def variables(text: str) -> dict[str, list[str]]:
    """The lines below each `Variables of`, without the columns."""
    parts = text.split("\nVariables of ")[1:]
    return {
        part.splitlines()[0]: [" ".join(line.split()) for line in part.split("\n\n")[0].splitlines()[1:]]
        for part in parts
    }


def test_a_variable_has_one_origin_and_stands_once(tmp_path: Path) -> None:
    roles = {
        "master": {"accelerators": {"a800": 8}, "env": {"NCCL_DEBUG": "INFO"}},
        "worker": {"replicas": 3, "accelerators": {"a800": 8}, "env": {"RANK": "7"}},
    }
    path = tmp_path / "own.yaml"
    path.write_text(
        yaml.safe_dump(
            {**LONG, "prepare": [], "roles": roles, "env": {"NCCL_DEBUG": "WARN", "A": "1"}}, sort_keys=False
        )
    )
    found = variables(shown(str(path)))
    assert found["master"][-2:] == ["NCCL_DEBUG=INFO roles.master.env", "RANK=(offset + index) launch script"]
    assert {"NCCL_DEBUG=WARN env", "RANK=7 roles.worker.env"} <= {*found["worker"]}
    assert "A=1 env" in found["all roles"]
    rows = [row for of_roles in found.values() for row in of_roles if row.startswith("RANK=")]
    assert len(rows) == 2
