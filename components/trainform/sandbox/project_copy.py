"""The demo's copy of the project: Pulumi writes salts and secrets into it, and a newcomer edits it, while the clone stays as it is.

It lies beside the sandbox's folder, since the salts are of that sandbox's passphrase; `down` leaves it.

Pulumi.yaml stacks/       follow the project, each file until the user edits it in the copy
.venv                     link to the Python environment of this process, as Pulumi.yaml wants it
.trainform/sandbox        link to the sandbox, so that commands in the copy find it
.trainform/copied.json    hashes of what was ever copied: a file with another content is the user's
.trainform/lock           held while the copy is made
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from trainform.errors import SandboxError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.sandbox.folder import PROJECT_FILE, PROJECT_STATE, SANDBOX, read_private, write_private
from trainform.sandbox.salts import read_passphrase, readable, without_salt
from trainform.toolchain.oserrors import translated

STACKS = "stacks"
_ENVIRONMENT = ".venv"
# Any bytes, so that a file which is not text is copied too.
_ENCODING, _ERRORS = "utf-8", "surrogateescape"

Files = Mapping[str, str]
Hashes = Mapping[str, list[str]]
"""Of each path, of every content that was copied there."""


@dataclasses.dataclass(frozen=True)
class Changes:
    """What makes a copy follow its project; `edited` are the paths that stay different, since the user has edited them."""

    write: Files
    remove: tuple[str, ...]
    edited: tuple[str, ...]
    copied: Hashes


def copy_folder(sandbox: Path) -> Path:
    """Where the copy of a sandbox lies."""
    return sandbox.with_name(f"{sandbox.name}-demo")


@translated(SandboxError, "make it writable, or choose another folder for the sandbox with TRAINFORM_SANDBOX")
def copy_project(project: Path, sandbox: Path, progress: Progress) -> Path:
    """Make the copy, or bring it up to date; its folder. Run again after an interruption, it goes on."""
    folder = copy_folder(sandbox)
    _refuse_foreign(folder)  # before the lock: its file must not get into somebody else's folder
    with hold(folder / PROJECT_STATE / "lock", "trainform demo", progress):
        passphrase = read_passphrase(sandbox)
        _forget_unreadable_secrets(folder, passphrase, progress)
        if project.resolve() != folder.resolve():  # else the demo was called in its own copy
            wanted = {path: _readable(path, text, passphrase) for path, text in _read(project).items()}
            _apply(changes(wanted, _read(folder), _copied(folder)), folder, progress)
        _link(folder / PROJECT_STATE / SANDBOX, Path(os.pardir, os.pardir, sandbox.name))
        _link(folder / _ENVIRONMENT, Path(sys.prefix))
    return folder


def changes(project: Files, copy: Files, copied: Hashes) -> Changes:
    """A file that is still as it was once copied follows the project; any other is the user's and stays."""
    ours = {path for path, text in copy.items() if _hash(path, text) in copied.get(path, [])}
    same = {path for path in project if path in copy and _hash(path, copy[path]) == _hash(path, project[path])}
    edited = tuple(path for path in project if path in copy and path not in ours | same)
    hashes = {path: list(known) for path, known in copied.items()}
    for path, text in project.items():
        hashes[path] = list(dict.fromkeys([*hashes.get(path, []), _hash(path, text)]))
    return Changes(
        write={path: text for path, text in project.items() if path not in same.union(edited)},
        remove=tuple(sorted(ours - project.keys())),
        edited=edited,
        copied=hashes,
    )


def _hash(path: str, text: str) -> str:
    """A salt is no edit: the engine writes it."""
    content = without_salt(text) if _is_stack(path) else text
    return hashlib.sha256(content.encode(_ENCODING, _ERRORS)).hexdigest()


def _is_stack(path: str) -> bool:
    return PurePosixPath(path).match(f"{STACKS}/Pulumi.*.yaml")


def _readable(path: str, text: str, passphrase: str | None) -> str:
    return readable(text, passphrase) if _is_stack(path) else text


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is not a demo's: what is in it would be taken for the user's edits."""
    if not folder.exists() or _record(folder).exists():
        return
    names = sorted(entry.name for entry in folder.iterdir() if entry.name != PROJECT_STATE)
    if names:
        raise SandboxError(
            f"{folder} is not the demo's copy of a project: it holds {', '.join(names[:3])}",
            "move it away, or choose another folder for the sandbox with TRAINFORM_SANDBOX",
        )


def _forget_unreadable_secrets(folder: Path, passphrase: str | None, progress: Progress) -> None:
    """Remove from the copy's stacks what was encrypted with a passphrase that is gone: salts, and with a note secrets."""
    for path, text in _read(folder).items():
        left = _readable(path, text, passphrase)
        if left != text:
            write_private(folder / path, _encoded(left))
        if left != text and left != without_salt(text):
            progress.note(f"secrets in {folder / path} were encrypted with a passphrase that is gone: set them again")


def _apply(change: Changes, folder: Path, progress: Progress) -> None:
    # The hashes first: what an interruption leaves is then known as copied, whatever was written of it.
    write_private(_record(folder), json.dumps(change.copied, indent=1).encode())
    for path, text in change.write.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_private(folder / path, _encoded(text))
    for path in change.remove:
        (folder / path).unlink()
    if change.edited:
        progress.note(
            f"you have edited {', '.join(change.edited)} in {folder}: the demo goes on with that; to have the project's again, delete it"
        )


def _record(folder: Path) -> Path:
    return folder / PROJECT_STATE / "copied.json"


def _copied(folder: Path) -> Hashes:
    """Nothing where there are none yet, or damaged ones: then nothing is known as ours, and nothing is overwritten."""
    try:
        written = read_private(_record(folder))
        found = None if written is None else json.loads(written)
    except (ValueError, RecursionError):
        return {}
    return found if _are_hashes(found) else {}


def _are_hashes(found: object) -> TypeGuard[Hashes]:
    return isinstance(found, dict) and all(
        isinstance(known, list) and all(isinstance(one, str) for one in known) for known in found.values()
    )


def _read(project: Path) -> dict[str, str]:
    """The files that make a project, by path; empty where there is none yet."""
    whole = project.resolve()
    paths = [project / PROJECT_FILE, *_below(project / STACKS, (whole, *whole.parents))]
    return {
        path.relative_to(project).as_posix(): path.read_bytes().decode(_ENCODING, _ERRORS)
        for path in paths
        if path.is_file()  # to read a pipe could wait for ever
    }


def _below(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    """What lies in the folder and in those below it, also by way of links, but for links back to a folder above."""
    here = folder.resolve()
    if here in above or folder.name == "__pycache__" or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _below(path, (*above, here))
        else:
            yield path


def _encoded(text: str) -> bytes:
    return text.encode(_ENCODING, _ERRORS)


def _link(path: Path, target: Path) -> None:
    """Make the link, unless it is right already or the user has put something else there."""
    if path.is_symlink() and path.readlink() != target:
        path.unlink()
    if not os.path.lexists(path):
        path.symlink_to(target)
