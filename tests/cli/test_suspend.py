"""`trainform suspend`, `resume` and `rerun`: one key of the stack's file, and what the next `pulumi up` does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.running import error_of, run
from tests.support.releases import project
from trainform.spec.stack import load_stack

STACK = "sdxl-lora.prod"
PATH = f"stacks/Pulumi.{STACK}.yaml"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def on(backend: str, root: Path, **parts: object) -> None:
    """The environment's operator, and other parts of its file."""
    path = root / "stacks/environments/prod.yaml"
    data = {**yaml.safe_load(path.read_text()), "backend": backend, **parts}
    path.write_text(yaml.safe_dump({key: value for key, value in data.items() if value is not None}))


def test_a_job_is_suspended_and_resumed(root: Path) -> None:
    on("jobset", root)
    before = (root / PATH).read_text()
    revision = json.loads(run("check", STACK, "--output", "json")[1])["experiments"][0]["revision"]
    assert run("suspend", STACK) == (
        0,
        f"{PATH}: trainform:suspend: true\n"
        "next: `pulumi up` ends the job's pods; what is not in a checkpoint is lost\n"
        f"  pulumi up -s {STACK}\n",
        "",
    )
    assert (root / PATH).read_text().replace("  trainform:suspend: true\n", "") == before
    code, out, _ = run("check", STACK, "--output", "json")
    (checked,) = json.loads(out)["experiments"]
    assert (code, checked["revision"]) == (0, revision)
    assert checked["notes"][-1] == "trainform:suspend: the job has no pods until `trainform resume`"
    (job,) = (each for each in yaml.safe_load_all(run("render", STACK)[1]) if each["kind"] == "JobSet")
    assert job["spec"]["suspend"] is True
    code, out, err = run("suspend", "sdxl-lora", "-e", "prod", "-q")
    assert (code, out, err) == (0, f"{PATH}: trainform:suspend: true\n", "")

    code, out, err = run("resume", STACK)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"{PATH}: trainform:suspend: false"
    assert not load_stack(STACK, root).suspend


@pytest.mark.parametrize(
    ("backend", "admission", "fix"),
    [
        ("volcano", None, "vcctl job suspend -N JOB -n "),
        ("jobset", "kueue", "use `kubectl kueue stop workload NAME -n "),
    ],
)
def test_what_cannot_be_suspended_is_refused_before_anything_is_written(
    backend: str, admission: str | None, fix: str, root: Path
) -> None:
    on(backend, root, admission=admission, **({"queues": None} if admission else {}))
    before = (root / PATH).read_text()
    (problem,) = error_of("suspend", STACK, code=2)["problems"]
    assert problem["path"] == "trainform:suspend"
    assert fix in problem["fix"]
    assert (root / PATH).read_text() == before
    (root / PATH).write_text(f"{before}  trainform:suspend: true\n")
    (again,) = error_of("check", STACK, code=2)["problems"]
    assert again == problem
    assert run("resume", STACK)[0] == 0, "a wrong key can always be taken back"
    assert run("check", STACK)[0] == 0


def test_a_run_is_counted_up(root: Path) -> None:
    assert run("rerun", STACK) == (
        0,
        f"{PATH}: trainform:run: 2\nnext: `pulumi up` replaces the job with a new revision\n  pulumi up -s {STACK}\n",
        "",
    )
    code, out, _ = run("rerun", STACK, "--output", "json")
    assert (code, json.loads(out)) == (
        0,
        {
            "ok": True,
            "stack": STACK,
            "key": "trainform:run",
            "before": 2,
            "after": 3,
            "next": [f"pulumi up -s {STACK}"],
        },
    )
    assert load_stack(STACK, root).run == 3


def test_the_last_run(root: Path) -> None:
    text = (root / PATH).read_text()
    (root / PATH).write_text(f"{text}  trainform:run: 999999999\n")
    (problem,) = error_of("rerun", STACK, code=2)["problems"]
    assert problem["reason"] == "the value is not a whole number from 1 to 999999999"


@pytest.mark.parametrize("verb", ["suspend", "resume", "rerun"])
def test_a_stack_without_a_job(verb: str, root: Path) -> None:
    (root / "stacks/Pulumi.prod.yaml").write_text("config:\n  trainform:environment: prod\n")
    (problem,) = error_of(verb, "prod", code=2)["problems"]
    assert "this stack is the environment's own" in problem["reason"]
