"""The demo's copy of the project: Pulumi writes salts and secrets into the copy, and users edit it, while the clone
does not change.

The copy is next to the sandbox's folder, since its salts belong to that sandbox's passphrase; `down` does not remove
it. The salts and secrets of the project itself are not copied.

Pulumi.yaml stacks/       files of the project; one that exists in the copy stays as it is
.venv                     link to the Python environment of this process, where Pulumi.yaml expects it
.trainform/sandbox        link to the sandbox, so that commands in the copy find it
.trainform/lock           locked while the copy is updated
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local.sandbox.folder import PROJECT_STATE, SANDBOX, Layout, write_private
from trainform.local.toolchain.cache import translate_os_errors
from trainform.project import PROJECT_FILE
from trainform.spec.stack import ENCRYPTION

STACKS = "stacks"
_ENVIRONMENT = ".venv"
# Any bytes, so that a file which is not text is copied too.
_ENCODING, _ERRORS = "utf-8", "surrogateescape"
# The keys as Pulumi writes them. A value may continue on indented lines.
_PROVIDER = re.compile(rf"^(?:{'|'.join(ENCRYPTION)}):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)


def copy_folder(sandbox: Path) -> Path:
    """Return the folder of the copy that belongs to a sandbox."""
    return sandbox.with_name(f"{sandbox.name}-demo")


@translate_os_errors(SandboxError, "make it writable, or choose another folder for the sandbox with TRAINFORM_SANDBOX")
def copy_project(project: Path, sandbox: Path, progress: Progress) -> Path:
    """Copy the files that the copy lacks, and return its folder. After an interruption another call continues."""
    folder = copy_folder(sandbox)
    names = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    if names and PROJECT_STATE not in names:  # before the lock: no lock file must be written into another folder
        raise SandboxError(
            f"{folder} is not the demo's copy of a project: it holds {', '.join(names[:3])}",
            "move it away, or choose another folder for the sandbox with TRAINFORM_SANDBOX",
        )
    with hold(folder / PROJECT_STATE / "lock", "trainform demo", progress):
        if not Layout(sandbox).passphrase.exists():
            remove_secrets(folder)
        before, different = _read(folder), []
        for path, text in _read(project).items():
            stripped = strip_secrets(path, text)
            if path not in before:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                write_private(folder / path, stripped.encode(_ENCODING, _ERRORS))
            elif strip_secrets(path, before[path]) != stripped:
                different.append(path)
        if different:
            progress.note(
                f"the demo uses {', '.join(different)} of {folder}, which differ from the project's; delete them there "
                "to get the project's"
            )
        _link(folder / PROJECT_STATE / SANDBOX, Path(os.pardir, os.pardir, sandbox.name))
        _link(folder / _ENVIRONMENT, Path(sys.prefix))
    return folder


def strip_secrets(path: str, text: str) -> str:
    """Return the text of a project's file; that of a stack without its secrets provider and the values that are
    encrypted with it, since with another passphrase `pulumi` would fail ("incorrect passphrase")."""
    plain = _PROVIDER.sub("", text)
    if plain == text or not PurePosixPath(path).match(f"{STACKS}/Pulumi.*.yaml"):
        return text
    try:
        data = yaml.safe_load(plain)
    except yaml.YAMLError:
        return plain  # Pulumi will report it
    kept = _without_encrypted(data)
    return plain if kept == data else yaml.safe_dump(kept, sort_keys=False)


def _without_encrypted(data: Any) -> Any:
    """Return the data without its encrypted values, `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _without_encrypted(value) for key, value in data.items() if not _is_encrypted(value)}
    return [_without_encrypted(value) for value in data if not _is_encrypted(value)] if isinstance(data, list) else data


def _is_encrypted(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}


def remove_secrets(folder: Path) -> None:
    """Remove salts and encrypted values from the copy, when the passphrase of its sandbox no longer exists."""
    for path, text in _read(folder).items():
        left = strip_secrets(path, text)
        if left != text:
            write_private(folder / path, left.encode(_ENCODING, _ERRORS))


def _read(project: Path) -> dict[str, str]:
    """Return the project's files by path; none if the project does not exist yet."""
    paths = [project / PROJECT_FILE, *sorted((project / STACKS).rglob("*"))]
    return {
        path.relative_to(project).as_posix(): path.read_bytes().decode(_ENCODING, _ERRORS)
        for path in paths
        if path.is_file() and path.parent.name != "__pycache__"  # to read from a pipe could block forever
    }


def _link(path: Path, target: Path) -> None:
    """Create or correct the link, unless something other than a link is at that path."""
    if path.is_symlink() and path.readlink() != target:
        path.unlink()
    if not os.path.lexists(path):
        path.symlink_to(target)
