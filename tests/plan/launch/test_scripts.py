"""The scripts by themselves, in each shell of training images. `tests/local/rehearsal/test_ssh_world.py` has them among
real pods."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.launch.starting import here, run
from trainform.plan.launch.prepare import SSHD_CONFIG, ssh_files, sshd_config
from trainform.plan.launch.scripts import script

SESSION, SSHD, WAIT = script("session.sh"), script("sshd.sh"), script("wait.sh", ["at-once"])
ONE_BY_ONE = script("wait.sh", ["one-by-one"])
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def session(shell: Path, folder: Path, pod: Mapping[str, str], command: str) -> subprocess.CompletedProcess[str]:
    """A session in a container with these variables, as sshd would start it: with hardly any of its own."""
    saved = folder / "environment"
    saved.write_bytes(run(shell, "export -p", env=pod).stdout.encode())
    return run(shell, SESSION, str(saved), env={"SSH_ORIGINAL_COMMAND": command, "NCCL_DEBUG": "of sshd"})


def test_only_sshd_config_depends_on_the_user() -> None:
    root, other = ssh_files("/root/.ssh"), ssh_files("/home/trainer/.ssh")
    assert {name for name in root if root[name] != other[name]} == {SSHD_CONFIG}
    assert sshd_config("/home/trainer/.ssh") == sshd_config("/root/.ssh").replace("/root/", "/home/trainer/")


@settings(max_examples=10)
@given(values=st.lists(VALUES, min_size=1, max_size=8))
def test_a_session_sees_the_container_s_variables(
    shell: Path, values: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pod = {f"GIVEN_{index}": value for index, value in enumerate(values)}
    words = " ".join(f'"${name}"' for name in pod)
    done = session(shell, tmp_path_factory.mktemp("session"), {**pod, "UID": "7"}, f"printf '%s.' {words}")
    assert (done.stdout, done.stderr) == ("".join(f"{value}." for value in values), "")


def test_variables_of_the_caller_win(shell: Path, tmp_path: Path) -> None:
    pod = {"NCCL_DEBUG": "INFO", "RANK": "1"}
    done = session(shell, tmp_path, pod, "export RANK=3; echo $NCCL_DEBUG $RANK ${SSH_ORIGINAL_COMMAND-unset}")
    assert done.stdout == "INFO 3 unset\n"


@pytest.mark.parametrize("command", ["exit 7", "kill -9 $$", "no-such-command"])
def test_exit_codes_pass(command: str, shell: Path, tmp_path: Path) -> None:
    expected = subprocess.run(["sh", "-c", command], capture_output=True, timeout=20, check=False).returncode
    assert session(shell, tmp_path, {}, command).returncode == expected


def test_a_session_starts_where_the_container_did(shell: Path, tmp_path: Path) -> None:
    (tmp_path / "environment").write_text(f"export PWD='{tmp_path}'\n")
    done = run(shell, SESSION, str(tmp_path / "environment"), env={"SSH_ORIGINAL_COMMAND": "pwd"})
    assert done.stdout == f"{tmp_path}\n"


def test_a_missing_file_of_variables_is_an_error(shell: Path, tmp_path: Path) -> None:
    done = run(shell, SESSION, str(tmp_path / "gone"), env={"SSH_ORIGINAL_COMMAND": "true"})
    assert (done.returncode, done.stderr) == (
        1,
        f"trainform: {tmp_path}/gone is gone, and with it the container's variables\n",
    )


@pytest.mark.parametrize("text", [WAIT, ONE_BY_ONE])
def test_names_that_are_known(text: str, shell: Path, tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("# all of them\n\nlocalhost slots=8\n127.0.0.1 slots=8\nlocalhost")
    done = run(shell, text, "names", str(hostfile), "localhost", env={"TRAINFORM_WAIT_SECONDS": "20"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def not_known(shell: Path, *hosts: str, env: Mapping[str, str], text: str = WAIT) -> list[str]:
    """The lines of wait.sh about missing hosts, where the first of these hosts is known. A busy machine gets more
    time."""
    for seconds in (1, 3, 30):
        done = run(shell, text, "names", *hosts, env={**env, "TRAINFORM_WAIT_SECONDS": str(seconds)})
        if "timed out" not in done.stderr and f"  {hosts[0]}: " not in done.stderr:
            break
    assert done.returncode == 1
    head = f"trainform: {len(hosts) - 1} of {len(hosts)} hosts did not answer within {seconds} s:"
    lines = [line for line in done.stderr.splitlines() if "waiting for" not in line]
    assert lines[0] == head
    return lines[1:]


def test_missing_names_are_reported(shell: Path) -> None:
    started = time.monotonic()
    assert not_known(shell, "localhost", "w-1.trainform.invalid", "w-0.trainform.invalid", env={}) == [
        "  w-0.trainform.invalid: its name is not in DNS; its pod has not been made",
        "  w-1.trainform.invalid: its name is not in DNS; its pod has not been made",
    ]
    assert time.monotonic() - started >= 1


def test_missing_names_of_all_pods_are_reported(shell: Path) -> None:
    why = "its name is not in DNS; its pod has no node, or has not started"
    hosts = ("localhost", "w-1.trainform.invalid", "w-0.trainform.invalid")
    assert not_known(shell, *hosts, env={}, text=ONE_BY_ONE) == [
        f"  w-0.trainform.invalid: {why}",
        f"  w-1.trainform.invalid: {why}",
    ]


def test_a_known_name_is_not_looked_up_again(shell: Path, tmp_path: Path) -> None:
    """Sixteen pods that look up the names of all, of which one is missing."""
    hosts = [f"w-{number}" for number in range(16)]
    getent = tmp_path / "getent"
    getent.write_text(f'#!/bin/sh\necho "$2" >>{tmp_path}/asked\n[ "$2" != w-7 ]\n')
    getent.chmod(0o755)
    env = {"TRAINFORM_WAIT_SECONDS": "4", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run(shell, ONE_BY_ONE, "names", *hosts, env=env)
    assert (done.returncode, "1 of 16 hosts did not answer within 4 s:" in done.stderr) == (1, True)
    asked = (tmp_path / "asked").read_text().split()
    assert sorted({*asked}) == sorted(hosts)
    assert 2 <= asked.count("w-7") <= 5
    assert len(asked) - asked.count("w-7") == 15


@pytest.mark.parametrize("text", [WAIT, ONE_BY_ONE])
def test_a_name_that_comes_later_is_waited_for(text: str, shell: Path, tmp_path: Path) -> None:
    """Through a getent of the image's that knows it from the second question on."""
    getent = tmp_path / "getent"
    getent.write_text(f'#!/bin/sh\necho x >>{tmp_path}/asked\n[ "$(wc -l <{tmp_path}/asked)" -ge 2 ]\n')
    getent.chmod(0o755)
    env = {"TRAINFORM_WAIT_SECONDS": "30", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run(shell, text, "names", "later", env=env).returncode == 0
    assert (tmp_path / "asked").read_text() == "x\nx\n"


def test_a_list_of_missing_hosts_that_fails_does_not_end_the_wait(tmp_path: Path) -> None:
    """As busybox's ls does when a host answers while it lists them."""
    listing = tmp_path / "ls"
    listing.write_text(f'#!/bin/sh\n{shutil.which("ls")} "$@"\nexit 1\n')
    listing.chmod(0o755)
    env = {"TRAINFORM_WAIT_SECONDS": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run(Path("/bin/sh"), WAIT, "names", "w-0.trainform.invalid", env=env)
    assert (done.returncode, "1 of 1 hosts did not answer" in done.stderr) == (1, True)


def test_progress_names_a_few_of_many() -> None:
    hosts = [f"w-{number}.trainform.invalid" for number in range(6)]
    done = run(Path("/bin/sh"), WAIT.replace("-ge 15", "-ge 1"), "names", *hosts, env={"TRAINFORM_WAIT_SECONDS": "4"})
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


def test_without_getent_python_looks_names_up(shell: Path, tmp_path: Path) -> None:
    found = not_known(shell, "localhost", "w.trainform.invalid", env=only(tmp_path, *BARE, "python3"))
    assert found == ["  w.trainform.invalid: its name is not in DNS; its pod has not been made"]


def test_without_getent_and_python_no_pod_waits(shell: Path, tmp_path: Path) -> None:
    done = run(shell, WAIT, "names", "w.trainform.invalid", env=only(tmp_path, *BARE))
    reason = "the image has neither getent nor python3 to look names up; not waiting for any"
    assert (done.returncode, done.stderr) == (0, f"trainform: {reason}\n")


def test_without_ssh_waiting_for_sshd_is_an_error(shell: Path, tmp_path: Path) -> None:
    done = run(shell, WAIT, "ssh", "w.trainform.invalid", env=only(tmp_path, *BARE))
    assert (done.returncode, done.stderr) == (1, "trainform: the image has no ssh; install openssh-client in it\n")


@pytest.mark.parametrize("text", [WAIT, ONE_BY_ONE])
def test_the_folder_of_the_state_is_removed(text: str, shell: Path, tmp_path: Path) -> None:
    env = {"TRAINFORM_WAIT_SECONDS": "1", "TMPDIR": str(tmp_path)}
    assert run(shell, text, "names", "localhost", "w.trainform.invalid", env=env).returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_a_pod_without_an_ssh_port_starts_no_sshd(shell: Path) -> None:
    assert run(shell, SSHD, "background", env={}).returncode == 0
    done = run(shell, SSHD, "foreground", env={})
    assert done.returncode != 0
    assert "TRAINFORM_SSH_PORT" in done.stderr


SSHD_STAND_IN = """#!/bin/sh
echo "$*" >>"${0%/*}/asked"
case "${OLD:-} $*" in old*PerSourcePenalties*) exit 255 ;; esac
"""


def sshd(shell: Path, folder: Path, how: str, **env: str) -> list[str]:
    """The words that sshd.sh starts sshd with, each time, in an image with this sshd and an empty /run."""
    (folder / "run").mkdir()
    server = folder / "sshd"
    server.write_text(SSHD_STAND_IN)
    server.chmod(0o755)
    text = SSHD.replace("/usr/sbin/sshd", str(server)).replace("/run", f"{folder}/run")
    done = run(shell, f'set -- "$@"\n{text}\nwait', how, env={"TRAINFORM_SSH_PORT": "2222", **env})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return (folder / "asked").read_text().splitlines()


@pytest.mark.parametrize("how", ["background", "foreground"])
@pytest.mark.parametrize("version", ["old", "new"])
def test_sshd_is_started_with_options_that_it_knows(how: str, version: str, shell: Path, tmp_path: Path) -> None:
    *tried, started = sshd(shell, tmp_path, how, OLD=version)
    assert [words.split()[0] for words in tried] == ["-t", "-t"]
    assert started.startswith(
        "-D -e -f /etc/trainform/sshd_config -p 2222 -o ForceCommand=/bin/sh /etc/trainform/session.sh "
    )
    assert started.endswith("-o PerSourcePenalties=no") is (version == "new")


def test_only_the_user_reads_the_saved_variables(shell: Path, tmp_path: Path) -> None:
    sshd(shell, tmp_path, "background", TOKEN="hunter2")  # noqa: S106 - of no system
    (saved,) = tmp_path.glob("run/trainform.*/environment")
    assert "hunter2" in saved.read_text()
    assert (saved.parent.stat().st_mode & 0o777, saved.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_pod_that_serves_becomes_sshd(shell: Path, tmp_path: Path) -> None:
    (tmp_path / "sshd.sh").write_text('echo "$$ $*"\n')
    text = here(script("start.sh") + script("serve.sh"), tmp_path, shell)
    process = subprocess.Popen([shell, "-c", text], stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=60)
    assert output == f"{process.pid} foreground\n"


def test_a_pod_for_the_operator_s_agent_ends_when_it_is_asked_to(shell: Path) -> None:
    """Long before the hour for which it sleeps."""
    text = (script("start.sh") + script("keep_up.sh")).replace("  wait", "  echo up\n  wait")
    process = subprocess.Popen([shell, "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # as the container ends with its first process
        process.communicate(timeout=60)
