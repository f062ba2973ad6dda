"""The demo's copy of the project: Pulumi writes salts and secrets into the copy, and users edit it, while the clone
does not change.

The copy is beside the sandbox's folder, since its salts belong to that sandbox's passphrase; `down` does not remove it.
The salts and secrets of the project itself are not copied.

Pulumi.yaml stacks/       updated from the project, except for files that the user edited in the copy
.venv                     link to the Python environment of this process, where Pulumi.yaml expects it
.trainform/sandbox        link to the sandbox, so that commands in the copy find it
.trainform/copied.json    the hash of each file as it was copied last: a file with another content was edited by the
                          user
.trainform/lock           locked while the copy is updated
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from trainform.errors import InputError, SandboxError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.sandbox.folder import PROJECT_FILE, PROJECT_STATE, SANDBOX, Layout, read_private, write_private
from trainform.spec.libyaml import Dumper
from trainform.spec.read import parse_mapping
from trainform.spec.stack import ENCRYPTION
from trainform.toolchain.oserrors import translate_os_errors

STACKS = "stacks"
_ENVIRONMENT = ".venv"
# Any bytes, so that a file which is not text is copied too.
_ENCODING, _ERRORS = "utf-8", "surrogateescape"
# The keys as Pulumi writes them. A value may continue on indented lines.
_PROVIDER = re.compile(rf"^(?:{'|'.join(ENCRYPTION)}):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)

Files = Mapping[str, str]
Hashes = Mapping[str, str]
"""Path -> the hash of what was copied to it last."""


class Changes(Struct, frozen=True):
    """The changes that update a copy from its project. `edited`: paths that stay different, since the user edited
    them."""

    write: Files
    remove: tuple[str, ...]
    edited: tuple[str, ...]
    copied: Hashes


def copy_folder(sandbox: Path) -> Path:
    """Return the folder of the copy that belongs to a sandbox."""
    return sandbox.with_name(f"{sandbox.name}-demo")


@translate_os_errors(SandboxError, "make it writable, or choose another folder for the sandbox with TRAINFORM_SANDBOX")
def copy_project(project: Path, sandbox: Path, progress: Progress) -> Path:
    """Create or update the copy, and return its folder. After an interruption, another call continues."""
    folder = copy_folder(sandbox)
    _refuse_foreign(folder)  # before the lock: no lock file must be written into another folder
    with hold(folder / PROJECT_STATE / "lock", "trainform demo", progress):
        if not Layout(sandbox).passphrase.exists():
            remove_secrets(folder)
        if project.resolve() != folder.resolve():  # otherwise the demo was started in its own copy
            wanted = {path: without_secrets(path, text) for path, text in _read(project).items()}
            before = _read_hashes(folder)
            _apply(changes(wanted, _read(folder), before), before, folder, progress)
        _link(folder / PROJECT_STATE / SANDBOX, Path(os.pardir, os.pardir, sandbox.name))
        _link(folder / _ENVIRONMENT, Path(sys.prefix))
    return folder


def changes(project: Files, copy: Files, copied: Hashes) -> Changes:
    """Return the changes: a file that is as it was copied is updated from the project; any other was edited and
    stays."""
    ours = {path for path, text in copy.items() if _hash(path, text) == copied.get(path)}
    same = {path for path in project if path in copy and _hash(path, copy[path]) == _hash(path, project[path])}
    edited = tuple(path for path in project if path in copy and path not in ours | same)
    return Changes(
        write={path: text for path, text in project.items() if path not in same.union(edited)},
        remove=tuple(sorted(ours - project.keys())),
        edited=edited,
        copied={path: copied.get(path, "") if path in edited else _hash(path, text) for path, text in project.items()},
    )


def _hash(path: str, text: str) -> str:
    """Return a hash of the text without its salt: the engine writes the salt, so it is not an edit by the user."""
    content = without_salt(text) if _is_stack(path) else text
    return hashlib.sha256(content.encode(_ENCODING, _ERRORS)).hexdigest()


def _is_stack(path: str) -> bool:
    return PurePosixPath(path).match(f"{STACKS}/Pulumi.*.yaml")


def without_salt(text: str) -> str:
    """Return a stack file's text without its secrets provider. Pulumi writes it again from the stack's state, or
    chooses a new salt."""
    return _PROVIDER.sub("", text)


def without_secrets(path: str, text: str) -> str:
    """Return the text of a project's file; that of a stack without its secrets provider and the values that are
    encrypted with it, since with another passphrase `pulumi` would fail ("incorrect passphrase")."""
    plain = without_salt(text)
    if plain == text or not _is_stack(path):
        return text
    try:
        content = parse_mapping(plain, "")
    except InputError:
        return plain  # Pulumi will report it
    kept = _without_encrypted(content.data)
    return plain if content.problems or kept == content.data else yaml.dump(kept, Dumper=Dumper, sort_keys=False)


def _without_encrypted(data: Any) -> Any:
    """Return the data without its encrypted values, `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _without_encrypted(value) for key, value in data.items() if not _is_encrypted(value)}
    if isinstance(data, list):
        return [_without_encrypted(value) for value in data if not _is_encrypted(value)]
    return data


def _is_encrypted(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}


def remove_secrets(folder: Path) -> None:
    """Remove salts and encrypted values from the copy, when the passphrase of its sandbox no longer exists."""
    for path, text in _read(folder).items():
        left = without_secrets(path, text)
        if left != text:
            write_private(folder / path, left.encode(_ENCODING, _ERRORS))


def _refuse_foreign(folder: Path) -> None:
    """Raise `SandboxError` if the folder is not a demo's copy: its files would be taken for edits by the user."""
    if not folder.exists() or _hashes_path(folder).exists():
        return
    names = sorted(entry.name for entry in folder.iterdir() if entry.name != PROJECT_STATE)
    if names:
        raise SandboxError(
            f"{folder} is not the demo's copy of a project: it holds {', '.join(names[:3])}",
            "move it away, or choose another folder for the sandbox with TRAINFORM_SANDBOX",
        )


def _apply(change: Changes, before: Hashes, folder: Path, progress: Progress) -> None:
    done = dict(before)
    try:
        for path, text in change.write.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_private(folder / path, text.encode(_ENCODING, _ERRORS))
            done[path] = change.copied[path]
        for path in change.remove:
            (folder / path).unlink()
        done = dict(change.copied)
    finally:
        write_private(_hashes_path(folder), json.dumps(done, indent=1).encode())
    if change.edited:
        progress.note(
            f"you have edited {', '.join(change.edited)} in {folder}, and the demo uses that; to go back to the "
            "project's, delete it"
        )


def _hashes_path(folder: Path) -> Path:
    return folder / PROJECT_STATE / "copied.json"


def _read_hashes(folder: Path) -> Hashes:
    """Return the recorded hashes; none if the record is missing or damaged, and then no file is overwritten."""
    try:
        written = read_private(_hashes_path(folder))
        return {} if written is None else msgspec.json.decode(written, type=dict[str, str])
    except msgspec.MsgspecError:
        return {}


def _read(project: Path) -> dict[str, str]:
    """Return the project's files by path; none if the project does not exist yet."""
    whole = project.resolve()
    paths = [project / PROJECT_FILE, *_files_below(project / STACKS, (whole, *whole.parents))]
    return {
        path.relative_to(project).as_posix(): path.read_bytes().decode(_ENCODING, _ERRORS)
        for path in paths
        if path.is_file()  # to read from a pipe could block forever
    }


def _files_below(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    """Yield all files below the folder. Links to folders are followed, except for links to a folder above."""
    here = folder.resolve()
    if here in above or folder.name == "__pycache__" or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _files_below(path, (*above, here))
        else:
            yield path


def _link(path: Path, target: Path) -> None:
    """Create or correct the link, unless something other than a link is at that path."""
    if path.is_symlink() and path.readlink() != target:
        path.unlink()
    if not os.path.lexists(path):
        path.symlink_to(target)
