"""The preview of a stack that the backend does not have, in a temporary copy of the project.

`pulumi stack init` in the project would write a salt into the stack's file. The copy has Pulumi.yaml and `stacks/`, and
a folder for the state with its own passphrase. Everything else is linked.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainform.project import PROJECT_FILE, stack_path

NO_STACK = "no stack named"
"""The engine says it of a stack that its backend does not have."""
NOTE = (
    "The backend does not have the stack {stack}: the preview ran in a temporary copy of the project, with an empty "
    "state. `pulumi stack select --create {stack}` creates it."
)
ENCRYPTED = (
    "error: not previewed: needs its passphrase: the backend does not have the stack {stack}, and its file has "
    "encrypted values\nfix: `pulumi stack select --create {stack}` with the passphrase of the file"
)
_ENCRYPTION = re.compile(r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?", re.MULTILINE)
_SECURE = re.compile(r"(?:^|[\s{,])[\"']?secure[\"']?\s*:", re.MULTILINE)
STACKS = "stacks"


def has_encrypted_values(stack: str, root: Path) -> bool:
    """Return True if the stack's file has a value that only its passphrase or key can read."""
    return _SECURE.search((root / stack_path(stack)).read_text(encoding="utf-8")) is not None


@contextlib.contextmanager
def temporary_copy(stack: str, root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Copy the project as long as the block runs; return its folder, and the variables for the engine."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="trainform-preview-") as name:
        folder, state = Path(name) / "project", Path(name) / "state"
        (folder / STACKS).mkdir(parents=True)
        state.mkdir()
        _link(root, folder, {PROJECT_FILE, STACKS})
        shutil.copy(root / PROJECT_FILE, folder / PROJECT_FILE)
        _link(root / STACKS, folder / STACKS, {Path(stack_path(stack)).name})
        text = (root / stack_path(stack)).read_text(encoding="utf-8")
        (folder / stack_path(stack)).write_text(_ENCRYPTION.sub("", text), encoding="utf-8")
        kept = {key: value for key, value in environ.items() if key != "PULUMI_CONFIG_PASSPHRASE_FILE"}
        own = {"PULUMI_BACKEND_URL": state.as_uri(), "PULUMI_CONFIG_PASSPHRASE": os.urandom(16).hex()}
        yield folder, kept | own


def _link(source: Path, target: Path, without: set[str]) -> None:
    for entry in source.iterdir():
        if entry.name not in without:
            (target / entry.name).symlink_to(entry.absolute(), target_is_directory=entry.is_dir())
