"""`trainform new`: files that pass `check`, or nothing at all."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from tests.repository import ROOT, copy_stacks
from trainform.cli.main import main
from trainform.examine import examine


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one environment and no experiments."""
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    copy_stacks(tmp_path / "stacks", "environments/*")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["new", *words])
    captured = capsys.readouterr()
    return exit_.value.code if isinstance(exit_.value.code, int) else 0, captured.out, captured.err


def files(project: Path) -> set[str]:
    return {str(path.relative_to(project)) for path in project.rglob("*.yaml")} - {
        "Pulumi.yaml",
        "stacks/environments/dev.yaml",
    }


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--launcher", "accelerate", "--nodes", "8"],
        ["--launcher", "command", "--accelerators", "a800:0"],
        ["--image", "registry.example.com/ai/pytorch@sha256:" + "0" * 64, "--accelerators", "a800:1", "--nodes", "1"],
    ],
)
def test_what_is_written_passes_check(options: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("resnet-50", "-e", "dev", *options, capsys=capsys)
    assert (code, err) == (0, "")
    assert files(project) == {"stacks/experiments/resnet-50.yaml", "stacks/Pulumi.resnet-50.dev.yaml"}
    assert examine("resnet-50", "dev").problems == ()
    assert "pulumi preview -s resnet-50.dev" in out
    first = (project / "stacks/experiments/resnet-50.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/experiment.schema.json"


@pytest.mark.parametrize("name", ["no", "on", "null", "e5", "true"])
def test_names_that_yaml_takes_for_something_else(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "-e", "dev", capsys=capsys)[0] == 0
    assert examine(name, "dev").plan().experiment == name
    stack = yaml.safe_load((project / f"stacks/Pulumi.{name}.dev.yaml").read_text())
    assert stack["config"]["trainform:experiment"] == name


@pytest.mark.parametrize("existing", ["stacks/experiments/resnet.yaml", "stacks/Pulumi.resnet.dev.yaml"])
def test_nothing_is_overwritten(existing: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / existing).parent.mkdir(exist_ok=True)
    (project / existing).write_text("mine\n")
    code, _, err = run("resnet", "-e", "dev", capsys=capsys)
    assert code == 2
    assert f"{existing}\n  why: exists already" in err
    assert files(project) == {existing}
    assert (project / existing).read_text() == "mine\n"


def test_a_dangling_link_is_not_followed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "stacks/experiments").mkdir()
    (project / "stacks/experiments/resnet.yaml").symlink_to(project / "elsewhere.yaml")
    assert run("resnet", "-e", "dev", capsys=capsys)[0] == 2
    assert not (project / "elsewhere.yaml").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["Resnet"],
        ["../resnet"],
        ["resnet: x"],
        ["resnet\n"],
        ["50"],
        [""],
        ["r" * 57],
        ["resnet", "--image", "a: b"],
        ["resnet", "--image", "2026-02-30"],
        ["resnet", "--image", "!!bool abc"],
        ["resnet", "--image", "*alias"],
        ["resnet", "--image", "a\nb: c"],
        ["resnet", "--image", "\U0001f600"],
        ["resnet", "--image", "\udce9"],
        ["resnet", "--image", "docker.io/ai/pytorch"],
        ["resnet", "--accelerators", "h100:8"],
        ["resnet", "--accelerators", "a800"],
        ["resnet", "--accelerators", "a800:-1"],
        ["resnet", "--accelerators", "a800}, x: {b:8"],
        ["resnet", "--accelerators", "a800:9"],
        ["resnet", "--nodes", "0"],
        ["resnet", "--nodes", "9"],
        ["resnet", "--launcher", "mpirun"],
    ],
)
def test_what_is_wrong_writes_nothing(words: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*words, "-e", "dev", capsys=capsys)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert files(project) == set()


@pytest.mark.parametrize("count", ["9" * 5000, "9" * 10, "\u0663", "", "1_0", "+1", " 1"])
def test_how_many_accelerators(count: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("resnet", "--accelerators", f"a800:{count}", "-e", "dev", capsys=capsys)
    assert (code, out) == (2, "")
    assert "why: is not KIND:COUNT" in err
    assert "fix: write it like a800:8, with at most 9 of the digits 0 to 9" in err
    assert files(project) == set()


def test_an_environment_that_is_not_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("resnet", "-e", "prod", capsys=capsys)[0] == 2
    assert files(project) == set()


def test_a_queue_that_yaml_takes_for_something_else(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "stacks/environments/dev.yaml"
    content = yaml.safe_load(path.read_text())
    content["queues"] = {"on": content["queues"]["default"]}
    path.write_text(yaml.safe_dump(content))
    assert run("resnet", "-e", "dev", capsys=capsys)[0] == 0
    assert examine("resnet", "dev").plan().queue.name == "on"


def test_the_environment_is_named_as_a_shell_takes_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "my files").mkdir()
    shutil.copy(project / "stacks/environments/dev.yaml", project / "my files/it's.yaml")
    code, out, _ = run("resnet", "-e", "my files/it's.yaml", capsys=capsys)
    assert code == 0
    (line,) = [line for line in out.splitlines() if "trainform plan" in line]
    assert shlex.split(line) == ["trainform", "plan", "resnet", "-e", "my files/it's.yaml"]
    stack = yaml.safe_load((project / "stacks/Pulumi.resnet.dev.yaml").read_text())
    assert stack["config"]["trainform:environment"] == "my files/it's.yaml"
