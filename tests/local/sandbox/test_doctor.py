"""The doctor in a shell outside of a running sandbox, and in a shell that uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.exports import exports

pytestmark = pytest.mark.shows("the doctor's way into a sandbox")
ENTER = 'eval "$(trainform sandbox env)"'
LAB = "name: lab\nnamespace: {{name: team-vision}}\ncluster: {{context: {context}}}\n"
CHECKS_THAT_A_SANDBOX_FIXES = ("pulumi", "kubeconfig")


def checks(folder: Path, *words: str, **variables: str) -> dict[str, Any]:
    """Return the doctor's checks in a shell without programs and files, with these variables."""
    nothing = {"PATH": str(folder), "HOME": str(folder), "DOCKER_HOST": f"unix://{folder}/docker.sock"}
    cache = {name: value for name, value in os.environ.items() if name.startswith("TRAINFORM_")}
    done = subprocess.run(
        [sys.executable, "-m", "trainform", "doctor", "--output", "json", "--timeout", "60", *words],
        cwd=folder, env={**nothing, **cache, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)["checks"]
    return found


@pytest.mark.parametrize(("context", "offered"), [(None, True), ("dev-cluster", True), ("prod-cluster", False)])
def test_doctor_offers_a_running_sandbox_to_a_shell_outside_of_it(
    sandbox: Sandbox, tmp_path: Path, context: str | None, offered: bool
) -> None:
    """The sandbox is not offered for an environment whose context it does not have."""
    (tmp_path / "lab.yaml").write_text(LAB.format(context=context))
    words = () if context is None else ("-e", "./lab.yaml")
    found = checks(tmp_path, *words, TRAINFORM_SANDBOX=str(sandbox.folder))
    assert [found[name]["state"] for name in CHECKS_THAT_A_SANDBOX_FIXES] == ["missing"] * 2
    assert [found[name]["fix"] == ENTER for name in CHECKS_THAT_A_SANDBOX_FIXES] == [offered] * 2
    assert found["docker"]["fix"] != ENTER


def test_doctor_finds_everything_in_a_shell_that_uses_the_sandbox(sandbox: Sandbox, tmp_path: Path) -> None:
    variables = {**exports(sandbox.folder), "TRAINFORM_SANDBOX": str(sandbox.folder)}
    found = checks(tmp_path, **variables)
    assert {found[name]["state"] for name in ("pulumi", "pulumi_login", "kubeconfig", "cluster")} == {"ok"}
    assert ENTER not in [check["fix"] for check in found.values()]
