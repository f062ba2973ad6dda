"""The shell texts by themselves, in every POSIX shell of this machine. `tests/rehearsal/test_ssh_world.py` has them among real pods."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainform.plan import ssh_scripts
from trainform.plan.checkout import CHECKOUT
from trainform.plan.ssh_scripts import SESSION, SSHD, WAIT, ssh_files, sshd_config

SHELLS = [shell for shell in (("dash",), ("busybox", "sh"), ("bash", "--posix")) if shutil.which(shell[0]) is not None]
SCRIPTS = {"session.sh": SESSION, "sshd.sh": SSHD, "wait.sh": WAIT, "checkout.sh": CHECKOUT}
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)

shells = pytest.mark.parametrize("shell", SHELLS, ids=" ".join)


def run(shell: tuple[str, ...], script: str, *words: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The script in this shell, with these variables and PATH alone. Carriage returns stay what they are."""
    command = [*shell, "-c", script, "script", *words]
    everything = {"PATH": os.environ["PATH"], **env}
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, env=everything)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def session(
    shell: tuple[str, ...], folder: Path, pod: Mapping[str, str], command: str
) -> subprocess.CompletedProcess[str]:
    """A session in a container with these variables, as sshd would start it: with hardly any of its own."""
    saved = folder / "environment"
    saved.write_bytes(run(shell, "export -p", env=pod).stdout.encode())
    return run(shell, SESSION, str(saved), env={"SSH_ORIGINAL_COMMAND": command, "NCCL_DEBUG": "of sshd"})


@shells
@pytest.mark.parametrize("name", SCRIPTS)
def test_every_shell_reads_them(name: str, shell: tuple[str, ...]) -> None:
    done = subprocess.run([*shell, "-n"], input=SCRIPTS[name], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck on this machine")
@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str) -> None:
    """But what is meant: bash's own option, a file named at run time, lists of hosts that become words, and words for another shell."""
    command = ["shellcheck", "-s", "sh", "-e", "SC3040,SC1090,SC2086,SC2016", "-"]
    done = subprocess.run(command, input=SCRIPTS[name], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_nothing_depends_on_the_user() -> None:
    root, other = ssh_files("/root/.ssh"), ssh_files("/home/trainer/.ssh")
    assert {name for name in root if root[name] != other[name]} == {ssh_scripts.SSHD_CONFIG}
    assert sshd_config("/home/trainer/.ssh") == sshd_config("/root/.ssh").replace("/root/", "/home/trainer/")


@shells
@settings(max_examples=10)
@given(values=st.lists(VALUES, min_size=1, max_size=8))
def test_a_session_sees_the_container_s_variables(
    shell: tuple[str, ...], values: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pod = {f"GIVEN_{index}": value for index, value in enumerate(values)}
    words = " ".join(f'"${name}"' for name in pod)
    done = session(shell, tmp_path_factory.mktemp("session"), {**pod, "UID": "7"}, f"printf '%s.' {words}")
    assert (done.stdout, done.stderr) == ("".join(f"{value}." for value in values), "")


@shells
def test_the_caller_s_word_comes_last(shell: tuple[str, ...], tmp_path: Path) -> None:
    pod = {"NCCL_DEBUG": "INFO", "RANK": "1"}
    done = session(shell, tmp_path, pod, "export RANK=3; echo $NCCL_DEBUG $RANK ${SSH_ORIGINAL_COMMAND-unset}")
    assert done.stdout == "INFO 3 unset\n"


@shells
@pytest.mark.parametrize("command", ["exit 7", "kill -9 $$", "no-such-command"])
def test_exit_codes_pass(command: str, shell: tuple[str, ...], tmp_path: Path) -> None:
    expected = subprocess.run(["sh", "-c", command], capture_output=True, timeout=20, check=False).returncode
    assert session(shell, tmp_path, {}, command).returncode == expected


@shells
def test_a_session_starts_where_the_container_did(shell: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "environment").write_text(f"export PWD='{tmp_path}'\n")
    done = run(shell, SESSION, str(tmp_path / "environment"), env={"SSH_ORIGINAL_COMMAND": "pwd"})
    assert done.stdout == f"{tmp_path}\n"


@shells
def test_variables_that_are_gone(shell: tuple[str, ...], tmp_path: Path) -> None:
    done = run(shell, SESSION, str(tmp_path / "gone"), env={"SSH_ORIGINAL_COMMAND": "true"})
    assert (done.returncode, done.stderr) == (
        1,
        f"trainform: {tmp_path}/gone is gone, and with it the container's variables\n",
    )


@shells
def test_names_that_are_known(shell: tuple[str, ...], tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("# all of them\n\nlocalhost slots=8\n127.0.0.1 slots=8\nlocalhost")
    done = run(shell, WAIT, "names", str(hostfile), "localhost", env={"TRAINFORM_WAIT_SECONDS": "20"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def not_known(shell: tuple[str, ...], *hosts: str, env: Mapping[str, str]) -> list[str]:
    """What is said of hosts of which one at least is known; a machine that is busy gets more time."""
    for seconds in (1, 3, 30):
        done = run(shell, WAIT, "names", *hosts, env={**env, "TRAINFORM_WAIT_SECONDS": str(seconds)})
        if "timed out" not in done.stderr and f"  {hosts[0]}: " not in done.stderr:
            break
    assert done.returncode == 1
    head = f"trainform: {len(hosts) - 1} of {len(hosts)} hosts did not answer within {seconds} s:"
    lines = [line for line in done.stderr.splitlines() if "waiting for" not in line]
    assert lines[0] == head
    return lines[1:]


@shells
def test_names_that_are_missing_are_told(shell: tuple[str, ...]) -> None:
    started = time.monotonic()
    assert not_known(shell, "localhost", "w-1.trainform.invalid", "w-0.trainform.invalid", env={}) == [
        "  w-0.trainform.invalid: its name is not in DNS; its pod has not been made",
        "  w-1.trainform.invalid: its name is not in DNS; its pod has not been made",
    ]
    assert time.monotonic() - started >= 1


@shells
def test_a_name_that_comes_later_is_waited_for(shell: tuple[str, ...], tmp_path: Path) -> None:
    """Through a getent of the image's that knows it from the second question on."""
    getent = tmp_path / "getent"
    getent.write_text(f'#!/bin/sh\necho x >>{tmp_path}/asked\n[ "$(wc -l <{tmp_path}/asked)" -ge 2 ]\n')
    getent.chmod(0o755)
    env = {"TRAINFORM_WAIT_SECONDS": "30", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run(shell, WAIT, "names", "later", env=env).returncode == 0
    assert (tmp_path / "asked").read_text() == "x\nx\n"


def test_progress_names_a_few_of_many() -> None:
    hosts = [f"w-{number}.trainform.invalid" for number in range(6)]
    done = run(("sh",), WAIT.replace("-ge 15", "-ge 1"), "names", *hosts, env={"TRAINFORM_WAIT_SECONDS": "4"})
    shown = " ".join(hosts[:4])
    assert f"trainform: waiting for 6 of 6: {shown} and 2 more" in done.stderr


def only(folder: Path, *programs: str) -> dict[str, str]:
    """An image with these programs and no others."""
    for program in programs:
        # not what is first on PATH: a version manager's shim needs programs of its own
        found = sys.executable if program == "python3" else shutil.which(program)
        assert found is not None
        (folder / program).symlink_to(Path(found).resolve())
    return {"PATH": str(folder), "TRAINFORM_WAIT_SECONDS": "2"}


BARE = ("date", "mktemp", "rm", "mv", "ls", "cat", "sleep", "tail")


def test_without_getent_python_looks_names_up(tmp_path: Path) -> None:
    found = not_known(("/bin/sh",), "localhost", "w.trainform.invalid", env=only(tmp_path, *BARE, "python3"))
    assert found == ["  w.trainform.invalid: its name is not in DNS; its pod has not been made"]


def test_without_either_nobody_waits(tmp_path: Path) -> None:
    done = run(("/bin/sh",), WAIT, "names", "w.trainform.invalid", env=only(tmp_path, *BARE))
    reason = "the image has neither getent nor python3 to look names up; not waiting for any"
    assert (done.returncode, done.stderr) == (0, f"trainform: {reason}\n")


def test_without_ssh_nobody_waits_for_it(tmp_path: Path) -> None:
    done = run(("/bin/sh",), WAIT, "ssh", "w.trainform.invalid", env=only(tmp_path, *BARE))
    assert (done.returncode, done.stderr) == (1, "trainform: the image has no ssh; install openssh-client in it\n")


def test_nothing_stays_behind(tmp_path: Path) -> None:
    env = {"TRAINFORM_WAIT_SECONDS": "1", "TMPDIR": str(tmp_path)}
    assert run(("sh",), WAIT, "names", "localhost", "w.trainform.invalid", env=env).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_a_pod_without_a_port_serves_nobody() -> None:
    assert run(("sh",), SSHD, "background", env={}).returncode == 0
    done = run(("sh",), SSHD, "foreground", env={})
    assert done.returncode != 0
    assert "TRAINFORM_SSH_PORT" in done.stderr
