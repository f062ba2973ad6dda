"""`trainform new EXPERIMENT`: files that pass `check`, or nothing at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.making_files import files
from tests.cli.running import run
from tests.support.repository import ROOT
from trainform import defaults
from trainform.cli.main import main
from trainform.job.check import CheckedJob, check_experiment
from trainform.local.scaffold.new_experiment import LauncherName

IMAGE = "registry.example.com/ai/pytorch@sha256:" + "0" * 64


def with_image(name: str) -> CheckedJob:
    """The experiment in `dev` after the user has put an image in the placeholder's place."""
    path = Path("stacks/experiments") / f"{name}.yaml"
    path.write_text(path.read_text().replace(f"/{defaults.PLACEHOLDER_IMAGE}:latest", "/ai/pytorch:latest"))
    return check_experiment(name, "dev")


@pytest.mark.parametrize(
    "options",
    [
        ["--nodes", "8"],
        ["--accelerators", "a800:0"],
        ["--image", IMAGE, "--accelerators", "a800:1", "--nodes", "1"],
        *(["--launcher", launcher] for launcher in LauncherName),
    ],
)
def test_a_new_experiment_passes_check(options: list[str], project: Path) -> None:
    code, out, err = run("new", "resnet-50", "-e", "dev", *options)
    assert (code, err) == (0, "")
    assert files(project) == {"stacks/experiments/resnet-50.yaml", "stacks/Pulumi.resnet-50.dev.yaml"}
    assert with_image("resnet-50").problems == ()
    assert "pulumi preview -s resnet-50.dev" in out
    first = (project / "stacks/experiments/resnet-50.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schemas/experiment.schema.json"


@pytest.mark.parametrize("existing", ["stacks/experiments/resnet.yaml", "stacks/Pulumi.resnet.dev.yaml"])
def test_nothing_is_overwritten(existing: str, project: Path) -> None:
    (project / existing).parent.mkdir(exist_ok=True)
    (project / existing).write_text("mine\n")
    code, _, err = run("new", "resnet", "-e", "dev", "--nodes", "2")
    assert code == 2
    assert f"{existing}\n  why: exists already" in err
    assert "in this environment too: trainform new resnet -e dev" in err
    assert files(project) == {existing}
    assert (project / existing).read_text() == "mine\n"


@pytest.mark.parametrize(
    "words",
    [
        ["Resnet"],
        ["../resnet"],
        [""],
        ["r" * 57],
        ["resnet", "--image", "a: b"],
        ["resnet", "--image", "!!bool abc"],
        ["resnet", "--image", "a\nb: c"],
        ["resnet", "--image", "\udce9"],
        ["resnet", "--image", "docker.io/ai/pytorch"],
        ["resnet", "--accelerators", "h100:8"],
        ["resnet", "--accelerators", "a800}, x: {b:8"],
        ["resnet", "--accelerators", "a800:9"],
        ["resnet", "--nodes", "0"],
        ["resnet", "--nodes", "9"],
        ["resnet", "--launcher", "mpirun"],
        ["resnet", "--queue", "nowhere"],
        ["resnet", "--queue", ""],
        ["resnet", "--queue", "default\nmetadata: {}"],
        ["resnet", "--queue", "\udce9"],
    ],
)
def test_after_an_error_no_file_is_written(words: list[str], project: Path) -> None:
    code, out, err = run("new", *words, "-e", "dev")
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert files(project) == set()


@pytest.mark.parametrize("count", ["9" * 5000, "9" * 10, "\u0663", "", "1_0", "+1", " 1"])
def test_number_of_accelerators(count: str, project: Path) -> None:
    code, out, err = run("new", "resnet", "--accelerators", f"a800:{count}", "-e", "dev")
    assert (code, out) == (2, "")
    assert "why: is not KIND:COUNT" in err
    assert "fix: write it like a800:8, with at most 9 of the digits 0 to 9" in err
    assert files(project) == set()


def test_an_environment_that_is_not_there(project: Path) -> None:
    assert run("new", "resnet", "-e", "prod")[0] == 2
    assert files(project) == set()


def add_environment(project: Path, **fields: object) -> None:
    content = {"name": "other", "namespace": {"name": "team"}, **fields}
    (project / "stacks/environments/other.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def test_the_queue_is_chosen(project: Path) -> None:
    add_environment(project, queues={"night": {}, "day": {}})
    assert run("new", "bert", "-e", "other")[0] == 0
    assert run("new", "resnet", "-e", "other", "--queue", "day")[0] == 0
    written = [
        yaml.safe_load(Path(f"stacks/experiments/{name}.yaml").read_text())["queue"] for name in ("bert", "resnet")
    ]
    assert written == ["night", "day"]


def test_with_kueue_the_queue_is_of_the_namespace(project: Path) -> None:
    """Its LocalQueues stand in no file of trainform: without the option the user is told."""
    add_environment(project, backend="jobset", admission="kueue")
    edit = "its queue must be a LocalQueue of the namespace team"
    _, out, _ = run("new", "bert", "-e", "other")
    assert f"bert.yaml (its image is a placeholder, which no check accepts; {edit}), then" in " ".join(out.split())
    _, out, _ = run("new", "resnet", "-e", "other", "--image", IMAGE)
    assert f"resnet.yaml ({edit}), then" in " ".join(out.split())
    code, out, _ = run("new", "gpt", "-e", "other", "--queue", "team-a", "--image", IMAGE)
    assert (code, edit in out, "queue: team-a\n" in Path("stacks/experiments/gpt.yaml").read_text()) == (0, False, True)


def test_an_operator_that_wants_the_first_pod_in_a_role_of_its_own(project: Path) -> None:
    path = project / "stacks/environments/dev.yaml"
    path.write_text(path.read_text().replace("name: dev\n", "name: dev\nbackend: kubedl\n"))
    assert run("new", "resnet", "-e", "dev")[0] == 0
    assert {role.name: role.replicas for role in with_image("resnet").or_raise().plan.roles} == {
        "master": 1,
        "worker": 1,
    }
    code, _, err = run("new", "bert", "-e", "dev", "--launcher", "mpi")
    assert (code, err.count("why:")) == (2, 1)
    assert "launcher.mpi\n  why: the field needs a DNS name for every pod" in err


def test_the_placeholder_is_written_and_refused(project: Path) -> None:
    code, out, _ = run("new", "resnet", "-e", "dev")
    assert code == 0
    assert "next: edit stacks/experiments/resnet.yaml (its image is a placeholder, which no check accepts), then" in out
    (problem,) = check_experiment("resnet", "dev").problems
    assert (problem.path, problem.value) == ("image", "registry.example.com/change-me:latest")
    assert problem.reason == "the image is the placeholder that `trainform new` writes"


@pytest.mark.parametrize("verb", ["check", "plan", "render"])
def test_no_command_accepts_the_placeholder(verb: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("new", "resnet", "-e", "dev")
    with pytest.raises(SystemExit) as exit_:
        main([verb, "resnet", "-e", "dev"])
    assert exit_.value.code == 2
    assert "image = registry.example.com/change-me:latest" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-e", "prod"], ["bert", "-e", "dev"]])
def test_outside_a_project(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, err = run("new", *words)
    assert (code != 0, out) == (True, "")
    assert "trainform init" in err
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_as_json(project: Path) -> None:
    code, out, err = run("new", "resnet-50", "-e", "dev", "--output", "json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert set(answer["written"]) == files(project)
    assert answer["next"][-1] == "pulumi up -s resnet-50.dev"
    code, out, err = run("new", "resnet-50", "-e", "dev", "--nodes", "3", "--output", "json")
    assert (code, err) == (2, "")
    assert {problem["reason"] for problem in json.loads(out)["error"]["problems"]} == {"exists already"}


# --- a copy


SWEEP = ("--set", 'launcher.torchrun.args=[--epochs, "90", --lr, "0.1"]')


@pytest.fixture
def resnet(project: Path) -> Path:
    """The experiment resnet with its stack in dev."""
    for path in ("environments/prod.yaml", "experiments/resnet.yaml", "Pulumi.resnet.dev.yaml"):
        (project / "stacks" / path).parent.mkdir(exist_ok=True)
        (project / "stacks" / path).write_text((ROOT / "stacks" / path).read_text())
    return project / "stacks/experiments/resnet.yaml"


def test_a_copy_has_the_comments_and_the_fields(resnet: Path) -> None:
    code, out, err = run("new", "resnet-lr", "--from", "resnet", *SWEEP)
    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        "wrote stacks/experiments/resnet-lr.yaml",
        "wrote stacks/Pulumi.resnet-lr.dev.yaml",
        "next:",
        "  trainform plan resnet-lr.dev",
    ]
    expected = resnet.read_text().replace("name: resnet", "name: resnet-lr")
    expected = expected.replace('[--epochs, "90"]', '["--epochs", "90", "--lr", "0.1"]')
    assert (resnet.parent / "resnet-lr.yaml").read_text() == expected
    assert run("check", "resnet-lr.dev")[0] == 0
    assert run("new", "resnet-lr", "--from", "resnet", *SWEEP)[0] == 0  # it is there already, as it would be written


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["resnet-lr", "--from", "resnet", "--set", "roles.node.replicas=0"],
            "stacks/experiments/resnet-lr.yaml:7: roles.node",
        ),
        (["resnet-lr", "--from", "resnet", "--set", "queue"], "the text is not PATH=VALUE"),
        (["resnet-lr", "--from", "resnte"], "did you mean resnet?"),
        (["resnet-lr", "--from", "resnet", "-e", "dve"], "did you mean dev?"),
        (["resnet-lr", "--from", "resnet", "--nodes", "3"], "is not an option of a copy"),
        (["resnet-lr", "-e", "dev", *SWEEP], "add --from EXPERIMENT"),
        (["-e", "dev", "--from", "resnet"], "is an option of a new experiment"),
        (["resnet", "--from", "resnet", *SWEEP], "exists already"),
        (["resnet-lr"], "Missing option '--environment' / '-e'"),
    ],
)
def test_a_wrong_copy_is_not_written(words: list[str], said: str, resnet: Path, project: Path) -> None:
    before = files(project)
    code, out, err = run("new", *words)
    assert (code, out, files(project)) == (2, "", before)
    assert said in err


def test_an_overlay_that_replaces_the_value_is_reported(resnet: Path) -> None:
    resnet.write_text(resnet.read_text() + "  dev: {shared_memory: 8Gi}\n")
    err = run("new", "resnet-lr", "--from", "resnet", "--set", "shared_memory=16Gi")[2]
    assert "environments.dev.shared_memory of stacks/experiments/resnet.yaml replaces the value" in err
