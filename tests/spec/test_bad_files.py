"""Wrong files, one for each rule: every problem is told, with where, what, why and what to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Golden
from trainform.cli.main import main

BAD = ROOT / "tests" / "spec" / "bad"
STRICT = "tests/environments/lab.yaml"
CASES = sorted(path.stem for path in BAD.glob("*.yaml") if not path.stem.endswith(".environment"))
SECRETS = ("8d1f0c6b2e", "hunter2", "123456789", "wJalrXUtnFEMI")


def arguments(case: str) -> list[str]:
    """`check` on the case; in an environment of its own where there is one."""
    own = f"tests/spec/bad/{case}.environment.yaml"
    return ["check", f"tests/spec/bad/{case}.yaml", "-e", own if (ROOT / own).is_file() else STRICT]


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(list(words))
    captured = capsys.readouterr()
    code = exit_.value.code
    return code if isinstance(code, int) else 0, captured.out, captured.err


@pytest.mark.parametrize("case", CASES)
def test_every_problem_is_told(case: str, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    code, out, err = run(*arguments(case), capsys=capsys)
    assert (code, out) == (2, "")
    golden(BAD / f"{case}.txt", err)


@pytest.mark.parametrize("case", CASES)
def test_the_same_for_machines(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(*arguments(case), "--output", "json", capsys=capsys)
    answer: dict[str, Any] = json.loads(out)
    assert (code, answer["ok"]) == (2, False)
    text = (BAD / f"{case}.txt").read_text()
    problems = answer["experiments"][0]["problems"]
    assert len(problems) == text.count("  why: ")
    for problem in problems:
        assert problem.keys() == {"source", "line", "path", "value", "reason", "fix", "code", "fingerprint"}
        assert f"  why: {problem['reason']}\n  fix: {problem['fix']}\n" in text
    places = [(problem["source"], problem["line"]) for problem in problems]
    assert places == sorted(places)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("secret")])
@pytest.mark.parametrize("flags", [(), ("--output", "json")])
def test_secrets_are_never_shown(case: str, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(*arguments(case), *flags, capsys=capsys)
    assert not [secret for secret in SECRETS if secret in out + err]


def test_every_message_is_expected_by_a_case() -> None:
    assert sorted(path.stem for path in BAD.glob("*.txt")) == CASES


def check(path: Path | str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `check` says of a file outside the repository; the path is cut from it."""
    code, out, err = run("check", str(path), "-e", STRICT, capsys=capsys)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    return err.replace(str(path), "FILE")


def test_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: sdxl-lora\n# für\n".encode("latin-1"))
    assert check(latin, capsys) == (
        "trainform: 1 problem:\nFILE:2: (whole file)\n"
        "  why: the file is not UTF-8 (byte 0xfc at offset 19)\n  fix: save the file as UTF-8\n"
    )


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read: no such file or directory" in check(tmp_path / "missing.yaml", capsys)


@pytest.mark.parametrize("name", ["", "..", "sdxl lora", "x" * 5000, "sdxl-lor", "nothing-like-it"])
def test_a_name_that_is_no_experiment(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("check", name, "-e", "dev", capsys=capsys)
    assert code == 2
    assert "why: no file of stacks/experiments/ has this name" in err
    if name == "sdxl-lor":
        assert "fix: did you mean sdxl-lora?" in err


def test_a_name_that_is_no_environment(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("check", "sdxl-lora", "-e", "dve", capsys=capsys)
    assert code == 2
    assert "environment = dve\n  why: no file of stacks/environments/ has this name\n  fix: did you mean dev?" in err


def test_one_wrong_name_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("check", "sdxl-lora", "renset", "tests/spec/bad/unknown-key.yaml", "-e", "dev", capsys=capsys)
    assert code == 2
    assert out.startswith("sdxl-lora: ok, 4 pods, 32 accelerators, revision ")
    assert "did you mean resnet?" in err
    assert "did you mean replicas?" in err
