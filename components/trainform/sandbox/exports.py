"""The variables with which a shell, or a subprocess, works in the sandbox."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from trainform.errors import SandboxError
from trainform.project import sandbox_up
from trainform.sandbox.folder import Layout, chosen_folder, sandbox_edge
from trainform.sandbox.state import read_state
from trainform.toolchain.ensure import environment

# Pulumi prefers it to the file, and stacks made with another passphrase could not be read.
UNSET = ("PULUMI_CONFIG_PASSPHRASE",)
# Beside each file Pulumi would write another one with its type and hash, not atomically as the file itself: an `up` that is killed
# at that moment leaves it empty, and then no command reads the state ("failed to load checkpoint: EOF").
WITHOUT_SIDECARS = "metadata=skip"


@sandbox_edge
def exports(folder: Path) -> dict[str, str]:
    """The sandbox's kubeconfig, the Pulumi that belongs to it, and the place of its stacks' state. The names in `UNSET` must go."""
    layout = Layout(folder)
    state = read_state(layout)
    if state is None or not state.complete:
        option = "" if folder == chosen_folder() else f" --folder {shlex.quote(str(folder))}"
        raise SandboxError(f"no sandbox is up in {folder}", f"run `{sandbox_up()}{option}`")
    return {
        **environment(state.pulumi),
        "KUBECONFIG": str(layout.kubeconfig),
        "PULUMI_BACKEND_URL": f"file://{layout.pulumi_state}?{WITHOUT_SIDECARS}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(layout.passphrase),
    }


def is_evaluated(folder: Path) -> bool:
    """Whether the shell that called us works in the sandbox of this folder, as after `eval "$(trainform sandbox env)"`."""
    return os.environ.get("KUBECONFIG") == str(Layout(folder).kubeconfig)
