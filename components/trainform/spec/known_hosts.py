"""Lines of known_hosts, as sshd(8) describes them. ssh skips a line that it cannot read, and then refuses the host when the pods run."""

from __future__ import annotations

import base64
import binascii
import re

from trainform.spec.refusal import refusal

KEY_TYPES = frozenset({
    "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
})  # fmt: skip
MARKERS = ("@cert-authority", "@revoked")
REVOKED = "@revoked"
CODED = "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
LENGTH = 4  # bytes of the number before each part of a key

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_LINE = re.compile(rf"((?P<marker>@\S+)[ \t]+)?(?P<hosts>\S+)[ \t]+(?P<type>\S+)[ \t]+(?P<key>{CODED})([ \t]+.*)?")
# Names and addresses with wildcards, each alone or as [host]:port, or the hash of one. An option or a variable is none of them.
_HOST = r"!?([\w*?][-\w.*?:%]*|::[\w*?.:%]*|\[[\w*?:][-\w.*?:%]*\]:[0-9]{1,5})"
_HOSTS = re.compile(rf"{_HOST}(,{_HOST})*|\|1\|[A-Za-z0-9+/]{{27}}=\|[A-Za-z0-9+/]{{27}}=")
_PRIVATE_KEY = re.compile(r"-----BEGIN|-----END|PuTTY-User-Key|^b3BlbnNzaC1r")


def known_hosts_line(line: str) -> str:
    """The line; refused if ssh would not read it as one line with a key for hosts."""
    if _PRIVATE_KEY.search(line):
        raise refusal("the line is of a private key", "write lines of public keys, as `ssh-keyscan HOST` prints them")
    if _CONTROL.search(line):
        raise refusal(
            "the line holds a line break or another control character", "write each line as an item of its own"
        )
    if line.lstrip().startswith("#"):
        raise refusal("the line is a comment", "remove it")
    found = _LINE.fullmatch(line)
    if found is None or not found["key"]:
        raise refusal("the line is not one of known_hosts", "write HOST KEYTYPE KEY, as `ssh-keyscan HOST` prints it")
    if found["marker"] is not None and found["marker"] not in MARKERS:
        raise refusal(f"the line has a marker that ssh does not know: {found['marker']}", f"use {' or '.join(MARKERS)}")
    if _HOSTS.fullmatch(found["hosts"]) is None:
        raise refusal("the line does not begin with names of hosts", "write git.example.com or [git.example.com]:2222")
    if found["type"] not in KEY_TYPES:
        raise refusal("the line has no type of key that ssh accepts", f"use one of {', '.join(sorted(KEY_TYPES))}")
    if _type_in(found["key"]) != found["type"]:
        raise refusal(
            "the key is not whole, or of another type than the line says", "copy the whole line of `ssh-keyscan`"
        )
    return line


def pins_a_host(line: str) -> bool:
    """False for a line that only takes a key away."""
    return not line.startswith(REVOKED)


def _type_in(key: str) -> str | None:
    """The type that stands in the key itself, if all parts of the key are there."""
    try:
        data = base64.b64decode(key, validate=True)
    except binascii.Error:
        return None
    parts = []
    while data:
        size = int.from_bytes(data[:LENGTH])
        if len(data) < LENGTH + size:
            return None
        parts.append(data[LENGTH : LENGTH + size])
        data = data[LENGTH + size :]
    return parts[0].decode("ascii", "replace") if len(parts) > 1 and all(parts) else None
