"""The file of a saved review, the key of its hashes, and its seal.

Short values can be guessed from a hash. So every hash is keyed, and the file has the key only as encrypted by the
stack's secrets provider. Without the secrets of the stack the file reveals no value, and cannot be forged.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trainform.console.files import read_text
from trainform.deployed.engine import printed
from trainform.errors import InputError, Problem, TrainformError
from trainform.manifests.manifest import mapping
from trainform.project import stack_path
from trainform.spec.explain import explain
from trainform.spec.read import read_content
from trainform.spec.stack import ENCRYPTION, NAMESPACE
from trainform.stacks.saved.saved_review import VERSION, SavedFile, SavedReview

LARGEST = 64 << 20
FIX = (
    "give a file that `trainform review STACK --save FILE` has written; without a saved review, `pulumi up -s STACK` "
    "applies"
)
SETTING = f"{NAMESPACE}:savedReview"
KEY_BYTES = 32
SECURE = "secure"
"""Pulumi writes it before a value that it has encrypted. It prints a value without it, too."""
SALT, *ENCRYPTED_BY_SERVICES = ENCRYPTION
_FILE = "Pulumi.key.yaml"


def text_of(review: SavedReview, key: bytes, sealed: Mapping[str, Any]) -> str:
    """Return the text of the file."""
    file = SavedFile(key=dict(sealed), review=review, seal=_seal(review, key))
    return json.dumps(file.model_dump(mode="json"), indent=2, allow_nan=False) + "\n"


def read_saved(file: str) -> SavedFile:
    """Read the file. InputError if it is not a saved review; only its key shows whether it was changed."""
    try:
        text = read_text(Path(file), file, LARGEST)
    except InputError as error:
        raise InputError([Problem("FILE", file, problem.reason, FIX) for problem in error.problems]) from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    version = data.get("saved_review") if isinstance(data, dict) else None
    if type(version) is not int:
        raise _refused(file, "this is not a saved review")
    if version != VERSION:
        reason = f"this saved review has version {version}, and this trainform reads version {VERSION}"
        raise _refused(file, reason, "save and apply it with the same trainform")
    try:
        return SavedFile.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = explain(SavedFile, data, error)[0]
        raise _refused(file, f"this saved review cannot be read: {first.path} {first.reason}") from None


def refuse_changed(saved: SavedFile, key: bytes, file: str) -> None:
    """Raise `InputError` if the file was changed since it was written."""
    if not hmac.compare_digest(_seal(saved.review, key), saved.seal):
        reason = "its seal does not fit: the file was changed, or it belongs to another key"
        raise _refused(file, reason, save_again(saved, file))


def save_again(saved: SavedFile, file: str) -> str:
    """Return what to do about a stale file."""
    return f"save the review again: `trainform review {saved.review.stack} --save {shlex.quote(file)}`"


def _seal(review: SavedReview, key: bytes) -> str:
    return keyed(key, review.model_dump(mode="json"))


def _refused(file: str | None, reason: str, fix: str = FIX) -> InputError:
    return InputError([Problem("FILE", file, reason, fix)])


# --- the key


def keyed(key: bytes, value: Any) -> str:
    """Return the keyed hash of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def new_key(stack: str, root: Path) -> tuple[bytes, dict[str, Any]]:
    """Return a new key, and the same as the stack's secrets provider has encrypted it."""
    key = secrets.token_hex(KEY_BYTES)
    _, sealed = _config(_encryption(stack, root), root, "set", "--secret", SETTING, "-s", stack, text=key)
    return key.encode(), sealed


def open_key(sealed: Mapping[str, Any], stack: str, root: Path) -> bytes:
    """Return the key. TrainformError if the stack's secrets cannot be read, InputError if the key in the file is not
    encrypted: then anybody could have made the file."""
    config = _config_of(sealed, stack, root)
    try:
        key, _ = _config(config, root, "get", SETTING, "-s", stack)
    except TrainformError as error:
        fix = (
            "set the passphrase of the stack, or log in to what encrypts its secrets; if that was changed, save the "
            "review again"
        )
        raise TrainformError("the key of the saved review cannot be decrypted", fix, error.details) from None
    if re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", key) is None:
        raise _no_key("the decrypted text in the saved review is not a key")
    return key.encode()


def _config(config: Mapping[str, Any], root: Path, *words: str, text: str = "") -> tuple[str, dict[str, Any]]:
    """Run `pulumi config` on its own file, and return what it prints and the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        file.write_text(json.dumps(config))  # JSON is YAML
        output = printed(root, "config", *words, "--config-file", str(file), text=text)
        return output.strip(), read_content(file, _FILE).data


def _config_of(sealed: Mapping[str, Any], stack: str, root: Path) -> dict[str, Any]:
    """Return a config with the sealed key. The stack's own file says what decrypts it: a saved review may come from
    anywhere, and name a service of others. A salt names none, and a stack without secrets has none in its file."""
    key = mapping(mapping(sealed.get("config")).get(SETTING))
    if key.keys() != {SECURE} or not isinstance(key[SECURE], str):
        raise _no_key("the key of the saved review is not encrypted")
    own = _encryption(stack, root)
    salt = {SALT: sealed[SALT]} if SALT in sealed and own.keys().isdisjoint(ENCRYPTED_BY_SERVICES) else {}
    return {**own, **salt, "config": {SETTING: key}}


def _no_key(reason: str) -> InputError:
    return _refused(None, reason, "save the review again: `trainform review STACK --save FILE`")


def _encryption(stack: str, root: Path) -> dict[str, Any]:
    """Return the entries that say how the secrets of the stack are encrypted."""
    name = stack_path(stack.rpartition("/")[2])
    try:
        data = read_content(root / name, name).data
    except InputError:
        return {}  # a stack without config has an empty file, or none
    return {key: data[key] for key in ENCRYPTION if key in data}
