"""`pulumi preview` as the review runs it: a program in its place says what it was given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.leaks import HUB_TOKEN as TOKEN
from trainform.errors import CommandLineError, ToolchainError
from trainform.review import run
from trainform.review.run import run_preview


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called pulumi, the only one on PATH but those that it needs."""
    path = tmp_path / "bin" / "pulumi"
    path.parent.mkdir()
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
    return path


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def test_the_engine_is_asked_for_its_events(program: Path, tmp_path: Path) -> None:
    write(program, 'echo "$@"; echo "$PULUMI_ENABLE_STREAMING_JSON_PREVIEW"; pwd; cat; exit 7')
    ran = run_preview("bert.dev", tmp_path, ["--refresh", "-p", "4", "--target", "x"])
    words = "preview --json --non-interactive --color never -s bert.dev --refresh -p 4 --target x"
    assert ran.text.splitlines() == [words, "true", str(tmp_path)]
    assert (ran.code, ran.errors) == (7, "")


def test_what_the_engine_prints_is_in_no_text_of_the_run(program: Path, tmp_path: Path) -> None:
    write(program, f"echo 'of the stream {TOKEN}'")
    assert TOKEN not in repr(run_preview("bert.dev", tmp_path))


def test_errors_are_without_secrets(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery")
    write(program, f'echo "error: {TOKEN} $PULUMI_CONFIG_PASSPHRASE" >&2', "exit 1")
    ran = run_preview("bert.dev", tmp_path)
    assert (ran.errors, ran.code) == ("error: [secret] [secret]\n", 1)


def test_variables_of_debugging_are_left_out(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "DEBUG_GRPC",
        "DEBUG_COMMANDS",
        "OPTION_SHOW_SECRETS",
        "OPTION_LOGTOSTDERR",
        "OPTION_EVENT_LOG",
        "HOME",
    ):
        monkeypatch.setenv(f"PULUMI_{name}", "yes")
    write(program, "env")
    names = {line.partition("=")[0] for line in run_preview("bert.dev", tmp_path).text.splitlines()}
    assert {name for name in names if name.startswith("PULUMI_")} == {
        "PULUMI_HOME", "PULUMI_SKIP_UPDATE_CHECK", run.STREAMING,
    } | {name for name in os.environ if name.startswith(("PULUMI_CONFIG", "PULUMI_BACKEND"))}  # fmt: skip


@pytest.mark.parametrize(
    "argument",
    ["--debug", "-d", "--logtostderr", "--logflow", "-v9", "--verbose=9", "--show-secrets", "--tracing=file:x", "-rd", "-j", "--stack=x", "-sx", "--event-log=x"],
)  # fmt: skip
def test_options_that_show_secrets_are_refused(program: Path, tmp_path: Path, argument: str) -> None:
    write(program, "touch started")
    with pytest.raises(
        CommandLineError, match=f"`{argument.partition('=')[0]}` cannot be given to the preview of a review: "
    ):
        run_preview("bert.dev", tmp_path, ["--refresh", argument])
    assert not (tmp_path / "started").exists()


def test_other_options_are_not_taken_for_these(program: Path, tmp_path: Path) -> None:
    write(program, "exit 0")
    assert run_preview("bert.dev", tmp_path, ["-cdebug=1", "-tdev", "--diff-free", "dev", "-"]).code == 0


def test_a_machine_without_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="pulumi is not on PATH") as caught:
        run_preview("bert.dev", tmp_path)
    assert "trainform doctor" in caught.value.fix


def test_much_output_on_both_streams_does_not_stop_it(program: Path, tmp_path: Path) -> None:
    write(program, "yes errors | head -c 300000 >&2", "yes events | head -c 300000")
    ran = run_preview("bert.dev", tmp_path)
    assert (len(ran.text), len(ran.errors)) == (300_000, 300_000)


def test_bytes_that_are_no_text(program: Path, tmp_path: Path) -> None:
    write(program, r"printf '\377ok'")
    assert run_preview("bert.dev", tmp_path).text == "\ufffdok"


CALLER = """\
import sys
from pathlib import Path
from typing import Any
from trainform.review.run import run_preview
run_preview("bert.dev", Path(sys.argv[1]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_signal_is_passed_on_once(program: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    write(program, "trap 'echo stopped >> stopped; exit 1' INT", "echo > started", "while :; do sleep 0.05; done")
    with subprocess.Popen([sys.executable, "-c", CALLER, tmp_path], stderr=subprocess.DEVNULL) as caller:
        until = time.monotonic() + 30
        while not (tmp_path / "started").exists() and time.monotonic() < until:
            time.sleep(0.02)
        caller.send_signal(number)
        assert caller.wait(30) == code
    assert (tmp_path / "stopped").read_text() == "stopped\n"


def test_an_engine_that_does_not_stop_is_stopped(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "GRACE_SECONDS", 1.0)
    write(program, "trap '' INT", "echo $$ > started", f"kill -INT {os.getpid()}", "while :; do sleep 0.05; done")
    with pytest.raises(KeyboardInterrupt):
        run_preview("bert.dev", tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


def test_a_signal_while_the_engine_starts_leaves_none_behind(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def interrupted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*words, **options))
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(run, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr("trainform.review.run.subprocess.Popen", interrupted)
    write(program, "sleep 60")
    with pytest.raises(KeyboardInterrupt):
        run_preview("bert.dev", tmp_path)
    assert started[0].returncode in (-signal.SIGINT, -signal.SIGKILL)
