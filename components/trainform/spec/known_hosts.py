"""Lines of known_hosts, as sshd(8) describes them. ssh skips a line that it cannot read, and then refuses the host when
the pods run."""

from __future__ import annotations

import re

from trainform.spec.refusal import refusal

REVOKED = "@revoked"
_PRIVATE_KEY = re.compile(r"-----BEGIN|-----END|PuTTY-User-Key|^b3BlbnNzaC1r")
# The base64 of a public key begins with the length and name of its type.
_LINE = re.compile(
    r"((@cert-authority|@revoked)[ \t]+)?[^-$@#\s]\S*[ \t]+"
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\."
    r"com)[ \t]+"
    r"AAAA[A-Za-z0-9+/]{64,}={0,2}([ \t]+[^\r\n]*)?"
)


def known_hosts_line(line: str) -> str:
    """Return the line. Refuses what ssh would not read as one line with a public key of hosts."""
    if _PRIVATE_KEY.search(line):
        raise refusal("the line is of a private key", "write lines of public keys, as `ssh-keyscan HOST` prints them")
    if _LINE.fullmatch(line) is None:
        reason = "the line is not one of known_hosts, with hosts, type and the whole key"
        raise refusal(reason, "write HOST KEYTYPE KEY, as `ssh-keyscan HOST` prints it")
    return line


def pins_a_host(line: str) -> bool:
    """False for a line that only takes a key away."""
    return not line.startswith(REVOKED)
