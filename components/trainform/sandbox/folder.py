"""One sandbox is one folder: where it is, what lies in it, and what `down` removes.

lock            held by `up` and `down`
state.json      what runs (process ids and start times), on which ports, with which settings
kubeconfig      the way in, for people and tools
pki/ etcd/ config/          certificates, the cluster's data, files for the components
logs/           one file for each component; the run before as *.previous.log
pulumi-state/   state of the stacks that describe this cluster
passphrase      of that state; kept, since the salts in the project's stack files are of it
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainform.errors import InputError, SandboxError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.spec.files import read_bytes
from trainform.toolchain.oserrors import translated

FOLDER_VARIABLE = "TRAINFORM_SANDBOX"
PROJECT_FILE = "Pulumi.yaml"
PROJECT_STATE, SANDBOX = ".trainform", "sandbox"  # of a project: where its sandbox lies by default

# What `down` removes, by name: the folder was chosen by the user and may hold other things.
CLUSTER_FILES = ("state.json", "kubeconfig", "pki", "etcd", "config", "pulumi-state")
KEPT_FILES = ("logs", "lock", "passphrase")
LARGEST = (
    64 << 20
)  # bytes of a file that we wrote; the hashes of the demo's copy grow with every version of its project
# What a killed `write_private` left of one of them.
_LEFTOVER = re.compile(rf"({'|'.join(map(re.escape, (*CLUSTER_FILES, *KEPT_FILES)))})\.\d+\.part")

sandbox_edge = translated(
    SandboxError, "name a folder that you can write with --folder, and run the same command again"
)


class Layout:
    """The paths inside a sandbox's folder."""

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
        """Where a component writes."""
        return self.logs / f"{component}.log"

    def make(self) -> None:
        """Make the folders, for this user only."""
        for folder in (self.root, self.pki, self.config, self.logs, self.pulumi_state):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        if not self.passphrase.exists():
            write_private(self.passphrase, secrets.token_urlsafe(32).encode())

    @contextlib.contextmanager
    def held(self, purpose: str, progress: Progress, timeout: float | None = None) -> Iterator[None]:
        """The folder for this process alone; `SandboxError` if it is not a sandbox's."""
        self._refuse_foreign()  # before the lock too: its file must not get into somebody else's folder
        with hold(self.lock, purpose, progress, timeout):
            self._refuse_foreign()
            for entry in list(self.root.iterdir()):
                if _LEFTOVER.fullmatch(entry.name):
                    entry.unlink()
            yield

    def _refuse_foreign(self) -> None:
        """Refuse a folder that holds something else: `down` would leave a mixture."""
        if not self.root.exists():
            return
        ours = {*CLUSTER_FILES, *KEPT_FILES}
        names = sorted(entry.name for entry in self.root.iterdir())
        foreign = [name for name in names if name not in ours and not _LEFTOVER.fullmatch(name)]
        if foreign:
            raise SandboxError(
                f"{self.root} is not a sandbox's folder: it holds {', '.join(foreign[:3])}",
                "name an empty or a new folder with --folder",
            )

    def remove_cluster(self) -> None:
        """Everything that belongs to the cluster; logs stay."""
        _remove(self.root, CLUSTER_FILES)

    def remove_all(self) -> None:
        """The folder itself, if nothing foreign is in it."""
        _remove(self.root, (*CLUSTER_FILES, *KEPT_FILES))
        if self.root.exists() and not any(self.root.iterdir()):
            self.root.rmdir()


def _remove(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Write a whole file that only this user can read; a reader never sees half of it."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def read_private(path: Path) -> bytes | None:
    """What `write_private` wrote, None where there is none; SandboxError where it is no regular file: to read a pipe could wait for ever."""
    try:
        path.stat()
        return read_bytes(path, str(path), LARGEST)
    except FileNotFoundError:
        return None
    except InputError as error:
        fix = "make it a file that you can read, and run the same command again"
        raise SandboxError(f"{path} {error.problems[0].reason}", fix) from None


def chosen_folder(given: Path | None = None) -> Path:
    """The sandbox's folder: as given, else from TRAINFORM_SANDBOX, else of the project around, else of the user."""
    if given is not None:
        return given.expanduser().absolute()
    variable = os.environ.get(FOLDER_VARIABLE)
    if variable:
        return Path(variable).expanduser().absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE).is_file():
            place = folder / PROJECT_STATE / SANDBOX
            return place.resolve() if place.is_symlink() else place  # of the demo's copy: to the clone's sandbox
    import platformdirs  # only here: most callers are in a project

    return platformdirs.user_state_path("trainform") / SANDBOX
