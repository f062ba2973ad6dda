"""What `trainform sandbox down` says of what it leaves behind; no sandbox is needed for that, only its folder."""

from __future__ import annotations

import os
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


def test_who_removes_the_passphrase_hears_which_stacks_need_it(own: Path) -> None:
    assert "pulumi read" not in down(own), "the passphrase stays"
    told = down(own, "--purge")
    assert (
        "the passphrase is gone with which pulumi read the secrets in stacks/Pulumi.hello.dev.yaml: delete the line"
        in told
    )
    assert "pulumi read" not in down(own, "--purge"), "there is none any more"


def test_a_passphrase_that_cannot_be_read_is_removed_all_the_same(own: Path) -> None:
    passphrase = Layout(own / ".trainform" / "sandbox").passphrase
    passphrase.unlink()
    os.mkfifo(passphrase)
    assert "pulumi read" not in down(own, "--purge")
    assert not passphrase.exists()


def test_a_shell_with_the_variables_of_the_sandbox_is_told(own: Path) -> None:
    kubeconfig = Layout(own / ".trainform" / "sandbox").kubeconfig
    assert "KUBECONFIG and PULUMI_* of this shell were the sandbox's" in down(own, KUBECONFIG=str(kubeconfig))
    assert "KUBECONFIG" not in down(own, KUBECONFIG="/of/another")
