"""A sandbox is one folder: where it is, which files it holds, and which of them `down` removes.

lock            locked by `up` and `down`
state.json      the running processes (ids and start times), their ports, and the settings
kubeconfig      how clients connect
pki/ etcd/ config/          certificates, the cluster's data, configuration files of the components
logs/           one file for each component; *.previous.log is from the run before
pulumi-state/   state of the Pulumi stacks on this cluster
passphrase      encrypts their secrets; `down` keeps it, since the salts in the project's stack files belong to it
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local.toolchain.cache import translate_os_errors
from trainform.project import PROJECT_FILE, project_root

FOLDER_VARIABLE = "TRAINFORM_SANDBOX"
PROJECT_STATE, SANDBOX = ".trainform", "sandbox"  # where the sandbox of a project is by default

# What `down` removes, by name: the folder was chosen by the user and may hold other things.
CLUSTER_FILES = ("state.json", "kubeconfig", "pki", "etcd", "config", "pulumi-state")
KEPT_FILES = ("logs", "lock", "passphrase")
# The temporary file of a `write_private` that was killed.
_LEFTOVER = re.compile(rf"({'|'.join(map(re.escape, (*CLUSTER_FILES, *KEPT_FILES)))})\.\d+\.part")

os_errors_as_sandbox_errors = translate_os_errors(
    SandboxError, "name a folder that you can write with --folder, and run the same command again"
)


class Layout:
    """The paths in a sandbox's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = root / "lock"
        self.state = root / "state.json"
        self.kubeconfig = root / "kubeconfig"
        self.pki = root / "pki"
        self.etcd = root / "etcd"
        self.config = root / "config"
        self.logs = root / "logs"
        self.pulumi_state = root / "pulumi-state"
        self.passphrase = root / "passphrase"

    def log(self, component: str) -> Path:
        """Return the path of a component's log."""
        return self.logs / f"{component}.log"

    def make(self) -> None:
        """Create the folders, for this user only, and the passphrase if there is none."""
        for folder in (self.root, self.pki, self.config, self.logs, self.pulumi_state):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        if not self.passphrase.exists():
            write_private(self.passphrase, secrets.token_urlsafe(32).encode())

    @contextlib.contextmanager
    def locked(self, purpose: str, progress: Progress, timeout: float | None = None) -> Iterator[None]:
        """Lock the folder, and remove temporary files. `SandboxError` if it is not a sandbox's folder."""
        ours = {*CLUSTER_FILES, *KEPT_FILES}
        names = sorted(entry.name for entry in self.root.iterdir()) if self.root.exists() else []
        foreign = [name for name in names if name not in ours and not _LEFTOVER.fullmatch(name)]
        if foreign:  # before the lock: no lock file must be written into another folder, and `down` would leave them
            raise SandboxError(
                f"{self.root} is not a sandbox's folder: it holds {', '.join(foreign[:3])}",
                "name an empty or a new folder with --folder",
            )
        with hold(self.lock, purpose, progress, timeout):
            for entry in list(self.root.iterdir()):
                if _LEFTOVER.fullmatch(entry.name):
                    entry.unlink()
            yield

    def remove(self, purge: bool) -> None:
        """Remove all files of the cluster. `purge`: also lock, logs, passphrase, and the folder if it is then empty."""
        for name in (*CLUSTER_FILES, *(KEPT_FILES if purge else ())):
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if purge and not any(self.root.iterdir()):
            self.root.rmdir()


def write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable for this user only."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def encoded(path: Path) -> str:
    """Return a file's content in base64, as Kubernetes expects certificates and keys."""
    return base64.b64encode(path.read_bytes()).decode()


def chosen_folder(given: Path | None = None) -> Path:
    """Return the sandbox's folder: `given`, TRAINFORM_SANDBOX, that of the surrounding project, or the user's."""
    if given is not None:
        return given.expanduser().absolute()
    variable = os.environ.get(FOLDER_VARIABLE)
    if variable:
        return Path(variable).expanduser().absolute()
    root = project_root()
    if (root / PROJECT_FILE).is_file():
        place = root / PROJECT_STATE / SANDBOX
        return place.resolve() if place.is_symlink() else place  # the demo's copy links to the sandbox of the clone
    import platformdirs  # imported only here: most callers are in a project

    return platformdirs.user_state_path("trainform") / SANDBOX
