"""Which experiment in which environment: by name, on standard input, by stack."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import error_of, run
from tests.support.repository import ROOT, tracked
from trainform import defaults
from trainform.cli.jobs import stack_of

HELLO = (ROOT / "stacks/experiments/hello.yaml").read_bytes()
DEV = (ROOT / "stacks/environments/dev.yaml").read_bytes()
NEWLINE = b"\n"
VERBS = ["check", "plan", "render"]


def piped(*words: str, given: bytes) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "trainform", *words],
        input=given,
        cwd=ROOT,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# --- standard input


@pytest.mark.parametrize("verb", VERBS)
def test_an_experiment_from_standard_input(verb: str) -> None:
    assert piped(verb, "-", "-e", "dev", given=HELLO) == run(verb, "hello", "-e", "dev")


def test_an_environment_from_standard_input() -> None:
    assert piped("render", "hello", "-e", "-", given=DEV) == run("render", "hello", "-e", "dev")


def test_problems_have_the_line() -> None:
    code, out, err = piped("check", "-", "-e", "dev", given=HELLO + b"further: 1\n")
    line = HELLO.count(b"\n") + 1
    assert (code, out) == (2, "")
    assert err.splitlines()[1].startswith(f"<stdin>:{line}: further")
    code, out, _ = piped("check", "-", "-e", "dev", "--output", "json", given=HELLO + b"further: 1\n")
    (result,) = json.loads(out)["experiments"]
    assert (result["problems"][0]["source"], result["problems"][0]["line"]) == ("<stdin>", line)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (b"", "the file holds nothing, not a mapping"),
        (b"a: &a [*a]\n", "<stdin>:1"),
        (b"name: !!python/object:os.system x\n", "<stdin>:1"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"# " + b"x" * defaults.LARGEST_FILE, "the text is longer than 1 MiB"),
    ],
    ids=["nothing", "itself", "a tag", "no text", "too long"],
)
def test_standard_input_is_read_like_a_file(given: bytes, reason: str) -> None:
    code, out, err = piped("check", "-", "-e", "dev", given=given)
    assert (code, out) == (2, "")
    assert reason in err
    assert "<stdin>" in err
    assert "Traceback" not in err


# --- stacks


@pytest.fixture
def project(whole_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (whole_project / "stacks" / "below").mkdir()
    monkeypatch.chdir(whole_project / "stacks" / "below")
    return whole_project


def write(project: Path, stack: str, text: str) -> None:
    (project / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)


@pytest.mark.parametrize("stack", [path.name.split(".")[1:-1] for path in tracked("Pulumi.*.yaml")], ids=".".join)
def test_every_stack_chooses_its_files(stack: list[str]) -> None:
    *experiment, environment = stack
    expected = run("render", *experiment, "-e", environment)
    assert expected[0] == 0
    assert run("render", ".".join(stack)) == expected


@pytest.mark.parametrize("verb", VERBS)
def test_the_run_comes_from_the_stack(verb: str, project: Path) -> None:
    write(
        project, "again", "config:\n  trainform:experiment: hello\n  trainform:environment: dev\n  trainform:run: '7'\n"
    )
    code, out, err = run(verb, "again", "-q")
    assert (code, err) == (0, "")
    assert out != run(verb, "hello", "-e", "dev", "-q")[1]
    write(
        project, "again", "config: {'trainform:experiment': hello, 'trainform:environment': dev, 'trainform:run': 7}\n"
    )
    assert run(verb, "organization/trainform/again", "-q")[1] == out


def test_secrets_are_neither_needed_nor_shown(project: Path) -> None:
    write(
        project,
        "mine",
        "encryptionsalt: v1:abc:v1:hunter2\nconfig:\n  trainform:experiment: hello\n  trainform:environment: dev\n  "
        "trainform:sshSecret: {secure: v1:hunter2}\n",
    )
    assert run("render", "mine") == run("render", "hello", "-e", "dev")
    write(project, "mine", "config:\n  trainform:experiment: {secure: hunter2}\n  trainform:environment: dev\n")
    error = error_of("plan", "mine", code=2)
    assert error["problems"] == [
        {"source": "stacks/Pulumi.mine.yaml", "line": 2, "path": "config.trainform:experiment", "value": None,
         "reason": "the value must not be a secret",
         "fix": "pulumi config set trainform:experiment VALUE", "code": "", "fingerprint": ""}
    ]  # fmt: skip
    for text in (
        "  token: hunter2\n  token: hunter2\n  hunter2\n",
        "  other: !!int hunter2\n",
        "  ? {hunter2: x}\n  : y\n",
    ):
        write(project, "mine", f"config:\n{text}")
        for flags in ([], ["--output", "json"]):
            code, out, err = run("plan", "mine", *flags)
            assert code == 2
            assert "hunter2" not in out + err


@pytest.mark.parametrize(
    ("stack", "text", "reason", "fix"),
    [
        ("helo.dev", None, "the stack has no file stacks/Pulumi.helo.dev.yaml", "did you mean hello.dev?"),
        ("../hello", None, "this is not the name of a stack", "did you mean hello.dev?"),
        (
            "x",
            "config: {'trainform:experiment': hello}",
            "the value is not set",
            "pulumi config set -s x trainform:environment NAME",
        ),
        (
            "x",
            "config: {'trainform:experiment': helo, 'trainform:environment': dev}",
            "no file of stacks/experiments/ has this name",
            "did you mean hello?",
        ),
        (
            "x",
            "config: {'trainform:experiment': hello, 'trainform:environment': dev, 'trainform:run': 0}",
            "the value is not a whole number from 1",
            "pulumi config set trainform:run 2",
        ),
        (
            "x",
            "config: {'trainform:experiment': '-', 'trainform:environment': dev}",
            "no file of stacks/experiments/ has this name",
            "known: ",
        ),
        ("x", "- a", "the file holds a list, not a mapping", ""),
        ("x", "config: [", "is not YAML that can be read", ""),
    ],
)
def test_invalid_stacks_are_refused(stack: str, text: str | None, reason: str, fix: str, project: Path) -> None:
    if text is not None:
        write(project, stack, text)
    for verb in VERBS:
        (problem,) = error_of(verb, stack, code=2)["problems"]
        assert reason in problem["reason"]
        assert fix in problem["fix"]


def test_the_environments_own_stack_runs_nothing() -> None:
    (problem,) = error_of("rehearse", "dev", code=2)["problems"]
    assert "this stack is the environment's own" in problem["reason"]
    assert problem["fix"].startswith("run `pulumi preview -s dev`")


def test_several_stacks_are_checked(project: Path) -> None:
    """Experiments and environments, with the problems of all in one go."""
    code, out, err = run("check", "hello.dev", "dev", "elastic.dev", "-q")
    assert (code, err) == (0, "")
    assert [line.partition(",")[0] for line in out.splitlines()] == ["hello: ok", "dev: ok", "elastic: ok"]
    results = json.loads(run("check", "dev", "hello.dev", "--output", "json")[1])["experiments"]
    assert [(result["name"], result["ok"], "job" in result) for result in results] == [
        ("dev", True, False),
        ("hello", True, True),
    ]
    write(project, "gone", "config: {trainform:environment: dev, trainform:experiment: gone}\n")
    write(project, "none", "config: {}\n")
    environment = project / "stacks/environments/dev.yaml"
    environment.write_text(environment.read_text() + "further: 1\n")
    error = error_of("check", "gone", "none", "dev", code=2)
    assert [problem["path"] for problem in error["problems"]] == [
        "experiment",
        "config.trainform:environment",
        "further",
    ]


@pytest.mark.parametrize("verb", [*VERBS, "rehearse"])
def test_a_stack_names_its_environment(verb: str) -> None:
    error = error_of(verb, "hello.dev", "-e", "dev", code=2)
    assert error["message"] == "-e cannot be used with the stack hello.dev"
    assert error["fix"] == "the stack names it: remove -e"


# --- an experiment alone


STACK = "config: {trainform:experiment: %s, trainform:environment: %s}\n"


def test_an_experiment_alone_is_in_the_environment_of_its_stack(project: Path) -> None:
    """By name or path, also if its stack has another name."""
    for verb in VERBS:
        assert run(verb, "hello", "-q") == run(verb, "hello", "-e", "dev", "-q")
    write(project, "other", STACK % ("stacks/experiments/mnist.yaml", "stacks/environments/dev.yaml"))
    (project / "stacks/Pulumi.mnist.dev.yaml").unlink()
    expected = run("plan", "mnist", "-e", "dev", "-q")
    assert (expected[0], run("plan", "mnist", "-q")) == (0, expected)
    assert run("plan", str(project / "stacks/experiments/mnist.yaml"), "-q") == expected


def choices(*words: str) -> list[str]:
    """The choices in the fix of an error, as they are typed."""
    fix = error_of(*words, code=2)["fix"].removeprefix("name one: ")
    return [choice.strip("`") for choice in fix.split(" or ")]


def test_choices_of_an_ambiguous_experiment_pass(project: Path) -> None:
    shutil.copy(ROOT / "tests/environments/lab.yaml", project / "stacks/environments")
    write(project, "hello.lab", STACK % ("hello", "lab"))
    assert choices("plan", "hello") == ["hello -e dev", "hello -e lab"]
    for choice in choices("render", "hello"):
        assert run("render", *choice.split())[0] == (2 if choice.endswith("lab") else 0)  # its registry
    assert choices("drift", "hello") == choices("review", "hello") == ["hello.dev", "hello.lab"]
    write(project, "hello.again", STACK % ("hello", "dev"))
    for verb in ("review", "drift", "diff"):
        assert choices(verb, "hello", "-e", "dev") == ["hello.again", "hello.dev"]
    assert stack_of("hello", "lab", project) == stack_of("hello.lab", None, project) == "hello.lab"


@pytest.mark.parametrize("verb", [*VERBS, "rehearse", "review", "drift", "diff"])
def test_a_misspelt_name_is_answered_with_the_nearest(verb: str) -> None:
    for word, near in (("helo", "hello"), ("resnet.dve", "resnet.dev")):
        (problem,) = error_of(verb, word, code=2)["problems"]
        assert problem["fix"] == f"did you mean {near}?"
    (problem,) = error_of(verb, "hello", "-e", "dve", code=2)["problems"]
    assert problem["fix"] == "did you mean dev?"
    assert "fix: did you mean hello?" in run("destroy", "helo")[2]


def test_a_stack_with_the_name_of_an_experiment(project: Path) -> None:
    """It comes first; with -e the experiment is meant."""
    write(project, "hello", STACK % ("mnist", "dev"))
    assert run("render", "hello") == run("render", "mnist", "-e", "dev")
    assert run("render", "hello", "-e", "dev") == run("render", "hello.dev")


# --- environments


def test_an_environment_is_checked_alone() -> None:
    assert run("check", "-e", "dev") == (0, "dev: ok, an environment\n", "")
    assert run("check", "-e", "stacks/environments/dev.yaml", "-e", "tests/environments/lab.yaml") == (
        0, "dev: ok, an environment\nlab: ok, an environment\n", ""
    )  # fmt: skip
    assert piped("check", "-e", "-", given=DEV) == (0, "dev: ok, an environment\n", "")
    assert run("check", "-e", "dev", "-e", "dev")[1] == "dev: ok, an environment\n"
    (result,) = json.loads(run("check", "-e", "dev", "--output", "json")[1])["experiments"]
    assert result == {
        "argument": "dev", "name": "dev", "environment": "dev", "stack": None, "tried": [], "ok": True, "notes": [],
        "problems": [],
    }  # fmt: skip


def test_problems_of_all_environments_are_told(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(DEV.decode() + "further: 1\n")
    code, out, err = run("check", "-e", str(wrong), "-e", "dev", "-e", "dve")
    assert (code, out) == (2, "dev: ok, an environment\n")
    assert err.startswith("trainform: 2 problems:\n")
    assert f"{wrong}:{DEV.count(NEWLINE) + 1}: further" in err
    assert "did you mean dev?" in err


def test_an_experiment_in_several_environments() -> None:
    code, out, err = run("check", "hello", "resnet", "-e", "dev", "-e", "tests/environments/lab.yaml")
    assert (code, out.split("revision")[0]) == (2, "hello in dev: ok, 2 pods, 0 accelerators, ")
    assert "why: in lab, the image is not from a registry that the environment allows" in err
    results = json.loads(run("check", "hello", "-e", "dev", "-e", "tests/environments/lab.yaml", "--output", "json")[1])
    assert [(result["name"], result["environment"], result["ok"]) for result in results["experiments"]] == [
        ("hello", "dev", True), ("hello", "lab", False),
    ]  # fmt: skip


def test_a_problem_in_every_environment_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "typo.yaml"
    file.write_bytes(HELLO.replace(b"registry", b"elsewhere") + b"further: 1\n")
    other = tmp_path / "other.yaml"
    other.write_bytes(DEV.replace(b"name: dev", b"name: other"))
    err = run("check", str(file), "-e", "dev", "-e", str(other))[2]
    assert err.startswith("trainform: 2 problems:\n")
    assert "why: the image is not from a registry" in err
