"""What `trainform sandbox env` says to a shell without a sandbox."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


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
