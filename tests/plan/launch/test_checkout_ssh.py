"""A checkout with a key, and its folder: what git, a shell and ssh read of them is taken as it is written."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.plan.launch.repositories import Repository, Volume, committed
from trainform.spec.names import ABSOLUTE_PATH, matches

# In the place of ssh, as no server is on this machine: what the real one makes of its options, the hosts that are
# pinned there, and then the command itself. (sshd among real pods: `tests/local/rehearsal`.)
SSH = """#!/bin/sh
{ssh} -G "$@" >{asked}
for word in "$@"; do case $word in UserKnownHostsFile=*) cat "${{word#*=}}" >>{asked} ;; esac; done
for word in "$@"; do last=$word; done
exec sh -c "$last"
"""
HOSTS = ["[git.example.com]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", "*.example.com ssh-rsa AAAAB3"]
OPTIONS = [
    "batchmode yes", "identitiesonly yes", "stricthostkeychecking true", "userknownhostsfile .git/known_hosts",
    "globalknownhostsfile /dev/null",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Ssh:
    """A PATH with this ssh, and the calls of it."""

    folder: Path

    def environ(self) -> dict[str, str]:
        """The variables of a checkout with a key."""
        return {
            "TRAINFORM_GIT_KEY": str(self.folder / "id_ed25519"),
            "TRAINFORM_GIT_KNOWN_HOSTS": "\n".join(HOSTS),
            "PATH": f"{self.folder}:{os.environ['PATH']}",
        }

    def asked(self) -> list[str]:
        """The options that decide about the host and the key, and the pinned hosts."""
        lines = (self.folder / "asked").read_text().splitlines()
        options = {line.split()[0] for line in OPTIONS} | {"identityfile"}
        return sorted(line for line in lines if line.split()[0] in options or line in HOSTS)

    def expected(self) -> list[str]:
        """The expected options."""
        return sorted([*OPTIONS, f"identityfile {self.folder / 'id_ed25519'}", *HOSTS])


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Ssh:
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "ssh"
    program.write_text(SSH.format(ssh=shutil.which("ssh"), asked=folder / "asked"))
    program.chmod(0o755)
    (folder / "id_ed25519").write_text("")  # ssh leaves a key out that is not there
    return Ssh(folder)


def test_a_key_and_the_hosts_that_it_is_for(repository: Repository, volume: Volume, ssh: Ssh) -> None:
    """ssh is asked with this key and these hosts alone."""
    address = f"ssh://git@git.example.com:2222{repository.path}"
    done = volume.run(address, repository.first, **ssh.environ())
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first"}
    assert ssh.asked() == ssh.expected()


FRAGMENTS = [
    "$(>made)", "${IFS}", "`>made`", ";>made;", "|>made", "&>made&", ">made", "<made", "'", '"', "\\", "\\n", "%h",
    "%%", "~", "~root", "*", "?", "[a]",
    "{a,b}", "#", "=", ",", "-", "-oProxyCommand=>made", "--upload-pack=>made", "!", "^", "(", ")", "$$", "$HOME",
    "$(HOME)", ".git", ".git.lock", "HEAD", "日本",
]  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20) | st.lists(
    st.sampled_from(FRAGMENTS), min_size=1, max_size=4
).map("".join)
PATHS = (
    st.lists(NAMES, min_size=1, max_size=3)
    .map(lambda names: "".join(f"/{name}" for name in names))
    .filter(lambda path: matches(ABSOLUTE_PATH, path))
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, server: str) -> Repository:
    path = tmp_path_factory.mktemp("served")
    return committed(path, server)


@settings(max_examples=40)
@example(path="".join(f"/{name}" for name in FRAGMENTS))
@given(path=PATHS)
def test_every_path_that_is_accepted_is_a_folder_and_nothing_else(
    path: str, shell: Path, served: Repository, ssh: Ssh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It runs twice, as after a restart of the pod, and with a key, so that git, a shell and ssh read values that
    follow from the path."""
    above = tmp_path_factory.mktemp("pod")
    folder = Path(f"{above}{path}")
    assert matches(ABSOLUTE_PATH, str(folder))
    folder.mkdir(parents=True)
    home = tmp_path_factory.mktemp("home")
    volume = Volume(folder, home, shell)
    address = f"ssh://git@git.example.com{served.path}"
    for _ in range(2):
        done = volume.run(address, served.first, **ssh.environ())
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"trainform: ssh://git.example.com{served.path} at {served.first} in {folder}\n"
    assert volume.files() == {"train.py": "first"}
    assert ssh.asked() == ssh.expected()
    assert volume.git("status", "--porcelain") == ""
    files = [file for file in (*above.rglob("*"), *home.rglob("*")) if file.is_file()]
    own = {file for file in files if folder / ".git" in file.parents}
    assert sorted(file.name for file in files if file not in own) == ["checkout.sh", "train.py"]
    assert "made" not in {file.name for file in own}
