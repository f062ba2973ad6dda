"""Lines of known_hosts: the real ssh reads what is accepted, and what it could not read is refused before a pod
runs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples import JOB
from trainform.errors import MASK
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.prepare import known_hosts_line

ED25519 = "AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 42 + "E"
LINE = f"git.example.com ssh-ed25519 {ED25519}"
GIT: dict[str, Any] = {"repository": "git@git.example.com:a/b", "commit": "0" * 40, "path": "/code"}


def problems(lines: list[str]) -> list[str]:
    """The problems of a checkout with a key and these lines, as they are printed."""
    git = {**GIT, "key": {"name": "deploy", "key": "id_ed25519"}, "known_hosts": lines}
    return [str(problem) for problem in parse(Experiment, {**JOB, "prepare": [{"name": "a", "git": git}]}).problems]


@pytest.fixture(scope="module")
def public_keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A new public key of each type that this machine's ssh-keygen makes without a token."""
    folder = tmp_path_factory.mktemp("keys")
    for name, options in {"ed25519": [], "rsa": ["-b", "2048"], "ecdsa": ["-b", "256"]}.items():
        words = ["ssh-keygen", "-q", "-t", name, *options, "-N", "", "-C", "a comment", "-f", str(folder / name)]
        subprocess.run(words, check=True, timeout=60)
    return {path.stem: path.read_text().strip() for path in folder.glob("*.pub")}


def read_by_ssh(line: str, host: str, folder: Path) -> bool:
    """True if ssh finds a key of the host in a file of this line."""
    file = folder / "known_hosts"
    file.write_text(f"{line}\n")
    words = ["ssh-keygen", "-F", host, "-f", str(file)]
    return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("name", ["ed25519", "rsa", "ecdsa"])
@pytest.mark.parametrize(
    ("before", "host"),
    [
        ("git.example.com", "git.example.com"),
        ("[git.example.com]:2222", "[git.example.com]:2222"),
        ("a,git.example.com,10.0.0.1", "git.example.com"),
        ("*.example.com,!bad.example.com", "git.example.com"),
        ("2001:db8::1", "2001:db8::1"),
        ("@cert-authority *.example.com", "git.example.com"),
        ("@revoked git.example.com", "git.example.com"),
    ],
)
def test_ssh_reads_what_is_accepted(
    name: str, before: str, host: str, public_keys: dict[str, str], tmp_path: Path
) -> None:
    line = f"{before} {public_keys[name]}"
    assert known_hosts_line(line) == line
    assert read_by_ssh(line, host, tmp_path)
    assert problems([LINE, line]) == []


NO_LINE = "the line is not one of known_hosts"
REFUSED = [
    (f"{LINE}\n{LINE}", NO_LINE),
    (f"{LINE}\r", NO_LINE),
    ("# git.example.com:22 SSH-2.0-OpenSSH_9.2", NO_LINE),
    ("", "empty"),
    ("git.example.com ssh-ed25519", NO_LINE),
    (f"ssh-ed25519 {ED25519}", NO_LINE),
    (f"@ca *.example.com ssh-ed25519 {ED25519}", NO_LINE),
    (f"-oProxyCommand=touch ssh-ed25519 {ED25519}", NO_LINE),
    (f"$(HOSTS) ssh-ed25519 {ED25519}", NO_LINE),
    (f"git.example.com ssh-dss {ED25519}", NO_LINE),
    (f"git.example.com ssh-ed25519 {ED25519[:-4]}", NO_LINE),
    ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", NO_LINE),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED)
def test_what_is_refused(line: str, reason: str) -> None:
    (found,) = problems([LINE, line])
    assert reason in found
    assert found.startswith("prepare[0].git.known_hosts[1]")
    assert len(found.split("\n")) == 3


def test_a_private_key_is_not_shown(tmp_path: Path) -> None:
    """Pasted by mistake: as a text of several lines, and line by line."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True, timeout=60)
    text = (tmp_path / "key").read_text()
    first, second, *_ = text.splitlines()
    for lines in ([text], [first], [second], [f"git.example.com {second}"]):
        (found,) = problems(lines)
        assert MASK in found
        assert second not in found


def test_a_key_needs_a_line_that_pins_a_host() -> None:
    (found,) = problems([f"@revoked {LINE}"])
    assert "the checkout has a key, but no known_hosts" in found
