"""The part of `make node-v2` that needs no machine with cgroup v2."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.cgroup_v2 import program


def test_the_shell_of_the_machine_reads_the_words_of_the_command() -> None:
    words = ["sh", "-c", "echo 'a  b' \"$0\"", ""]
    settings, found, _ = program(Path("/kernel of 6.1"), words).partition("#!/bin/sh\n# PID 1")
    shown = subprocess.run(
        ["sh", "-eu"], input=f'{settings}printf "%s|" "$KERNEL" "$@"', capture_output=True, text=True
    )
    assert (found != "", shown.stdout) == (True, "|".join(["/kernel of 6.1", *words, ""]))
