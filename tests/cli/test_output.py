"""`-o FILE`: whole or not at all, and never over what was read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.support.repository import ROOT

RENDER = ("render", "hello", "-e", "dev")


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    "words",
    [
        RENDER,
        (*RENDER, "--output", "json"),
        ("plan", "sdxl-lora", "-e", "dev"),
        ("check", "elastic", "-e", "dev"),
        ("plan", "hello", "-e", "dev", "--output", "json"),
    ],
    ids=" ".join,
)
def test_the_output_file_equals_standard_output(words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "out"
    assert run(*words, "-o", str(file)) == (0, "", "")
    assert file.read_text() == run(*words)[1]
    assert left(tmp_path) == {"out"}


def test_the_suffix_of_the_file_is_the_form(tmp_path: Path) -> None:
    for name, form in (("out.json", "json"), ("out.txt", "text"), ("out.yaml", "text"), ("out", "text")):
        assert run(*RENDER, "-o", str(tmp_path / name)) == (0, "", "")
        assert (tmp_path / name).read_text() == run(*RENDER, "--output", form)[1]
    assert run(*RENDER, "--output", "text", "-o", str(tmp_path / "out.json"))[0] == 0
    assert (tmp_path / "out.json").read_text() == run(*RENDER)[1]


@pytest.mark.parametrize(
    ("file", "fix"),
    [
        ("out.md", "use .txt, .json, or choose the form with --output"),
        ("out.html", "use .txt, .json, or choose the form with --output"),
        ("json", "write `--output json` for the form, or `-o ./json` for a file of this name"),
    ],
)
def test_a_form_that_the_command_does_not_have(file: str, fix: str, tmp_path: Path) -> None:
    code, out, err = run(*RENDER, "-o", file)
    assert (code, out) == (2, "")
    assert f"  fix: {fix}\n" in err


def test_a_result_with_exit_code_1_is_written_too(tmp_path: Path) -> None:
    """Of `check` and `status` it is the result, and the exit code says how it is."""
    file = tmp_path / "out"
    words = ("check", "hello", "nowhere", "-e", "dev", "--output", "json")
    assert run(*words, "-o", str(file)) == (2, "", "")
    assert file.read_text() == run(*words)[1]
    assert run("sandbox", "status", "--folder", str(tmp_path / "no"), "--output", "json", "-o", str(file)) == (
        1,
        "",
        "",
    )
    assert json.loads(file.read_text())["running"] is False


@pytest.mark.parametrize("verb", ["check", "plan", "render"])
def test_without_a_result_the_file_stays(verb: str, tmp_path: Path) -> None:
    """Problems are a result of `check` alone, and for people they stand on standard error."""
    file = tmp_path / "out"
    file.write_text("before")
    assert run(verb, "nowhere", "-e", "dev", "-o", str(file))[0] == 2
    assert file.read_text() == "before"
    assert run(verb, "nowhere", "--output", "json", "-o", str(file))[0] == 2
    assert (file.read_text() == "before") == (verb != "check")
    assert left(tmp_path) == {"out"}


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (".", "is a directory"),
        ("nowhere/out", "its folder does not exist"),
        ("pipe", "is not a regular file"),
        ("/dev/null", "is not a regular file"),
        ("", "is empty"),
        ("/dev/stdout", "is not a regular file"),
        ("/dev/fd/2", "is not a regular file"),
        ("loop", "cannot be written"),
        ("x" * 300, "cannot be written"),
    ],
)
def test_what_cannot_be_written(file: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    files = str(ROOT / "stacks/experiments/hello.yaml"), "-e", str(ROOT / "stacks/environments/dev.yaml")
    code, out, err = run("render", *files, "-o", file)
    assert (code, out) == (2, "")
    assert f"  why: {reason}" in err
    assert left(tmp_path) == {"pipe", "loop"}


@pytest.mark.parametrize("name", ["hello.yaml", "link", "hard"])
@pytest.mark.parametrize("verb", ["check", "plan", "render"])
def test_input_files_are_never_overwritten(verb: str, name: str, tmp_path: Path) -> None:
    """By whatever name: a shell's redirection would have emptied it."""
    text = (ROOT / "stacks/experiments/hello.yaml").read_text()
    (tmp_path / "hello.yaml").write_text(text)
    (tmp_path / "link").symlink_to("hello.yaml")
    (tmp_path / "hard").hardlink_to(tmp_path / "hello.yaml")
    code, out, err = run(verb, str(tmp_path / "hello.yaml"), "-e", "dev", "-o", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert "is an input file of this command" in err
    assert (tmp_path / "hello.yaml").read_text() == text
    assert left(tmp_path) == {"hello.yaml", "link", "hard"}


@pytest.mark.usefixtures("hangups_end")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("before")
    with subprocess.Popen(
        [sys.executable, "-m", "trainform", "render", "-", "-e", "dev", "-o", str(file)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    ) as process:  # fmt: skip
        while len(left(tmp_path)) < 2:  # it has made its file, and reads
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(timeout=120) == 128 + number
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert (left(tmp_path), file.read_text()) == ({"out"}, "before")
