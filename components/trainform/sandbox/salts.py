"""How a stack's file says what encrypts its secrets: the salt of a passphrase, or another secrets provider."""

from __future__ import annotations

import base64
import hashlib
import os
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
from trainform.spec.stack import ENCRYPTION

SALT = "encryptionsalt"
UNREADABLE_SALT_FIX = f"delete the line `{SALT}` of each of these files, and set its secrets again"
"""The fix for stack files whose passphrase no longer exists."""
# For files that are not valid YAML: the keys as Pulumi writes them. A value may continue on indented lines.
_PROVIDER = re.compile(rf"^(?:{'|'.join(ENCRYPTION)}):.*\n?(?:[ \t]+.*\n?)*", re.MULTILINE)
_SALT = re.compile(rf"^{SALT}:\s*['\"]?([^\s'\"]+)", re.MULTILINE)
# Pulumi's format "v1": pkg/secrets/passphrase and sdk/go/common/resource/config/crypt.go.
_ITERATIONS, _KEY_BYTES, _KNOWN_TEXT = 1_000_000, 32, b"pulumi"


def without_salt(text: str) -> str:
    """Return a stack file's text without its secrets provider. Pulumi writes it again from the stack's state, or chooses a new salt."""
    root = _root(text)
    if root is None:
        return _PROVIDER.sub("", text)
    found = [(key, value) for key, value in root.value if key.value in ENCRYPTION]
    if not found:
        return text
    if root.flow_style:
        return _with_changed_data(
            text, lambda data: {key: value for key, value in data.items() if key not in ENCRYPTION}
        )
    gone = {line for key, value in found for line in _lines(key, value)}
    return "".join(line for number, line in enumerate(text.splitlines(keepends=True)) if number not in gone)


def _root(text: str) -> yaml.MappingNode | None:
    """Return the text's top-level mapping, None if it has none or cannot be parsed."""
    try:
        check_events(text, "")
        root = Loader(text).get_single_node()
    except (InputError, yaml.YAMLError):
        return None
    return root if isinstance(root, yaml.MappingNode) else None


def _lines(key: yaml.Node, value: yaml.Node) -> range:
    """Return the lines of a key and its value, counted from 0. A block scalar (`|`) ends at the start of the next line."""
    end = value.end_mark
    return range(key.start_mark.line, max(key.start_mark.line + 1, end.line + (end.column > 0)))


def _salt(text: str) -> str | None:
    root = _root(text)
    if root is None:
        found = _SALT.search(text)
        return None if found is None else found[1]
    values = [value.value for key, value in root.value if key.value == SALT and isinstance(value, yaml.ScalarNode)]
    return values[0] if values else None


def usable_with(text: str, passphrase: str | None) -> str:
    """Return a stack file's text that `pulumi` can use with this passphrase (None: there is none yet).

    If the file's secrets are encrypted in another way, they are left out together with their secrets provider: with it `pulumi` would
    fail with "incorrect passphrase".
    """
    plain = without_salt(text)
    if plain == text:
        return text
    salt = _salt(text)
    if salt is not None and passphrase is not None and was_made_with(passphrase, salt):
        return text
    return _with_changed_data(plain, _without_secrets)


def was_made_with(passphrase: str, salt: str) -> bool:
    """True if Pulumi made the salt with this passphrase.

    A salt is `v1:SALT:v1:NONCE:TEXT`, where TEXT is a known word, encrypted with AES-256-GCM and a key that is derived from salt and
    passphrase. The check takes half a second.
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
    """If the sandbox is about to make a new passphrase, show a note with the stack files that were encrypted with another one. Those that the
    passphrase of this shell opens are in use, such as the stacks of a second sandbox: of them nothing is said."""
    if Layout(folder).passphrase.exists():
        return
    used = _passphrase_of_shell()
    names = [
        str(path.relative_to(project))
        for path, salt in _salted_stack_files(project)
        if used is None or not was_made_with(used, salt)
    ]
    if names:
        progress.note(
            f"the sandbox makes a new passphrase, and the salt in {', '.join(names)} belongs to another one. If pulumi says "
            f"`incorrect passphrase`: {UNREADABLE_SALT_FIX}"
        )


def stacks_with_passphrase_of(project: Path, folder: Path) -> list[str]:
    """Return the stack files, relative to the project, whose salt was made with the passphrase of the sandbox in `folder`.

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


def _passphrase_of_shell() -> str | None:
    """Return the passphrase that Pulumi takes from the environment, None if there is none or its file cannot be read."""
    passphrase, file = (os.environ.get(f"PULUMI_CONFIG_PASSPHRASE{end}") for end in ("", "_FILE"))
    if passphrase is not None or not file:
        return passphrase
    try:
        return Path(file).read_text(errors="surrogateescape").strip()
    except OSError:
        return None


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


def _with_changed_data(text: str, change: Callable[[Any], Any]) -> str:
    """Return the text with changed data; the same text if nothing changes, or if it cannot be parsed, which Pulumi will report."""
    try:
        content = parse_mapping(text, "")
    except InputError:
        return text
    changed = change(content.data)
    if content.problems or changed == content.data:
        return text
    return yaml.dump(changed, Dumper=Dumper, sort_keys=False)


def _without_secrets(data: Any) -> Any:
    """Return the data without its encrypted values, `{secure: …}`."""
    if isinstance(data, dict):
        return {key: _without_secrets(value) for key, value in data.items() if not _is_secret(value)}
    if isinstance(data, list):
        return [_without_secrets(value) for value in data if not _is_secret(value)]
    return data


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}
