"""What `trainform sandbox` says without a sandbox: of what `down` leaves behind, and `env` to the shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.test_salts import PASSPHRASE, SALTED
from trainform.sandbox.folder import Layout


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A project with a sandbox that was ended, in which `hello` was made; `mnist` is of another passphrase."""
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.hello.dev.yaml").write_text(SALTED)
    (tmp_path / "stacks" / "Pulumi.mnist.dev.yaml").write_text(SALTED.replace("L3jw4eYLX50=", "M3jw4eYLX50="))
    layout = Layout(tmp_path / ".trainform" / "sandbox")
    layout.make()
    layout.passphrase.write_text(PASSPHRASE)
    return tmp_path


def down(project: Path, *options: str, **variables: str) -> str:
    words = [sys.executable, "-m", "trainform", "sandbox", "down", *options]
    environ = {**os.environ, **variables}
    return subprocess.run(words, cwd=project, env=environ, capture_output=True, text=True, check=True).stdout


def test_purge_names_the_stacks_that_need_the_passphrase(own: Path) -> None:
    assert "no longer read" not in down(own), "the passphrase stays"
    told = down(own, "--purge")
    assert (
        "pulumi can no longer read the secrets in stacks/Pulumi.hello.dev.yaml, since their passphrase was removed: "
        "delete the line `encryptionsalt` of each of these files, and set its secrets again" in told
    )
    assert "no longer read" not in down(own, "--purge"), "there is none any more"


def test_a_passphrase_that_cannot_be_read_is_removed_all_the_same(own: Path) -> None:
    passphrase = Layout(own / ".trainform" / "sandbox").passphrase
    passphrase.unlink()
    os.mkfifo(passphrase)
    assert "no longer read" not in down(own, "--purge")
    assert not passphrase.exists()


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_a_shell_does_not_go_on_without_a_sandbox(shell: str, tmp_path: Path) -> None:
    """`eval ""` succeeds: what follows would work on the user's own cluster and stacks."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    command = f"{shlex.quote(sys.executable)} -m trainform sandbox env --folder {tmp_path / 'none'}"
    script = f'eval "$({command})" && echo further; set -e; eval "$({command})"; echo even further'
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("trainform: no sandbox is up in") == 2
