"""`pulumi preview` as the review runs it: a program in its place says what it was given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_runs import run_preview
from tests.support.leaks import HUB_TOKEN as TOKEN
from trainform.deployed import preview_runs
from trainform.deployed.preview_runs import EngineRun, finished, previews_in


def test_the_engine_is_asked_for_its_events(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text('#!/bin/sh\necho "$@"; echo "$PULUMI_ENABLE_STREAMING_JSON_PREVIEW"; pwd; cat; exit 7\n')
    ran = run_preview("bert.dev", tmp_path, ["--refresh", "-p", "4", "--target", "x"])
    words = "preview --json --non-interactive --color never --refresh -p 4 --target x -s bert.dev"
    assert ran.text.splitlines() == [words, "true", str(tmp_path)]
    assert (ran.code, ran.errors) == (7, "")
    assert words not in repr(ran)


def test_errors_are_without_secrets(pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse battery")
    coloured = f"printf 'error: \\033[35m{TOKEN}\\033[0m\\n' >&2"
    pulumi.write_text(f'#!/bin/sh\n{coloured}; echo "not $PULUMI_CONFIG_PASSPHRASE" >&2; exit 1\n')
    ran = run_preview("bert.dev", tmp_path)
    assert (ran.errors, ran.code) == ("[secret]\nnot [secret]\n", 1)


def test_an_error_of_the_caller_ends_all(pulumi: Path, tmp_path: Path) -> None:
    pulumi.write_text("#!/bin/sh\necho $$ > started; exec sleep 600\n")

    def fail() -> None:
        until = time.monotonic() + 30
        while not (tmp_path / "started").exists() and time.monotonic() < until:
            time.sleep(0.02)
        raise OSError(28, "No space left on device")

    ran: list[Future[EngineRun]] = []
    with pytest.raises(OSError, match="No space"), previews_in(tmp_path) as begin:
        ran.append(begin("bert.dev"))
        fail()
    assert ran[0].result(1).code == -signal.SIGINT


WAITING = """\
#!/bin/sh
while [ "$1" != -s ]; do shift; done; stack=$2
trap 'echo stopped >> stopped.$stack; exit 1' INT
echo > started.$stack
while :; do sleep 0.05; done
"""
CALLER = """\
import sys
from concurrent.futures import Future
from pathlib import Path
from trainform.deployed import preview_runs
preview_runs.MOST_AT_ONCE = 2
preview_runs.os.cpu_count = lambda: 2
with preview_runs.previews_in(Path(sys.argv[1])) as begin:
    runs = [begin(stack) for stack in ("bert.dev", "hello.dev", "resnet.dev")]
    [preview_runs.finished(each) for each in runs]
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_signal_is_passed_on_once_to_all(pulumi: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    """The third stack waits for one of the others: its preview does not begin any more."""
    pulumi.write_text(WAITING)
    with subprocess.Popen([sys.executable, "-c", CALLER, tmp_path], stderr=subprocess.DEVNULL) as caller:
        until = time.monotonic() + 30
        while len([*tmp_path.glob("started.*")]) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        caller.send_signal(number)
        assert caller.wait(30) == code
    assert {path.name: path.read_text() for path in tmp_path.glob("stopped.*")} == {
        "stopped.bert.dev": "stopped\n",
        "stopped.hello.dev": "stopped\n",
    }
    assert not (tmp_path / "started.resnet.dev").exists()


def test_a_signal_while_the_engine_starts_leaves_none_behind(
    pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def interrupted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*words, **options))
        os.kill(os.getpid(), signal.SIGINT)  # to the process, as a terminal does
        return started[0]

    monkeypatch.setattr(preview_runs, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr("trainform.deployed.preview_runs.subprocess.Popen", interrupted)
    pulumi.write_text("#!/bin/sh\nsleep 60\n")
    with pytest.raises(KeyboardInterrupt):
        run_preview("bert.dev", tmp_path)
    assert started[0].returncode in (-signal.SIGINT, -signal.SIGKILL)


FILE = "stacks/Pulumi.bert.dev.yaml"
CONFIG = "config:\n  trainform:experiment: bert # ours\n"
PULUMI = """#!/bin/sh
case "$PULUMI_BACKEND_URL" in
  file:///*trainform-preview-*) ;;
  *) echo "error: no stack named 'bert.dev' found" >&2; exit 6 ;;
esac
[ "$1 $2" = "stack init" ] && { echo "encryptionsalt: v1:new" >> stacks/Pulumi.bert.dev.yaml; exit; }
pwd; cat stacks/Pulumi.bert.dev.yaml; ls . stacks; echo "passphrase ${#PULUMI_CONFIG_PASSPHRASE}"
echo "in $(pwd)" >&2
"""


@pytest.fixture
def root(pulumi: Path, tmp_path: Path) -> Path:
    """A project whose backend has no stack."""
    root = tmp_path / "vision"
    (root / "stacks" / "experiments").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: vision\nruntime: python\nmain: stacks\n")
    (root / FILE).write_text(f"encryptionsalt: v1:old\n{CONFIG}")
    (root / "stacks" / "__main__.py").touch()
    pulumi.write_text(PULUMI)
    return root


def preview(root: Path) -> EngineRun:
    with previews_in(root) as begin:
        return finished(begin("bert.dev"))


def test_it_runs_in_a_copy_and_leaves_the_project_as_it_was(root: Path) -> None:
    before = (root / FILE).read_text()
    found = preview(root)
    assert (found.code, found.errors) == (0, f"in {root}\n"), "no path of the copy is shown"
    assert found.note.startswith("The backend does not have the stack bert.dev")
    lines = found.text.splitlines()
    assert lines[0] == str(root)
    assert "\n".join(lines[1:4]) == f"{CONFIG}encryptionsalt: v1:new", "without the salt of another passphrase"
    assert {"Pulumi.yaml", "__main__.py", "experiments", "passphrase 32"} <= {*lines}
    assert (root / FILE).read_text() == before


def test_encrypted_values_need_their_passphrase(root: Path) -> None:
    (root / FILE).write_text(f"{CONFIG}  trainform:sshSecret:\n    secure: v1:abc\n")
    found = preview(root)
    assert found.code == 6
    assert found.errors.startswith("error: not previewed: needs its passphrase")


def test_a_stack_without_a_file_is_not_copied(root: Path) -> None:
    (root / FILE).unlink()
    assert "no stack named" in preview(root).errors
