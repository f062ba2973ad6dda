"""The key of a saved review, and the hashes that are made with it.

A hash of something short can be guessed by trying. So every hash is keyed, and the key is in the file only as the
stack's secrets provider has encrypted it: whoever cannot read the secrets of the stack can neither guess from the file,
nor make one that `trainform apply` takes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform.deployed.engine import printed
from trainform.errors import InputError, Problem, TrainformError
from trainform.manifests.shapes import mapping
from trainform.project import stack_path
from trainform.spec.read import read_content
from trainform.spec.stack import ENCRYPTION, NAMESPACE

NAME = f"{NAMESPACE}:savedReview"
KEY_BYTES = 32
SECURE = "secure"
"""What Pulumi writes before a value that it has encrypted. It gives out one without it, too."""
SALT, *OF_SERVICES = ENCRYPTION
_FILE = "Pulumi.key.yaml"


def canonical(value: Any) -> bytes:
    """Plain data as bytes, the same for equal data."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str).encode()


def keyed(key: bytes, value: Any) -> str:
    """The keyed hash of plain data."""
    return hmac.new(key, canonical(value), hashlib.sha256).hexdigest()


def new_key(stack: str, root: Path) -> tuple[bytes, dict[str, Any]]:
    """A new key, and the same as the stack's secrets provider has encrypted it."""
    key = secrets.token_hex(KEY_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(json.dumps(_encryption(stack, root)))  # JSON is YAML
        printed(root, "config", "set", "--secret", NAME, "-s", stack, "--config-file", str(file), text=key)
        return key.encode(), read_content(file, _FILE).data


def open_key(sealed: Mapping[str, Any], stack: str, root: Path) -> bytes:
    """The key. TrainformError if whoever runs this may not read the stack's secrets, InputError if nothing that
    `new_key` made is in the file: a key that is known without them is anybody's."""
    config = _config_of(sealed, stack, root)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(json.dumps(config))
        try:
            key = printed(root, "config", "get", NAME, "-s", stack, "--config-file", str(file)).strip()
        except TrainformError as error:
            fix = (
                "set the passphrase of the stack, or log in to what encrypts its secrets; if that was changed, save "
                "the review again"
            )
            raise TrainformError("the key of the saved review cannot be decrypted", fix, error.details) from None
    if re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", key) is None:
        raise _no_key("what is encrypted in the saved review is no key of one")
    return key.encode()


def _config_of(sealed: Mapping[str, Any], stack: str, root: Path) -> dict[str, Any]:
    """The config with the sealed key alone. What decrypts it is the stack's own: a file may come from anywhere, and
    name a service of somebody else's. A salt names none, and a stack that has no secrets yet has none in its file."""
    key = mapping(mapping(sealed.get("config")).get(NAME))
    if key.keys() != {SECURE} or not isinstance(key[SECURE], str):
        raise _no_key("the key of the saved review is not encrypted")
    own = _encryption(stack, root)
    salt = {SALT: sealed[SALT]} if SALT in sealed and own.keys().isdisjoint(OF_SERVICES) else {}
    return {**own, **salt, "config": {NAME: key}}


def _no_key(reason: str) -> InputError:
    return InputError([Problem("FILE", None, reason, "save the review again: `trainform review STACK --save FILE`")])


def _encryption(stack: str, root: Path) -> dict[str, Any]:
    """What says how the secrets of the stack are encrypted."""
    name = stack_path(stack.rpartition("/")[2])
    try:
        data = read_content(root / name, name).data
    except InputError:
        return {}  # a stack without config has a file that is empty, or none
    return {key: data[key] for key in ENCRYPTION if key in data}
