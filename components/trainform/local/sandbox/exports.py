"""The environment variables with which a shell, or a subprocess, works in the sandbox."""

from __future__ import annotations

import shlex
from pathlib import Path

from trainform.errors import SandboxError
from trainform.local.sandbox.folder import Layout, chosen_folder, os_errors_as_sandbox_errors
from trainform.local.sandbox.state import read_state
from trainform.local.toolchain.ensure import environment
from trainform.project import sandbox_up

# Pulumi prefers this variable to the passphrase file, and could not read stacks of another passphrase.
UNSET = ("PULUMI_CONFIG_PASSPHRASE",)
# By default Pulumi writes a second file with type and hash next to each state file, and not atomically: an `up` that is
# killed at that moment leaves it empty, and after that every command fails ("failed to load checkpoint: EOF").
NO_SIDECARS = "metadata=skip"


@os_errors_as_sandbox_errors
def exports(folder: Path) -> dict[str, str]:
    """Return the variables to set: kubeconfig, the sandbox's Pulumi, its backend. Those in `UNSET` must be unset.

    Raises `SandboxError` if no sandbox is up in `folder`.
    """
    layout = Layout(folder)
    state = read_state(layout)
    if state is None or not state.complete:
        option = "" if folder == chosen_folder() else f" --folder {shlex.quote(str(folder))}"
        raise SandboxError(f"no sandbox is up in {folder}", f"run `{sandbox_up()}{option}`")
    return {
        **environment(state.pulumi),
        "KUBECONFIG": str(layout.kubeconfig),
        "PULUMI_BACKEND_URL": f"file://{layout.pulumi_state}?{NO_SIDECARS}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(layout.passphrase),
    }
