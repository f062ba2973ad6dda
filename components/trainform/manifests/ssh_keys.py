"""SSH keys that are derived from a secret: the same at every preview, and stored nowhere.

HKDF-SHA256 of the secret, with the purpose of the key as its `info`, gives the seed of an Ed25519 key.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator
from typing import Literal

from trainform.errors import InputError, Problem

Purpose = Literal["user", "host"]

LEAST_CHARACTERS = 16
SECRET_PATH = "trainform:sshSecret"  # noqa: S105 - the secret's path in the stack's config
SET_SECRET = f"head -c 32 /dev/urandom | base64 | pulumi config set --secret {SECRET_PATH}"

_KIND = b"ssh-ed25519"
_SEED_BYTES, _CHECK_BYTES, _BLOCK_BYTES, _LINE = 32, 4, 8, 70


@dataclasses.dataclass(frozen=True)
class KeyPair:
    """A private key as the text of OpenSSH's own file, and its public key as a line; both end with a line feed."""

    private: str = dataclasses.field(repr=False)
    public: str


def secret_problems(secret: str) -> Iterator[Problem]:
    """Yield a problem if the stack's secret is empty or too short. The problem never holds the value."""
    length = len(secret.strip())
    if length < LEAST_CHARACTERS:
        short = f"the secret has {length} characters, and whoever guesses it has the job's SSH keys"
        reason = short if length else "the secret is empty"
        yield Problem(
            SECRET_PATH, None, reason, f"set a secret of at least {LEAST_CHARACTERS} characters: {SET_SECRET}"
        )


def derive(secret: str, experiment: str, namespace: str, purpose: Purpose, rotation: int) -> KeyPair:
    """Return the key of this purpose and rotation. White space around the secret does not count.

    Raises InputError if the secret is too short.
    """
    # imported here and not above: the import takes 30 ms, and `trainform check` needs no keys
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    problems = list(secret_problems(secret))
    if problems:
        raise InputError(problems)
    # None of these parts can contain the separator: they are constants, DNS labels and a number.
    info = "/".join(["trainform", "ssh", namespace, experiment, purpose, str(rotation)])
    hkdf = HKDF(hashes.SHA256(), length=_SEED_BYTES + _CHECK_BYTES, salt=None, info=info.encode())
    derived = hkdf.derive(secret.strip().encode())
    seed, check = derived[:_SEED_BYTES], derived[_SEED_BYTES:]
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    comment = f"{namespace}/{experiment}-{purpose}-{rotation}"
    blob = _string(_KIND) + _string(public)
    line = f"{_KIND.decode()} {base64.b64encode(blob).decode()} {comment}\n"
    return KeyPair(_openssh(blob, _string(_KIND) + _string(public) + _string(seed + public), check, comment), line)


def _openssh(public: bytes, private: bytes, check: bytes, comment: str) -> str:
    """Return the text of an unencrypted private key file in the format `openssh-key-v1` (PROTOCOL.key of OpenSSH).

    It is written here because cryptography puts a random check number into such a file, so that every preview would
    show a change, and because OpenSSH before 9.6 reads no Ed25519 key in PKCS #8.
    """
    hidden = check + check + private + _string(comment.encode())
    hidden += bytes(range(1, 1 + -len(hidden) % _BLOCK_BYTES))
    body = b"openssh-key-v1\0" + _string(b"none") + _string(b"none") + _string(b"") + (1).to_bytes(4, "big")
    text = base64.b64encode(body + _string(public) + _string(hidden)).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return "\n".join(["-----BEGIN OPENSSH PRIVATE KEY-----", *lines, "-----END OPENSSH PRIVATE KEY-----", ""])


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
