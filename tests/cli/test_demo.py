"""What `trainform demo` shows in its first minute: before the tool chain is there, and without waiting for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository import ROOT, copy_stacks
from trainform.cli.demo import NEXT
from trainform.cli.overview import show_overview
from trainform.cli.sandbox import spell_contexts
from trainform.examine import examine
from trainform.terminal.screen import screen
from trainform.toolchain import Outlook
from trainform.toolchain.parts import CONTROL_PLANE_PARTS, PULUMI_PARTS

# Lists three packages, compiles two of them, and fails.
GO = """#!/bin/sh
case "$1" in
env) [ "$2" = GOVERSION ] && echo go1.26.0 ;;
list) printf 'go: downloading example.com/a v1\\ntrue a\\ntrue b\\nfalse c\\n' ;;
build) printf 'a\\nb\\n'; echo 'broken on purpose' >&2; exit 1 ;;
esac
exit 0
"""
JOB = examine("sdxl-lora", "dev").plan().job
MANIFESTS = f"""
Its manifests
  PersistentVolumeClaim  sdxl-lora-checkpoints
  Service                sdxl-lora
  ConfigMap              {JOB}-launch
  Job                    {JOB}
"""
ALL = (*CONTROL_PLANE_PARTS, *PULUMI_PARTS)


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
    assert shown.startswith(f"sdxl-lora in dev: volcano job {JOB}\n  master  1 pod   8 a800, shm 20G  ")
    assert MANIFESTS in shown
    assert "  tool chain   built (about 11 min on 2 cores), once\n  sandbox  " in shown
    assert "broken on purpose" in done.stderr
    assert "tool chain, controlplane …\n" in done.stderr, "progress goes to standard error"
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr), "which is no terminal"


def test_it_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show_overview(screen(), examine("sdxl-lora", "dev").plan(), 10, Outlook(("pulumi",), True, ALL))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "  tool chain   downloaded (0.4 GB) or built (about 11 min on 2 cores), once" in lines
    assert "  .venv/bin/trainform render sdxl-lora -e dev" in lines


def test_of_a_tool_chain_that_is_there_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    show_overview(screen(), examine("sdxl-lora", "dev").plan(), 10, Outlook((), False, ()))
    shown = capsys.readouterr().out
    assert MANIFESTS in shown
    assert "What comes now\n  sandbox  " in shown
    assert "tool chain" not in shown
    assert "Meanwhile" not in shown


@pytest.mark.parametrize(
    ("outlook", "way"),
    [
        (Outlook(("kwok",), True, ()), "downloaded (0.4 GB), once"),
        (Outlook(("kwok",), False, CONTROL_PLANE_PARTS[1:]), "built (about 1 min on 2 cores), once"),
    ],
)
def test_only_what_is_allowed_is_told(outlook: Outlook, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_overview(screen(), examine("sdxl-lora", "dev").plan(), 10, outlook)
    assert f"  tool chain   {way}\n" in capsys.readouterr().out


@pytest.mark.parametrize("experiment", ["hello", "resnet"])
def test_names_are_never_cut(
    experiment: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    plan = examine(experiment, "dev").plan()
    show_overview(screen(), plan, 10, Outlook((), False, ()))
    assert re.search(rf"^  Job +{plan.job}$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("aliases", "text"),
    [
        ((), "context trainform-sandbox"),
        (("trainform-sandbox",), "context trainform-sandbox"),
        (("dev-cluster",), "context trainform-sandbox (stacks and errors call it dev-cluster)"),
    ],
)
def test_the_contexts_of_a_sandbox(aliases: tuple[str, ...], text: str) -> None:
    assert spell_contexts("trainform-sandbox", aliases) == text


def test_what_it_says_at_the_end_fits_80_columns() -> None:
    """Shorter than the line: a terminal of 80 columns wraps behind the last one."""
    assert max(len(line) for line in NEXT.format(folder="x").splitlines()) < 80
