"""Keys are derived from the secret alone, and OpenSSH reads them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from trainform.errors import InputError
from trainform.manifests import ssh_keys as keys
from trainform.manifests.ssh_keys import KeyPair, Purpose, derive, secret_problems

SECRET = "correct horse battery staple"  # noqa: S105 - of no stack
LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,40}[a-z0-9])?", fullmatch=True)
SECRETS = st.text(min_size=16).filter(lambda text: len(text.strip()) >= keys.LEAST_CHARACTERS)


def pair(**changes: object) -> KeyPair:
    given_ = {"secret": SECRET, "experiment": "sdxl-lora", "namespace": "ai", "purpose": "user", "rotation": 1}
    return derive(**(given_ | changes))  # type: ignore[arg-type]


def test_the_derivation_does_not_change() -> None:
    """Another derivation would change the keys of every stack, although nobody has rotated them."""
    assert pair().public == (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdJUDi9e2QxqcCe8gu3BYGqa2ip8hCTf8rH27zH5OHD ai/sdxl-lora-user-1\n"
    )
    assert pair() == pair(secret=f"  {SECRET}\n")


@pytest.mark.parametrize(
    "change",
    [
        {"secret": f"{SECRET}."},
        {"experiment": "sdxl"},
        {"namespace": "ai-2"},
        {"purpose": "host"},
        {"rotation": 2},
        {"experiment": "ai", "namespace": "sdxl-lora"},
    ],
    ids=str,
)
def test_every_parameter_changes_the_key(change: dict[str, object]) -> None:
    assert pair(**change).private != pair().private
    assert pair(**change).public.split()[1] != pair().public.split()[1]


@given(SECRETS, LABELS, LABELS, st.sampled_from(get_args(Purpose)), st.integers(1, 2**31))
def test_cryptography_reads_the_key_file(
    secret: str, experiment: str, namespace: str, purpose: Purpose, rotation: int
) -> None:
    made = derive(secret, experiment, namespace, purpose, rotation)
    assert made == derive(secret, experiment, namespace, purpose, rotation)
    read = serialization.load_ssh_private_key(made.private.encode(), None)
    assert isinstance(read, Ed25519PrivateKey)
    public = read.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert made.public.split()[:2] == public.decode().split()
    assert made.public.split()[2] == f"{namespace}/{experiment}-{purpose}-{rotation}"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
@pytest.mark.parametrize("experiment", ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"])
def test_openssh_reads_the_key_file(experiment: str, tmp_path: Path) -> None:
    """The names of the experiments lead to every length of padding."""
    made = pair(experiment=experiment)
    path = tmp_path / "id_ed25519"
    path.touch(mode=0o600)
    path.write_text(made.private)
    done = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == made.public


@pytest.mark.parametrize("secret", ["", "   \n", "short", "              15", " fifteen letters"])
def test_a_short_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(InputError) as raised:
        pair(secret=secret)
    message = str(raised.value)
    assert "pulumi config set --secret trainform:sshSecret" in message
    assert not secret.strip() or secret.strip() not in message
    assert [problem.value for problem in secret_problems(secret)] == [None]


def test_sixteen_characters_are_enough() -> None:
    assert list(secret_problems(" sixteen letters. ")) == []


def test_the_repr_of_a_pair_does_not_show_the_private_key() -> None:
    assert "PRIVATE" not in repr(pair())


def test_only_the_derivation_imports_cryptography() -> None:
    """`trainform check` derives no keys, and the import takes time."""
    found = "any(name.startswith('cryptography') for name in sys.modules)"
    script = f"import sys, trainform.manifests.ssh_files; sys.exit({found})"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
