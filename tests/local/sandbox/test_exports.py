"""The exports, evaluated by a real shell, and the commands as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.exports import exports
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.shows("the way into a sandbox")


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainform", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_shell_that_evaluates_them_works_in_the_sandbox(sandbox: Sandbox, toolchain: Toolchain) -> None:
    printed = _run("sandbox", "env", TRAINFORM_SANDBOX=str(sandbox.folder))
    assert printed.returncode == 0, printed.stderr
    passphrase = (sandbox.folder / "passphrase").read_text()
    assert passphrase not in printed.stdout
    script = 'eval "$EXPORTS"; pulumi whoami && pulumi plugin ls && env'
    # A passphrase in the user's shell would win over the file.
    environment = {**os.environ, "EXPORTS": printed.stdout, "PULUMI_CONFIG_PASSPHRASE": "mine"}
    shell = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert shell.returncode == 0, shell.stderr
    assert "kubernetes" in shell.stdout
    seen = dict(line.split("=", 1) for line in shell.stdout.splitlines() if "=" in line)
    assert seen["KUBECONFIG"] == str(sandbox.kubeconfig)
    assert seen["PULUMI_BACKEND_URL"] == f"file://{sandbox.folder}/pulumi-state?metadata=skip"
    assert "PULUMI_CONFIG_PASSPHRASE" not in seen
    assert seen["PATH"].split(os.pathsep)[0] == str(toolchain.pulumi.bin) or toolchain.pulumi.origin == "system"


def test_env_as_json_equals_the_exports(sandbox: Sandbox) -> None:
    found = exports(sandbox.folder)
    printed = _run("sandbox", "env", "--output", "json", "--folder", str(sandbox.folder))
    assert json.loads(printed.stdout) == {"unset": ["PULUMI_CONFIG_PASSPHRASE"], "export": found}
    assert found["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(sandbox.folder / "passphrase")
    assert found["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"


def test_status_as_a_table_as_json_and_as_exit_code(sandbox: Sandbox, tmp_path: Path) -> None:
    table = _run("sandbox", "status", "--folder", str(sandbox.folder))
    assert table.returncode == 0
    assert "kube-apiserver" in table.stdout
    assert "6 of 6 nodes ready" in table.stdout
    machine = _run("sandbox", "status", "--output", "json", "--folder", str(sandbox.folder))
    assert json.loads(machine.stdout)["running"] is True
    nothing = _run("sandbox", "status", "--folder", str(tmp_path / "none"))
    assert nothing.returncode == 1
    assert "not running" in nothing.stdout


def test_up_as_json(sandbox: Sandbox) -> None:
    """The sandbox is up already. Progress is on standard error; with --quiet there is none."""
    words = ("sandbox", "up", "--output", "json", "--folder", str(sandbox.folder))
    done, quiet = _run(*words), _run(*words, "-q")
    assert (done.returncode, quiet.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(quiet.stdout)
    assert json.loads(done.stdout) == {
        "ok": True,
        "folder": str(sandbox.folder),
        "url": sandbox.url,
        "context": sandbox.context,
        "uid": sandbox.uid,
        "nodes": 6,
        "real_nodes": 0,
        "addons": [],
        "next": [f'eval "$(trainform sandbox env --folder {sandbox.folder})"'],
    }


def test_verbs_without_a_sandbox_say_what_to_do(tmp_path: Path) -> None:
    folder = str(tmp_path / "none")
    missing = _run("sandbox", "env", "--folder", folder)
    assert (missing.returncode, missing.stdout) == (1, "false\n")
    assert f"run `trainform sandbox up -e dev --folder {folder}`" in missing.stderr
    assert _run("sandbox", "down", "--folder", folder).returncode == 0
    assert not (tmp_path / "none").exists()
    assert _run("sandbox", "up", "-e", "no-such-environment", "--folder", folder).returncode == 2
