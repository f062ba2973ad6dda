"""What Pulumi writes into a stack's file so that it can encrypt: the salt of a passphrase, or another provider of secrets."""

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

from trainform.progress import Progress
from trainform.sandbox.folder import Layout
from trainform.spec.libyaml import Dumper, Loader

SALT = "encryptionsalt"
# A value may go on in indented lines.
_PROVIDER = re.compile(rf"^(?:{SALT}|encryptedkey|secretsprovider):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)
_SALT = re.compile(rf"^{SALT}:\s*['\"]?([^\s'\"]+)", re.MULTILINE)
# Of Pulumi's version "v1", in pkg/secrets/passphrase and sdk/go/common/resource/config/crypt.go.
_ITERATIONS, _KEY_BYTES, _KNOWN_TEXT = 1_000_000, 32, b"pulumi"


def without_salt(text: str) -> str:
    """A stack's file without its provider of secrets; the engine notes it anew from the stack's state, or chooses a new salt."""
    return _PROVIDER.sub("", text)


def readable(text: str, passphrase: str | None) -> str:
    """A stack's file that `pulumi` can use with this passphrase (None: there is none yet).

    Where the file's secrets are encrypted with something else, they go, and what the engine would need to read them: it would
    end with "incorrect passphrase".
    """
    plain = without_salt(text)
    if plain == text:
        return text
    salt = _SALT.search(text)
    if salt is not None and passphrase is not None and is_salt_of(passphrase, salt[1]):
        return text
    return _without_secrets(plain)


def is_salt_of(passphrase: str, salt: str) -> bool:
    """Whether Pulumi made the salt with this passphrase.

    It is written `v1:SALT:v1:NONCE:TEXT`, where TEXT is a known word, encrypted with AES-256-GCM under a key that is derived from
    both. That takes half a second.
    """
    try:
        version, random, inner_version, nonce, encrypted = salt.split(":")
        if (version, inner_version) != ("v1", "v1"):
            return False
        key = hashlib.pbkdf2_hmac("sha256", passphrase.encode(), base64.b64decode(random), _ITERATIONS, _KEY_BYTES)
        return AESGCM(key).decrypt(base64.b64decode(nonce), base64.b64decode(encrypted), None) == _KNOWN_TEXT
    except (ValueError, InvalidTag):
        return False


def note_older_salts(project: Path, folder: Path, progress: Progress) -> None:
    """Name the stack files in which `pulumi` would meet an incorrect passphrase, where the sandbox is about to make a new one."""
    if Layout(folder).passphrase.exists():
        return
    names = [str(path.relative_to(project)) for path in _salted(project)]
    if names:
        progress.note(
            f"the sandbox makes a new passphrase; the salt in {', '.join(names)} is of another one. Where pulumi says `incorrect "
            f"passphrase`: delete the line `{SALT}` of that file, and set its secrets again"
        )


def _salted(project: Path) -> Iterator[Path]:
    for path in sorted((project / "stacks").glob("Pulumi.*.yaml")):
        if _SALT.search(path.read_text(encoding="utf-8", errors="replace")):
            yield path


def _without_secrets(text: str) -> str:
    """Without encrypted values; the same text where there are none, and where it is not YAML, which the engine will say."""
    try:
        data = yaml.load(text, Loader)  # noqa: S506 - one of the safe loaders
    except yaml.YAMLError:
        return text
    kept = _decrypted(data)
    return text if kept == data else yaml.dump(kept, Dumper=Dumper, sort_keys=False)


def _decrypted(data: Any) -> Any:
    """The same data without the values that are written `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _decrypted(value) for key, value in data.items() if not _is_secret(value)}
    if isinstance(data, list):
        return [_decrypted(value) for value in data if not _is_secret(value)]
    return data


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}
