"""Earlier deployments of a stack, from the states that Pulumi's backend keeps of its updates."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from trainform.deployed.engine import backend_url, exported
from trainform.deployed.state import record_in
from trainform.deployed.updates import ALL, Update, updates
from trainform.errors import TrainformError, without_credentials
from trainform.manifests.manifest import mapping
from trainform.plan.record import Record
from trainform.spec.stack import project_name

FOLDER, SERVICES = "file", ("http", "https")
GZIP = ".gz"
HISTORY_FILES = tuple(f".history.json{end}" for end in ("", GZIP, ".zst"))


class EarlierDeployment(Struct, frozen=True):
    """A `pulumi up` that succeeded, and its record."""

    update: Update
    record: Record


def earlier_deployments(experiment: str, stack: str, root: Path) -> Iterator[EarlierDeployment]:
    """Yield what the stack had deployed, the newest first. TrainformError if the backend has no earlier states."""
    done = updates(stack, root, ALL)
    url, files = backend_url(root), list[Path]()
    scheme = urlsplit(url).scheme
    if scheme == FOLDER:
        files = history_files(_folder(url, root), project_name(root), stack.rpartition("/")[2])
        done = done[: len(files)]
    elif scheme not in SERVICES:
        raise TrainformError(
            f"the backend {without_credentials(url)} does not give out what was deployed earlier",
            "name a release with --to; `trainform history` shows them. Or take the experiment's file from git, and "
            "run `pulumi up`",
        )
    for index, update in enumerate(done):
        if update.deployed:
            state = _state_next_to(files[index]) if files else exported(stack, root, update.number)
            record = record_in(state, experiment)
            if record is not None:
                yield EarlierDeployment(update, record)


def _state_next_to(history: Path) -> Mapping[str, Any]:
    """Read the state next to the file of an update; empty if it cannot be read."""
    path = history.with_name(history.name.replace(".history.", ".checkpoint."))
    if path.suffix not in (".json", GZIP):  # an older state instead of it would be wrong
        raise TrainformError(f"{path} is compressed by zstd, which is not read", "name a release with --to")
    try:
        content = path.read_bytes()
        found = json.loads(gzip.decompress(content) if path.suffix == GZIP else content)
    except (OSError, EOFError, ValueError, RecursionError):
        return {}
    return mapping(found)


def _folder(url: str, root: Path) -> Path:
    """Return the folder of a backend such as `file:///srv/state?metadata=skip` or `file://~`."""
    return root / Path(url.removeprefix(f"{FOLDER}://").partition("?")[0]).expanduser()


def history_files(folder: Path, project: str, stack: str) -> list[Path]:
    """Return the files of the stack's updates in a folder backend, the newest first."""
    place = folder / ".pulumi" / "history" / project / stack
    found = [path for path in place.glob("*") if path.name.endswith(HISTORY_FILES)]
    return sorted(found, reverse=True)
