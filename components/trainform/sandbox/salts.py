"""What Pulumi writes into a stack's file so that it can encrypt: the salt of a passphrase, or another provider of secrets."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from trainform.errors import InputError, SandboxError
from trainform.progress import Progress
from trainform.sandbox.folder import Layout, read_private
from trainform.spec.events import check_events
from trainform.spec.libyaml import Dumper, Loader
from trainform.spec.read import parse_mapping

SALT = "encryptionsalt"
REMEDY = f"delete the line `{SALT}` of that file, and set its secrets again"
"""Where the passphrase of a stack's file is gone."""
_KEYS = (SALT, "encryptedkey", "secretsprovider")
# In a file that is no YAML, as Pulumi writes them. A value may go on in indented lines.
_PROVIDER = re.compile(rf"^(?:{'|'.join(_KEYS)}):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)
_SALT = re.compile(rf"^{SALT}:\s*['\"]?([^\s'\"]+)", re.MULTILINE)
# Of Pulumi's version "v1", in pkg/secrets/passphrase and sdk/go/common/resource/config/crypt.go.
_ITERATIONS, _KEY_BYTES, _KNOWN_TEXT = 1_000_000, 32, b"pulumi"


def without_salt(text: str) -> str:
    """A stack's file without its provider of secrets; the engine notes it anew from the stack's state, or chooses a new salt."""
    root = _root(text)
    if root is None:
        return _PROVIDER.sub("", text)
    found = [(key, value) for key, value in root.value if key.value in _KEYS]
    if not found:
        return text
    if root.flow_style:
        return _rewritten(text, lambda data: {key: value for key, value in data.items() if key not in _KEYS})
    gone = {line for key, value in found for line in _lines(key, value)}
    return "".join(line for number, line in enumerate(text.splitlines(keepends=True)) if number not in gone)


def _root(text: str) -> yaml.MappingNode | None:
    """The mapping that the text is, None where it cannot be read."""
    try:
        check_events(text, "")
        root = Loader(text).get_single_node()
    except (InputError, yaml.YAMLError):
        return None
    return root if isinstance(root, yaml.MappingNode) else None


def _lines(key: yaml.Node, value: yaml.Node) -> range:
    """The lines of a key and its value, counted from 0. The end of a text in lines (`|`) is the begin of the line behind it."""
    end = value.end_mark
    return range(key.start_mark.line, max(key.start_mark.line + 1, end.line + (end.column > 0)))


def _salt(text: str) -> str | None:
    root = _root(text)
    if root is None:
        found = _SALT.search(text)
        return None if found is None else found[1]
    values = [value.value for key, value in root.value if key.value == SALT and isinstance(value, yaml.ScalarNode)]
    return values[0] if values else None


def readable(text: str, passphrase: str | None) -> str:
    """A stack's file that `pulumi` can use with this passphrase (None: there is none yet).

    Where the file's secrets are encrypted with something else, they go, and what the engine would need to read them: it would
    end with "incorrect passphrase".
    """
    plain = without_salt(text)
    if plain == text:
        return text
    salt = _salt(text)
    if salt is not None and passphrase is not None and is_salt_of(passphrase, salt):
        return text
    return _rewritten(plain, _decrypted)


def is_salt_of(passphrase: str, salt: str) -> bool:
    """Whether Pulumi made the salt with this passphrase.

    It is written `v1:SALT:v1:NONCE:TEXT`, where TEXT is a known word, encrypted with AES-256-GCM under a key that is derived from
    both. That takes half a second.
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


def note_older_salts(project: Path, folder: Path, progress: Progress) -> None:
    """Name the stack files in which `pulumi` would meet an incorrect passphrase, where the sandbox is about to make a new one."""
    if Layout(folder).passphrase.exists():
        return
    names = [str(path.relative_to(project)) for path, _ in _salted(project)]
    if names:
        progress.note(
            f"the sandbox makes a new passphrase; the salt in {', '.join(names)} is of another one. Where pulumi says "
            f"`incorrect passphrase`: {REMEDY}"
        )


def stacks_of(project: Path, folder: Path) -> list[str]:
    """The stack files, from the project's folder on, whose salt was made with the passphrase of the sandbox in `folder`.

    None where the passphrase cannot be read: what removes it must not fail for that.
    """
    try:
        passphrase = read_passphrase(folder)
    except SandboxError:
        passphrase = None
    if passphrase is None:
        return []
    return [str(path.relative_to(project)) for path, salt in _salted(project) if is_salt_of(passphrase, salt)]


def read_passphrase(folder: Path) -> str | None:
    """The passphrase of a sandbox's stacks, None where it has none yet."""
    written = read_private(Layout(folder).passphrase)
    return None if written is None else written.decode(errors="surrogateescape").strip()


def _salted(project: Path) -> Iterator[tuple[Path, str]]:
    """The stack files that hold a salt, with it."""
    for path in sorted((project / "stacks").glob("Pulumi.*.yaml")):
        if not path.is_file():  # to read a pipe could wait for ever
            continue
        salt = _salt(path.read_text(encoding="utf-8", errors="surrogateescape"))
        if salt is not None:
            yield path, salt


def _rewritten(text: str, change: Callable[[Any], Any]) -> str:
    """The text with its data changed; the same text where nothing changes, and where it cannot be read, which the engine will say."""
    try:
        content = parse_mapping(text, "")
    except InputError:
        return text
    changed = change(content.data)
    if content.problems or changed == content.data:
        return text
    return yaml.dump(changed, Dumper=Dumper, sort_keys=False)


def _decrypted(data: Any) -> Any:
    """The same data without the values that are written `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _decrypted(value) for key, value in data.items() if not _is_secret(value)}
    if isinstance(data, list):
        return [_decrypted(value) for value in data if not _is_secret(value)]
    return data


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}
