"""The files of ~/.ssh: the keys that they accept, the names that they contain, and how a real ssh reads them."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from trainform.errors import MASK
from trainform.manifests.ssh_files import (
    AUTHORIZED_KEYS,
    CONFIG,
    HOST_KEY,
    KNOWN_HOSTS,
    REQUIRED_FILES,
    USER_KEY,
    Names,
    identity_files,
    masked_files,
)
from trainform.manifests.ssh_keys import derive

SECRET = "correct horse battery staple"  # noqa: S105 - of no stack
NAMES = Names("sdxl-lora", "ai", "sdxl-lora")
FILES = ("authorized_keys", "config", "id_ed25519", "id_ed25519.pub", "known_hosts", "ssh_host_ed25519_key")
OPENSSH = pytest.mark.skipif(shutil.which("ssh") is None, reason="no OpenSSH client on this machine")

POD = "sdxl-lora-1f3a9c-worker-0"
OURS = [
    POD,
    f"{POD}.sdxl-lora",
    f"{POD}.sdxl-lora.ai",
    f"{POD}.sdxl-lora.ai.svc",
    f"{POD}.sdxl-lora.ai.svc.cluster.local",
    "sdxl-lora-worker-0",
    "sdxl-lora-worker-0.ai",
    "sdxl-lora-worker-0.ai.svc",
    "sdxl-lora-worker-0.ai.svc.cluster.local",
    "renamed.sdxl-lora",
]
OTHERS = ["github.com", "sdxl-0.sdxl", "sdxl-lora.org", "10.0.0.7", "x.sdxl-lora.other", "sdxl-lora"]


def ssh_options(folder: Path, names: Names, host: str) -> dict[str, str]:
    """The options that ssh prints for this host name."""
    config = folder / "config"
    config.write_text(identity_files(names, SECRET, 1)[CONFIG])
    done = subprocess.run(["ssh", "-G", "-F", config, host], capture_output=True, text=True, timeout=20, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def keys_of(text: str) -> set[str]:
    """The key material of authorized_keys or known_hosts."""
    return {word for word in text.split() if word.startswith("AAAA")}


def public(purpose: str, rotation: int) -> str:
    return derive(SECRET, "sdxl-lora", "ai", purpose, rotation).public.split()[1]  # type: ignore[arg-type]


def test_identity_files_are_complete_and_reproducible() -> None:
    files = identity_files(NAMES, SECRET, 2)
    assert sorted(files) == [*FILES, "ssh_host_ed25519_key.pub"]
    assert set(REQUIRED_FILES) <= set(files)
    assert files == identity_files(NAMES, SECRET, 2)
    assert all(text.endswith("\n") for text in files.values())


@pytest.mark.parametrize(("rotation", "accepted"), [(1, [1, 2]), (2, [1, 2, 3]), (7, [6, 7, 8])])
def test_a_rotation_uses_its_own_keys_and_accepts_its_neighbours(rotation: int, accepted: list[int]) -> None:
    files = identity_files(NAMES, SECRET, rotation)
    own = {purpose: derive(SECRET, "sdxl-lora", "ai", purpose, rotation) for purpose in ("user", "host")}
    assert (files[USER_KEY], files[f"{USER_KEY}.pub"]) == (own["user"].private, own["user"].public)
    assert (files[HOST_KEY], files[f"{HOST_KEY}.pub"]) == (own["host"].private, own["host"].public)
    assert keys_of(files[AUTHORIZED_KEYS]) == {public("user", number) for number in accepted}
    assert keys_of(files[KNOWN_HOSTS]) == {public("host", number) for number in accepted}


def test_a_rotation_changes_only_the_keys() -> None:
    assert identity_files(NAMES, SECRET, 1)[CONFIG] == identity_files(NAMES, SECRET, 2)[CONFIG]


def test_without_the_secret_every_key_is_masked() -> None:
    masked, files = masked_files(NAMES), identity_files(NAMES, SECRET, 1)
    assert sorted(masked) == sorted(files)
    assert masked[USER_KEY] == masked[HOST_KEY] == MASK
    assert not any(keys_of(text) or "PRIVATE" in text for text in masked.values())
    assert masked[CONFIG] == files[CONFIG]
    assert masked[KNOWN_HOSTS].split()[0] == files[KNOWN_HOSTS].split()[0]


def test_only_the_private_files_contain_seeds() -> None:
    files = identity_files(NAMES, SECRET, 1)
    for name in (USER_KEY, HOST_KEY):
        body = base64.b64decode("".join(files[name].splitlines()[1:-1]))
        public_part = base64.b64decode(files[f"{name}.pub"].split()[1])[-32:]
        seed = body[body.rindex(public_part) - 32 : body.rindex(public_part)]
        text = base64.b64encode(seed).decode()[:20]
        assert not any(text in other for other in files.values())


@OPENSSH
@pytest.mark.parametrize("port", [22, 2222, 20017])
@pytest.mark.parametrize("host", OURS)
def test_known_hosts_pins_every_name_of_the_job(host: str, port: int, tmp_path: Path) -> None:
    assert found(tmp_path, host if port == 22 else f"[{host}]:{port}") == keys_of(
        identity_files(NAMES, SECRET, 2)[KNOWN_HOSTS]
    )


@OPENSSH
@pytest.mark.parametrize("host", OTHERS)
def test_known_hosts_contains_no_other_name(host: str, tmp_path: Path) -> None:
    assert found(tmp_path, host) == found(tmp_path, f"[{host}]:2222") == set()


def found(folder: Path, host: str) -> set[str]:
    """The keys that OpenSSH finds for the name."""
    path = folder / "known_hosts"
    path.write_text(identity_files(NAMES, SECRET, 2)[KNOWN_HOSTS])
    done = subprocess.run(
        ["ssh-keygen", "-F", host, "-f", path], capture_output=True, text=True, timeout=20, check=False
    )
    return keys_of(done.stdout)


@OPENSSH
@pytest.mark.parametrize("host", OURS)
def test_hosts_of_the_job_are_checked_strictly(host: str, tmp_path: Path) -> None:
    names = Names("sdxl-lora", "ai", "sdxl-lora", "/home/trainer/.ssh", 2222, services=("sdxl-lora-worker-*",))
    asked = ssh_options(tmp_path, names, host)
    expected = {
        "stricthostkeychecking": "true",
        "updatehostkeys": "false",
        "batchmode": "yes",
        "identitiesonly": "yes",
        "identityfile": "/home/trainer/.ssh/id_ed25519",
        "userknownhostsfile": "/home/trainer/.ssh/known_hosts",
        "port": "2222",
        "connecttimeout": "10",
        "connectionattempts": "5",
        "serveraliveinterval": "30",
        "serveralivecountmax": "6",
        "preferredauthentications": "publickey",
        "loglevel": "ERROR",
    }
    assert {name: asked[name] for name in expected} == expected
    assert asked["hostname"] == (f"{POD}.sdxl-lora" if host == POD else host)


@OPENSSH
@pytest.mark.parametrize("host", OTHERS)
def test_other_hosts_are_left_alone(host: str, tmp_path: Path) -> None:
    names = Names("sdxl-lora", "ai", "sdxl-lora", port=2222)
    asked, plain = ssh_options(tmp_path, names, host), ssh_options(tmp_path, Names("vit", "cv", "vit"), host)
    assert asked == plain
    assert asked["port"] == "22"


@OPENSSH
def test_a_replicas_own_port_wins_over_the_jobs_port(tmp_path: Path) -> None:
    ports = (("sdxl-lora-??????-worker-0-*", 20001), ("sdxl-lora-??????-worker-1-*", 20002))
    names = Names("sdxl-lora", "ai", "sdxl-lora", port=20000, ports=ports)
    job = "sdxl-lora-1f3a9c"
    hosts = [f"{job}-worker-0-0.sdxl-lora", f"{job}-worker-1-0", f"{job}-master-0.sdxl-lora"]
    assert [ssh_options(tmp_path, names, host)["port"] for host in hosts] == ["20001", "20002", "20000"]
    assert ssh_options(tmp_path, names, hosts[1])["hostname"] == f"{hosts[1]}.sdxl-lora"


@OPENSSH
def test_the_name_of_a_service_is_not_completed_as_a_pods_name(tmp_path: Path) -> None:
    """The Service of a role with six letters looks like a pod, since the role looks like a revision."""
    names = Names("sdxl-lora", "ai", "sdxl-lora", services=("sdxl-lora-worker-0",))
    assert ssh_options(tmp_path, names, "sdxl-lora-worker-0")["hostname"] == "sdxl-lora-worker-0"
    assert ssh_options(tmp_path, names, "sdxl-lora-worker-1")["hostname"] == "sdxl-lora-worker-1.sdxl-lora"
