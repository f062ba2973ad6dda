"""`trainform init`: a project in an empty folder, and nothing over anything."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run
from trainform.job.check import check_experiment

FILES = {
    "Pulumi.yaml",
    "requirements.txt",
    ".gitignore",
    ".github/workflows/trainform.yaml",
    "policy/PulumiPolicy.yaml",
    "policy/__main__.py",
    "stacks/__main__.py",
    "stacks/Pulumi.dev.yaml",
    "stacks/Pulumi.hello.dev.yaml",
    "stacks/environments/dev.yaml",
    "stacks/experiments/hello.yaml",
    "stacks/schemas/environment.schema.json",
    "stacks/schemas/experiment.schema.json",
    "stacks/schemas/apply.schema.json",
    "stacks/schemas/drift.schema.json",
    "stacks/schemas/review.schema.json",
}
PREFIX = Path(sys.prefix).resolve()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and we are in it."""
    folder = tmp_path / "vision"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def content(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_init_in_an_empty_folder(folder: Path) -> None:
    code, out, err = run("init")
    assert (code, err) == (0, "")
    written = content(folder)
    assert written.keys() == FILES
    assert {line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")} == FILES
    assert yaml.safe_load(written["Pulumi.yaml"])["name"] == "vision"
    assert written["requirements.txt"].splitlines()[0] == f"trainform=={version('trainform')}"
    assert check_experiment("hello", "dev").problems == ()


def workflow(folder: Path) -> subprocess.CompletedProcess[str]:
    """What the workflow runs at the end, as GitHub's shell does."""
    command = yaml.safe_load((folder / ".github/workflows/trainform.yaml").read_text())["jobs"]["check"]["steps"][-1]
    script = folder.parent / "script.sh"
    script.write_text(command["run"])
    environ = {**os.environ, "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-e", str(script)], env=environ, capture_output=True, text=True, check=False)


def test_the_workflow_checks_all_stacks(folder: Path) -> None:
    """On every stack, also one that came later, in its own environment."""
    run("init")
    first = workflow(folder)
    assert (first.returncode, first.stderr) == (0, "")
    assert [line.partition(", ")[0] for line in first.stdout.splitlines() if line[0] != " "] == ["dev: ok", "hello: ok"]
    run("new", "bert", "-e", "dev")
    second = workflow(folder)
    assert second.returncode == 2
    assert "stacks/experiments/bert.yaml:" in second.stderr


def test_an_experiment_of_another_environment_is_checked_there(folder: Path) -> None:
    run("init")
    prod = (folder / "stacks/environments/dev.yaml").read_text()
    prod = prod.replace("name: dev", "name: prod").replace("gpu: {resource", "h100: {resource")
    (folder / "stacks/environments/prod.yaml").write_text(prod)
    run("new", "bert", "-e", "prod", "--image", "docker.io/ai/bert:1")
    assert "h100: 8" in (folder / "stacks/experiments/bert.yaml").read_text()
    done = workflow(folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "stacks/Pulumi.prod.yaml").write_text("config: {trainform:environment: prod}\n")
    (folder / "stacks/environments/prod.yaml").write_text(prod + "further: 1\n")
    done = workflow(folder)
    assert done.returncode == 2
    assert done.stderr.count("stacks/environments/prod.yaml:8: further") == 1


HELLO_STACK = "config: {trainform:environment: dev, trainform:experiment: %s}\n"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"experiments/copy.yaml": "", "Pulumi.copy.dev.yaml": HELLO_STACK % "copy"}, "stacks/experiments/copy.yaml:"),
        ({"Pulumi.gone.dev.yaml": HELLO_STACK % "gone"}, "experiment = gone\n"),
        ({"experiments/old.yml": "", "Pulumi.old.dev.yaml": HELLO_STACK % "old"}, "experiment = old\n"),
        ({"Pulumi.prod.yaml": "config: {trainform:environment: prod}\n"}, "environment = prod\n"),
        ({"Pulumi.none.yaml": "config: {}\n"}, "stacks/Pulumi.none.yaml"),
    ],
    ids=["a copy with another name", "no experiment", "another ending", "no environment", "an empty stack"],
)
def test_what_pulumi_would_refuse_the_workflow_refuses(files: dict[str, str], reason: str, folder: Path) -> None:
    run("init")
    for name, text in files.items():
        hello = (folder / "stacks/experiments/hello.yaml").read_text()
        (folder / "stacks" / name).write_text(text if text else hello)
    done = workflow(folder)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "hello: ok" in done.stdout


def test_what_a_new_repository_has_already(folder: Path) -> None:
    for name in ("README.md", "LICENSE", ".gitattributes"):
        (folder / name).write_text("mine\n")
    (folder / ".git").mkdir()
    (folder / ".venv" / "bin").mkdir(parents=True)
    assert run("init")[0] == 0
    assert content(folder).keys() == FILES | {"README.md", "LICENSE", ".gitattributes"}
    assert (folder / "README.md").read_text() == "mine\n"


def test_everything_in_the_way_is_named_and_nothing_is_written(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("name: mine\n")
    (folder / ".gitignore").symlink_to("nowhere")
    (folder / "stacks").mkdir()
    (folder / "stacks" / "experiments").write_text("a file\n")
    (folder / "stacks" / "__main__.py").mkdir()
    before = content(folder)
    code, out, err = run("init")
    assert (code, out) == (2, "")
    assert err.startswith("trainform: 4 problems:\n")
    for name in ("Pulumi.yaml", ".gitignore", "stacks/__main__.py"):
        assert f"{name}\n  why: exists already\n  fix: move it away, or choose an empty folder" in err
    assert "stacks/experiments\n  why: is not a folder" in err
    assert content(folder) == before
    assert not (folder / "nowhere").exists()


def test_init_twice_writes_nothing_new(folder: Path) -> None:
    """Also after an interruption it goes on; what the user has edited since is refused as any other file."""
    first = run("init")[1]
    (folder / "stacks" / "experiments" / "hello.yaml").unlink()
    code, again, _ = run("init")
    assert (code, again.count("wrote")) == (0, 1)
    assert again.partition("next:")[2] == first.partition("next:")[2]
    (folder / "stacks" / "environments" / "dev.yaml").write_text("name: dev\n")
    code, _, err = run("init")
    assert (code, err.count("why:")) == (2, 1)


def test_the_project_gets_the_given_name(folder: Path) -> None:
    assert run("init", "--name", "speech.2")[0] == 0
    assert yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"] == "speech.2"


def test_the_demo_outside_of_a_clone_says_what_to_do(folder: Path) -> None:
    for _ in range(2):  # in an empty folder, and in the project
        code, _, err = run("demo")
        assert code == 1
        assert "there is no experiment sdxl-lora here" in err
        assert "or run `trainform init` in an empty folder" in err
        run("init")
