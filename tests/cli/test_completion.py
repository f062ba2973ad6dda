"""The Tab key in real shells, on a pseudo-terminal, and what an answer costs."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from trainform.console.lines import SEQUENCE

BIN = Path(sys.executable).parent
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SET_UP = {
    "bash": 'eval "$(trainform completion bash)"',
    "zsh": 'bindkey -e; autoload -Uz compinit; compinit -D -u; eval "$(trainform completion zsh)"',
    "fish": "trainform completion fish | source",
}
SHELL_SECONDS = 60.0  # for a shell that hangs; nothing waits for it otherwise


class Terminal:
    """An interactive shell with the completion turned on."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.identifier, self._master = pty.fork()
        if self.identifier == 0:
            os.chdir(folder)
            environ = {
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "HOME": str(folder),
                "TERM": "dumb" if shell == "zsh" else "vt100",
                "PS1": "> ",
                "COLUMNS": "200",
                "LINES": "50",
            }
            os.execvpe(SHELLS[shell][0], SHELLS[shell], environ)  # noqa: S606 - the shell is what is tested
        self._count = 0
        self.type(SET_UP[shell] + "\n")

    def type(self, text: str) -> str:
        """Type the text, and whatever it becomes, as words of `echo`; what that prints. The shell reads one key after
        the other, so that nothing has to be waited for."""
        self._count += 1
        # the mark is put together by the shell: what it shows of the typed line does not hold it
        line = f"{text}" if text.endswith("\n") else f"{text}\x01echo 'begin'\"{self._count}:\" \n"
        os.write(self._master, f"{line}echo 'end'\"{self._count}\"\n".encode())
        found = re.search(rf"begin{self._count}: ([^\r\n]*)", self._read(f"end{self._count}"))
        return found[1].strip() if found is not None else ""

    def _read(self, mark: str) -> str:
        text, deadline = "", time.monotonic() + SHELL_SECONDS
        while mark not in SEQUENCE.sub("", text):
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"the shell hangs: {text!r}")
            text += os.read(self._master, 65536).decode(errors="replace")
        return SEQUENCE.sub("", text)

    def close(self) -> None:
        os.kill(self.identifier, signal.SIGKILL)
        os.waitpid(self.identifier, 0)
        os.close(self._master)


@contextlib.contextmanager
def terminal(shell: str, folder: Path) -> Iterator[Terminal]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    made = Terminal(shell, folder)
    try:
        yield made
    finally:
        made.close()


CASES = {
    "trainform che": "trainform check",
    "trainform sandbox sta": "trainform sandbox status",
    "trainform check --envi": "trainform check --environment",
    "trainform check sdx": "trainform check sdxl-lora",
    "trainform check hello sdx": "trainform check hello sdxl-lora",
    "trainform plan hello -e d": "trainform plan hello -e dev",
    "trainform rev": "trainform review",
    "trainform review mnist.": "trainform review mnist.dev",
    "trainform review resnet.dev --outp": "trainform review resnet.dev --output",
    "trainform render resnet.d": "trainform render resnet.dev",
    "trainform plan hello --se": "trainform plan hello --set",
    "trainform check --al": "trainform check --all",
    "trainform new mni": "trainform new mnist",
    "trainform completion fi": "trainform completion fish",
    "trainform sandbox up --with kubef": "trainform sandbox up --with kubeflow",
    "trainform sandbox up --with kueue,trai": "trainform sandbox up --with kueue,trainer",
    "trainform check ./hell": "trainform check ./hello.yaml",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_names_in_a_project(shell: str, whole_project: Path) -> None:
    with terminal(shell, whole_project / "stacks" / "experiments") as opened:
        assert {typed: opened.type(f"{typed}\t") for typed in CASES} == CASES


def answer(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What bash's function would be given, and the modules of the process."""
    script = (
        "import sys\nfrom trainform.cli.main import main\n"
        "try:\n    main([])\nfinally:\n    print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    environ = {
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_TRAINFORM_COMPLETE": "complete_bash",
    }
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=os.environ | environ, capture_output=True, text=True,
        timeout=60, check=False
    )  # fmt: skip


@pytest.mark.parametrize("verb", ["", "check", "rehearse", "sandbox", "doctor"])
def test_completion_imports_no_models(verb: str) -> None:
    """Nor what makes them: typer would convert words with it."""
    done = answer(*filter(None, ["trainform", verb]), "--", folder=ROOT)
    assert (done.returncode, "--help" in done.stdout.split()) == (0, True)
    heavy = {
        "pydantic",
        "trainform.spec",
        "trainform.plan",
        "trainform.job.check",
        "yaml",
        "rich.console",
        "pulumi",
        "lightkube",
        "psutil",
    }
    assert heavy & set(done.stderr.split()) == set()
