"""What `trainform demo` shows in its first minute: before the tool chain is there, and without waiting for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT, copy_stacks
from trainform.cli.sandbox import spell_contexts
from trainform.job.check import check_experiment

# Lists three packages, compiles two of them, and fails.
GO = """#!/bin/sh
case "$1" in
env) [ "$2" = GOVERSION ] && echo go1.26.0 ;;
list) printf 'go: downloading example.com/a v1\\ntrue a\\ntrue b\\nfalse c\\n' ;;
build) printf 'a\\nb\\n'; echo 'broken on purpose' >&2; exit 1 ;;
esac
exit 0
"""
JOB = check_experiment("sdxl-lora", "dev").or_raise().plan.job
MANIFESTS = f"""
  PersistentVolumeClaim  sdxl-lora-checkpoints
  Service                sdxl-lora
  ConfigMap              {JOB}-launch
  Job                    {JOB}
  ConfigMap              sdxl-lora-deployed
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The stacks of the repository, a Go that fails, and an empty cache."""
    copy_stacks(tmp_path / "clone" / "stacks")
    (tmp_path / "clone" / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(GO)
    (tmp_path / "bin" / "go").chmod(0o755)
    return tmp_path / "clone"


def demo(clone: Path) -> subprocess.CompletedProcess[str]:
    """To its end, which the compiler brings about; standard output and standard error apart."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "TRAINFORM_"))}
    environ |= {
        "PATH": f"{clone.parent / 'bin'}:/usr/bin:/bin",
        "TRAINFORM_CACHE": str(clone.parent / "cache"),
        "TRAINFORM_TOOLCHAIN": "build",
        "FORCE_COLOR": "1",
    }
    words = [sys.executable, "-m", "trainform", "demo"]
    return subprocess.run(words, cwd=clone, env=environ, capture_output=True, text=True, check=False)


def test_the_plan_is_shown_before_the_tool_chain_is_built(clone: Path) -> None:
    done = demo(clone)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert done.returncode == 1
    assert shown.startswith(f"sdxl-lora in dev: volcano job ai-namespace/{JOB} ")
    assert MANIFESTS in shown
    assert "The tool chain is built (about 11 min on 2 cores), once." in shown
    assert "broken on purpose" in done.stderr
    assert "tool chain, controlplane …\n" in done.stderr, "progress goes to standard error"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr), "which is no terminal"


@pytest.mark.parametrize(
    ("aliases", "text"),
    [
        ((), "context trainform-sandbox"),
        (("trainform-sandbox",), "context trainform-sandbox"),
        (("dev-cluster",), "context trainform-sandbox (in stacks and errors: dev-cluster)"),
    ],
)
def test_the_contexts_of_a_sandbox(aliases: tuple[str, ...], text: str) -> None:
    assert spell_contexts("trainform-sandbox", aliases) == text
