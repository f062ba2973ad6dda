"""Invalid values of options: the error has a reason and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import error_of

NEW = ("new", "x", "-e", "dev")
REHEARSE = ("rehearse", "hello", "-e", "dev")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*NEW, "--launcher", "slurm"), "'--launcher': 'slurm' is not one of 'torchrun', "),
        ((*NEW, "--nodes", "two"), "'--nodes': Input should be a valid integer"),
        ((*NEW, "--nodes", "9" * 5000), "'--nodes': Unable to parse input string as an integer"),
        ((*NEW, "--nodes", "0"), "'--nodes': Input should be greater than or equal to 1"),
        (("doctor", "--timeout", "soon"), "'--timeout': Input should be a valid number"),
    ],
)
def test_the_parser_refuses_values(words: tuple[str, ...], message: str) -> None:
    error = error_of(*words, code=2)
    assert error["message"].startswith(f"Invalid value for {message}")
    assert error["fix"] == f"`trainform {words[0]} --help` shows its arguments"


@pytest.mark.parametrize(
    ("words", "option", "reason", "fix"),
    [
        (
            (*REHEARSE, "--timeout", "5"),
            "--timeout",
            "is not a duration",
            "write a number with a unit: 90s, 30m, 12h, 1d12h",
        ),
        (
            (*REHEARSE, "--claim", "foo"),
            "--claim",
            "is not NAME=DIR",
            "write the claim's name and a folder of this machine: foo=DIR",
        ),
    ],
)
def test_invalid_option_values_have_reason_and_fix(words: tuple[str, ...], option: str, reason: str, fix: str) -> None:
    (problem,) = error_of(*words, code=2)["problems"]
    assert (problem["path"], problem["reason"], problem["fix"]) == (option, reason, fix)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    (problem,) = error_of(*REHEARSE, "--claim", f"data={folder}", code=2)["problems"]
    assert problem["reason"] == "names a folder that does not exist"
    assert problem["fix"] == f"correct its path, or create it: mkdir -p '{folder}'"


def test_admitted_pods_keep_their_processes() -> None:
    answer = error_of(*REHEARSE, "--from-cluster", "--processes", "1", code=2)
    assert "--processes cannot be used with --from-cluster" in answer["message"]
