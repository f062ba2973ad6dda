"""Invalid values of options: the error has a reason and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import error_of

PLAN = ("plan", "hello", "-e", "dev")
WHOLE = ("must be a whole number", "write it in digits, without a fraction: 2")
LAUNCHERS = "is not one of torchrun, torchrun-elastic, accelerate, deepspeed, mpi, tensorflow, jax, command, entrypoint"
REHEARSE = ("rehearse", "hello", "-e", "dev")


@pytest.mark.parametrize(
    ("words", "option", "reason", "fix"),
    [
        (
            ("new", "x", "-e", "dev", "--launcher", "torchrn"),
            "--launcher",
            LAUNCHERS,
            "did you mean torchrun?",
        ),
        (("new", "x", "-e", "dev", "--launcher", "slurm"), "--launcher", LAUNCHERS, "write one of them"),
        ((*PLAN, "--run", "two"), "--run", *WHOLE),
        ((*PLAN, "--run", "9" * 5000), "--run", *WHOLE),
        ((*PLAN, "--run", "0"), "--run", "is below 1", "write 1 or more"),
        ((*PLAN, "--run", "1000000000"), "--run", "is above 999999999", "write 999999999 or less"),
        (
            ("doctor", "--timeout", "soon"),
            "--timeout",
            "must be a number",
            "write it in digits, with a point before a fraction: 2.5",
        ),
        (("doctor", "--timeout", "0"), "--timeout", "is below 0.5", "write 0.5 or more"),
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
