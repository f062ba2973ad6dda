"""`trainform new -e NAME`: a new environment, and options that are of the other kind."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.making_files import files
from tests.cli.running import run
from trainform.job.check import check_environment, check_experiment


def test_a_new_environment(project: Path) -> None:
    code, out, err = run("new", "-e", "prod")
    assert (code, err) == (0, "")
    assert files(project) == {"stacks/environments/prod.yaml", "stacks/Pulumi.prod.yaml"}
    assert check_environment("prod").problems == ()
    stack = yaml.safe_load((project / "stacks/Pulumi.prod.yaml").read_text())
    assert stack == {"config": {"trainform:environment": "prod"}}
    for command in ("trainform doctor -e prod", "pulumi stack select --create prod && pulumi up -s prod"):
        assert f"\n  {command}\n" in out
    assert run("new", "bert", "-e", "prod", "--image", "a/b:c")[0] == 0
    assert check_experiment("bert", "prod").problems == ()


def test_an_environment_is_not_overwritten(project: Path) -> None:
    before = (project / "stacks/environments/dev.yaml").read_text()
    code, out, err = run("new", "-e", "dev")
    assert (code, out) == (2, "")
    assert "stacks/environments/dev.yaml\n  why: exists already" in err
    assert "for a new experiment there: trainform new EXPERIMENT -e dev" in err
    assert (project / "stacks/environments/dev.yaml").read_text() == before
    assert files(project) == set()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-e", "Prod"], "--environment = Prod\n  why: the name is not a DNS label"),
        (["-e", "../prod"], "--environment = ../prod\n  why: the name is not a DNS label"),
        (["-e", "prod.yaml"], "--environment = prod.yaml\n  why: the name is not a DNS label"),
        (["-e", "prod", "--image", "a"], "--image = a\n  why: is an option of a new experiment"),
        (["-e", "prod", "--queue", "a"], "--queue = a\n  why: is an option of a new experiment"),
        (["-e", "prod", "--nodes", "2", "--launcher", "mpi"], "trainform: 2 problems:\n--launcher = mpi\n"),
        (["bert", "-e", "dev", "--from-context", "x"], "--from-context = x\n  why: is an option of a new environment"),
        (["-e", "prod", "--from-context", ""], "--from-context\n  why: is empty"),
        (["-e", "prod", "--from-context", "\udce9"], "why: is not valid UTF-8"),
    ],
)
def test_options_of_the_other_kind(words: list[str], problem: str, project: Path) -> None:
    code, out, err = run("new", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert files(project) == set()


def test_a_context_that_is_not_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(project / "none"))
    code, out, err = run("new", "-e", "prod", "--from-context", "prod")
    assert (code, out) == (1, "")
    assert "cannot connect to the cluster of context prod: there is no kubeconfig at" in err
    assert files(project) == set()
