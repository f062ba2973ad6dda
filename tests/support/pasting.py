"""A shell in a terminal, into which text is pasted as by a user.

All lines of a block arrive at once, and the terminal marks no pastes ("bracketed paste"). That is the harder of the two
ways: a command that reads its terminal takes the lines behind it, and they never reach the shell. Every command of
Pulumi does, since it asks the terminal for its colours.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

# With pipefail a failure anywhere in a pipeline is seen; `sh` does not have it.
SHELLS = {"bash": ("bash", "--norc", "--noprofile", "-o", "pipefail", "-i"), "sh": ("sh", "-i")}
ROWS, COLUMNS = 50, 160
QUIET_SECONDS = 20.0  # a shell that waits at its prompt for this time has read all its input
MOST_SILENT_SECONDS = 300.0  # a command without output for this time asks a question, or hangs
CURSOR_QUERY, CURSOR_ANSWER = (
    b"\x1b[6n",
    b"\x1b[1;1R",
)  # every terminal answers it; without an answer programs wait for seconds
_PROMPT = re.compile(r"<exit code (\d+)> ")
# A terminal's window ends its programs by SIGHUP, which `nohup` makes its children ignore.
_LOGIN = (
    "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); os.login_tty(int(sys.argv[1])); "
    "os.execvp(sys.argv[2], sys.argv[2:])"
)


@dataclasses.dataclass(frozen=True)
class Pasted:
    """The output of a paste, and the exit code of each line; there are fewer codes if a command read the lines after
    it."""

    lines: Sequence[str]
    codes: Sequence[int]
    shown: str

    def succeeded(self) -> str:
        """Return the output; fail the test if a line was not run, or failed."""
        assert list(self.codes) == [0] * len(self.lines), (
            f"{list(zip(self.lines, self.codes, strict=False))}\n{self.shown}"
        )
        return self.shown


class PastingShell:
    """One interactive shell of `SHELLS`, with these variables and no others; it ends with the `with` block."""

    def __init__(self, kind: str, folder: Path, environ: Mapping[str, str]) -> None:
        self._terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        words = [sys.executable, "-c", _LOGIN, str(inner), *SHELLS[kind]]
        prompt = {"PS1": "<exit code $?> "}  # of the line before
        self._shell = subprocess.Popen(words, cwd=folder, env={**environ, **prompt}, pass_fds=[inner])
        os.close(inner)
        self._await(1)

    def __enter__(self) -> PastingShell:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the terminal, as a window is closed, and wait for the shell."""
        os.close(self._terminal)
        self._shell.wait()

    def paste(self, text: str) -> Pasted:
        """Paste lines and wait until the shell has run them all, or waits for more."""
        lines = text.splitlines()
        os.write(self._terminal, "".join(f"{line}\n" for line in lines).encode())
        shown = self._await(len(lines))
        return Pasted(lines, [int(code) for code in _PROMPT.findall(shown)], shown)

    def _await(self, prompts: int) -> str:
        """Return the output up to this many prompts, or until the shell waits for more input, or a command hangs."""
        shown, silent = b"", 0.0
        while len(_PROMPT.findall(shown.decode(errors="replace"))) < prompts:
            if not select.select([self._terminal], [], [], QUIET_SECONDS)[0]:
                silent += QUIET_SECONDS
                if silent >= MOST_SILENT_SECONDS or os.tcgetpgrp(self._terminal) == self._shell.pid:
                    break
                continue
            with contextlib.suppress(OSError):  # Linux: no process has the terminal open any more
                if part := os.read(self._terminal, 1 << 16):
                    shown, silent = shown + part, 0.0
                    os.write(self._terminal, CURSOR_ANSWER * part.count(CURSOR_QUERY))
                    continue
            break
        return shown.decode(errors="replace")
