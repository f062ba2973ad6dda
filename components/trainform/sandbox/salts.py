"""How a stack's file says what encrypts its secrets: the salt of a passphrase, or another secrets provider."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from trainform.errors import InputError, SandboxError
from trainform.progress import Progress
from trainform.sandbox.folder import Layout, read_private
from trainform.spec.libyaml import Dumper
from trainform.spec.read import parse_mapping
from trainform.spec.stack import ENCRYPTION

SALT = "encryptionsalt"
UNREADABLE_SALT_FIX = f"delete the line `{SALT}` of each of these files, and set its secrets again"
"""The fix for stack files whose passphrase no longer exists."""
# The keys as Pulumi writes them. A value may continue on indented lines.
_PROVIDER = re.compile(rf"^(?:{'|'.join(ENCRYPTION)}):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)
_SALT = re.compile(rf"^{SALT}:\s*['\"]?([^\s'\"]+)", re.MULTILINE)
# Pulumi's format "v1": pkg/secrets/passphrase and sdk/go/common/resource/config/crypt.go.
_ITERATIONS, _KEY_BYTES, _KNOWN_TEXT = 1_000_000, 32, b"pulumi"


def without_salt(text: str) -> str:
    """Return a stack file's text without its secrets provider. Pulumi writes it again from the stack's state, or
    chooses a new salt."""
    return _PROVIDER.sub("", text)


def _salt(text: str) -> str | None:
    found = _SALT.search(text)
    return None if found is None else found[1]


def usable_with(text: str, passphrase: str | None) -> str:
    """Return a stack file's text that `pulumi` can use with this passphrase (None: there is none yet).

    If the file's secrets are encrypted in another way, they are left out together with their secrets provider: with it
    `pulumi` would fail with "incorrect passphrase".
    """
    plain = without_salt(text)
    if plain == text:
        return text
    salt = _salt(text)
    if salt is not None and passphrase is not None and was_made_with(passphrase, salt):
        return text
    try:
        content = parse_mapping(plain, "")
    except InputError:
        return plain  # Pulumi will report it
    kept = _without_secrets(content.data)
    return plain if content.problems or kept == content.data else yaml.dump(kept, Dumper=Dumper, sort_keys=False)


def was_made_with(passphrase: str, salt: str) -> bool:
    """True if Pulumi made the salt with this passphrase.

    A salt is `v1:SALT:v1:NONCE:TEXT`, where TEXT is a known word, encrypted with AES-256-GCM and a key that is derived
    from salt and passphrase. The check takes half a second.
    """
    try:
        version, random, inner_version, nonce, encrypted = salt.split(":")
        if (version, inner_version) != ("v1", "v1"):
            return False
        key = hashlib.pbkdf2_hmac(
            "sha256", passphrase.encode(errors="surrogateescape"), base64.b64decode(random), _ITERATIONS, _KEY_BYTES
        )
        return AESGCM(key).decrypt(base64.b64decode(nonce), base64.b64decode(encrypted), None) == _KNOWN_TEXT
    except (ValueError, InvalidTag):
        return False


def warn_about_other_salts(project: Path, folder: Path, progress: Progress) -> None:
    """If the sandbox is about to make a new passphrase, show a note with the stack files that were encrypted with
    another one."""
    names = [str(path.relative_to(project)) for path, _ in _salted_stack_files(project)]
    if names and not Layout(folder).passphrase.exists():
        progress.note(
            f"the sandbox makes a new passphrase, and the salt in {', '.join(names)} belongs to another one. If "
            f"pulumi says `incorrect passphrase`: {UNREADABLE_SALT_FIX}"
        )


def stacks_with_passphrase_of(project: Path, folder: Path) -> list[str]:
    """Return the stack files, relative to the project, whose salt was made with the passphrase of the sandbox in
    `folder`.

    The list is empty if the passphrase cannot be read: a command that removes it must not fail because of that.
    """
    try:
        passphrase = read_passphrase(folder)
    except SandboxError:
        passphrase = None
    if passphrase is None:
        return []
    return [
        str(path.relative_to(project)) for path, salt in _salted_stack_files(project) if was_made_with(passphrase, salt)
    ]


def read_passphrase(folder: Path) -> str | None:
    """Return the passphrase of a sandbox's stacks, None if there is none yet."""
    written = read_private(Layout(folder).passphrase)
    return None if written is None else written.decode(errors="surrogateescape").strip()


def _salted_stack_files(project: Path) -> Iterator[tuple[Path, str]]:
    """Yield each stack file that has a salt, with the salt."""
    for path in sorted((project / "stacks").glob("Pulumi.*.yaml")):
        if not path.is_file():  # to read from a pipe could block forever
            continue
        salt = _salt(path.read_text(encoding="utf-8", errors="surrogateescape"))
        if salt is not None:
            yield path, salt


def _without_secrets(data: Any) -> Any:
    """Return the data without its encrypted values, `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _without_secrets(value) for key, value in data.items() if not _is_secret(value)}
    if isinstance(data, list):
        return [_without_secrets(value) for value in data if not _is_secret(value)]
    return data


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}
