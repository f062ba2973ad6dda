"""The script of a git checkout, run by the shells of images with the real git against repositories on this machine."""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trainform.plan.launch.scripts import script
from trainform.spec.names import ABSOLUTE_PATH, matches

# Protocol 2 gives any commit that is there; servers that refuse speak the older one.
REFUSES = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.version", "GIT_CONFIG_VALUE_0": "0"}


@dataclasses.dataclass(frozen=True)
class Repository:
    """A repository with two commits on its branch and two on another one; `beside` is the first of these."""

    path: Path
    address: str
    first: str
    head: str
    beside: str


@dataclasses.dataclass
class Volume:
    """The pod's empty volume, and a home without settings."""

    path: Path
    home: Path
    shell: Path = Path("/bin/sh")

    def run(self, repository: str, commit: str, **environ: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "TRAINFORM_GIT_REPOSITORY": repository, "TRAINFORM_GIT_COMMIT": commit, "TRAINFORM_GIT_PATH": str(self.path),
        }  # fmt: skip
        file = self.home / "checkout.sh"
        file.write_text(script("checkout.sh"))
        return subprocess.run(
            [str(self.shell), str(file)],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "GIT_CONFIG_NOSYSTEM": "1",
                **variables,
                **environ,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.path.iterdir() if path.is_file()}

    def git(self, *words: str) -> str:
        return _git(self.path, *words)


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


class _Connection(socketserver.BaseRequestHandler):
    """Git's own server on one connection, as inetd would start it. It serves the repositories below the folder."""

    def __init__(self, folder: Path, *connection: Any) -> None:
        self.folder = folder
        super().__init__(*connection)

    def handle(self) -> None:
        command = ["git", "daemon", "--inetd", "--export-all", "--log-destination=none", f"--base-path={self.folder}"]
        subprocess.run(command, stdin=self.request, stdout=self.request, timeout=60, check=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server of all repositories in the folders of these tests."""
    folder = tmp_path_factory.getbasetemp()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), functools.partial(_Connection, folder)) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"git://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path, server: str) -> Repository:
    path = tmp_path / "sdxl.git"
    path.mkdir()
    return committed(path, server)


def committed(path: Path, server: str, *options: str) -> Repository:
    """A new repository in this folder. `options`: of `git init`."""
    _git(path, "init", "-q", "-b", "trunk", *options)
    hashes = []
    for text in ("first", "second"):
        (path / "train.py").write_text(text)
        _git(path, "add", ".")
        _git(path, "commit", "-q", "-m", text)
        hashes.append(_git(path, "rev-parse", "HEAD"))
    _git(path, "checkout", "-q", "-b", "beside", hashes[0])
    (path / "extra.py").write_text("beside")
    _git(path, "add", ".")
    _git(path, "commit", "-q", "-m", "beside")
    beside = _git(path, "rev-parse", "HEAD")
    _git(
        path, "commit", "-q", "--allow-empty", "-m", "later"
    )  # servers give the tips of branches by their hash in any case
    _git(path, "checkout", "-q", "trunk")
    first, head = hashes
    address = f"{server}/{path.parent.name}/{path.name}"
    return Repository(path, address, first, head, beside)


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    path, home = tmp_path / "code", tmp_path / "home"
    path.mkdir()
    home.mkdir()
    return Volume(path, home)


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_the_commit_and_not_the_head_of_its_branch(
    protocol: dict[str, str], shell: Path, repository: Repository, volume: Volume
) -> None:
    volume.shell = shell
    done = volume.run(repository.address, repository.first, **protocol)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"trainform: {repository.address} at {repository.first} in {volume.path}\n"
    assert volume.files() == {"train.py": "first"}
    assert volume.git("status", "--porcelain") == "", "nothing of ours lies about"


def test_only_that_commit_is_fetched_where_the_server_gives_it(repository: Repository, volume: Volume) -> None:
    volume.run(repository.address, repository.head)
    assert volume.git("rev-parse", "--is-shallow-repository") == "true"
    assert volume.git("rev-list", "--all", "HEAD") == repository.head


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_of_another_branch(protocol: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.address, repository.beside, **protocol)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "extra.py": "beside"}


def test_a_commit_that_only_a_tag_has(repository: Repository, volume: Volume) -> None:
    _git(repository.path, "tag", "v1", "beside")
    _git(repository.path, "branch", "-q", "-D", "beside")
    assert volume.run(repository.address, repository.beside, **REFUSES).returncode == 0
    assert "extra.py" in volume.files()


@pytest.mark.parametrize("protocol", [{}, REFUSES], ids=["gives", "refuses"])
def test_a_commit_that_is_not_there(protocol: dict[str, str], repository: Repository, volume: Volume) -> None:
    done = volume.run(repository.address, "0" * 40, **protocol)
    assert done.returncode == 1
    assert done.stderr == f"trainform: {repository.address} has no commit {'0' * 40}\n"


def test_a_repository_that_is_not_there(server: str, volume: Volume) -> None:
    done = volume.run(f"{server}/nowhere.git", "0" * 40)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"trainform: {server}/nowhere.git cannot be fetched:\n"
        "fatal: remote error: access denied or repository not exported: /nowhere.git\n"
    ), "and nothing of a commit: nobody knows"


def test_again_as_after_a_restart_of_the_pod(repository: Repository, volume: Volume) -> None:
    """Also without the server, and after files were changed. Files that the training wrote stay."""
    assert volume.run(repository.address, repository.first).returncode == 0
    (volume.path / "train.py").write_text("changed")
    (volume.path / "checkpoint.pt").write_text("weights")
    done = volume.run(f"{repository.address}/gone", repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first", "checkpoint.pt": "weights"}


def test_again_after_it_was_killed(repository: Repository, volume: Volume) -> None:
    """A git that was killed leaves its lock files behind, and the next git would refuse to run."""
    volume.git("init", "-q")
    for lock in ("index.lock", "shallow.lock", "HEAD.lock"):
        (volume.path / ".git" / lock).write_text("")
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_the_folder_belongs_to_somebody_else(repository: Repository, volume: Volume) -> None:
    """The kubelet makes it as root, and the containers may run as another user."""
    os.chown(volume.path, 12345, 12345)
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_git(volume: Volume, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    done = volume.run("https://git.example.com/sdxl.git", "0" * 40, PATH=str(empty))
    assert done.returncode == 1
    assert done.stderr == "trainform: the image has no git; name one that has it in `image:` of the step\n"
    assert volume.files() == {}


# Addresses with a password, as it comes from a Secret: escaped as it should be, and not.
PASSWORDS = [
    "hunter2",
    "hunter2@hunter3",
    "hunter2@hunter3@hunter4",
    "a:hunter2",
    "%68hunter2",
    "hunter*",
    "hunter[2]",
    "hunter2$(>made)",
]


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_in_the_address_is_not_printed(password: str, repository: Repository, volume: Volume) -> None:
    """`repository: https://trainer:$(TOKEN)@…`: Kubernetes puts the value in before the script sees it."""
    address = f"https://trainer:{password}@git.example.com/sdxl.git"
    mapped = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.address}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }
    for commit in (repository.head, "0" * 40):
        done = volume.run(address, commit, **mapped)
        assert "hunter" not in done.stdout + done.stderr
        assert (
            f"https://git.example.com/sdxl.git{' at' if commit == repository.head else ' has no commit'}"
            in done.stdout + done.stderr
        )


@pytest.mark.parametrize("password", [*PASSWORDS, "hunter2\n", "hunter2 hunter3", "hunter2/hunter3"])
@pytest.mark.parametrize("scheme", ["http", "https", "ssh", "git"])
def test_a_password_is_not_printed_by_git_either(scheme: str, password: str, volume: Volume) -> None:
    """Nothing listens on this port."""
    done = volume.run(f"{scheme}://trainer:{password}@127.0.0.1:1/sdxl.git", "0" * 40)
    assert "hunter" not in done.stdout + done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")


# Addresses that are malformed, or hold a credential in another place than before the host.
MALFORMED = [
    "https://u:12/hunter2@127.0.0.1:1/x",
    "https://hunt/hunter2@127.0.0.1:1/x",
    "https://u:hunter2/hunter3@127.0.0.1:1/x",
    "u:hunter2@127.0.0.1:x",
    "https:/u:hunter2@127.0.0.1:1/x",
    "https//u:hunter2@127.0.0.1:1/x",
    "//u:hunter2@127.0.0.1:1/x",
    "https://127.0.0.1:1/x?access_token=hunter2",
    "https://127.0.0.1:1/x?access_token=hunter2@hunter3",
    "https://u@127.0.0.1:1/x?private_token=hunter2/hunter3",
    "https://127.0.0.1:1/x#hunter2",
    "https://:hunter2@127.0.0.1:1/x",
    "https://hunter2@127.0.0.1:1/x",
]


@pytest.mark.parametrize("address", MALFORMED)
def test_a_password_in_a_malformed_address_is_not_printed(address: str, shell: Path, volume: Volume) -> None:
    volume.shell = shell
    done = volume.run(address, "0" * 40, GIT_TERMINAL_PROMPT="0")
    assert "hunt" not in done.stdout + done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")


@pytest.mark.parametrize("end", ["\n", " ", "\t", "\r"])
def test_an_address_that_ends_with_a_line_break(end: str, shell: Path, volume: Volume) -> None:
    """As the value of a Secret that was made with `echo`."""
    volume.shell = shell
    done = volume.run(f"https://git.example.com/sdxl.git{end}", "0" * 40)
    reason = "the address of the repository holds a space or a line break; does the value of a Secret end with one?"
    assert (done.returncode, done.stderr) == (1, f"trainform: {reason}\n")


@pytest.mark.parametrize("scheme", ["ssh", "git"])
def test_a_password_that_nobody_asks_for(scheme: str, volume: Volume) -> None:
    """To ssh it would be a part of the user's name, which it prints when it is refused."""
    done = volume.run(f"{scheme}://trainer:hunter2@git.example.com/sdxl.git", "0" * 40)
    reason = f"the address of the repository holds a password, and {scheme} takes none: write https://, or use a key"
    assert (done.returncode, done.stderr) == (1, f"trainform: {reason}\n")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "[::1]:1", "git.example.invalid"])
def test_an_at_sign_that_ends_no_password(host: str, volume: Volume) -> None:
    """A user name before it cannot be told from a password whose `/` is not escaped."""
    done = volume.run(f"git://{host}/sdxl@v1.git", "0" * 40)
    assert done.stderr.startswith("trainform: ***@v1.git cannot be fetched:\n")
    done = volume.run(f"git://{host}/sdxl.git", "0" * 40)
    assert done.stderr.startswith(f"trainform: git://{host}/sdxl.git cannot be fetched:\n")


def test_a_commit_with_a_long_hash(tmp_path: Path, server: str, volume: Volume) -> None:
    """Of a repository with SHA-256 in the place of SHA-1."""
    (tmp_path / "long.git").mkdir()
    repository = committed(tmp_path / "long.git", server, "--object-format=sha256")
    assert len(repository.first) == 64
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert volume.files() == {"train.py": "first"}


def test_a_file_that_is_called_like_the_commit(repository: Repository, volume: Volume) -> None:
    (volume.path / repository.first).write_text("")
    done = volume.run(repository.address, repository.first)
    assert (done.returncode, done.stderr) == (0, "")
    assert "train.py" in volume.files()


# What a program on the way could take for an option, a command or a program of its own; `made` is the file of one that ran.
HOSTILE = [
    "--upload-pack=>made;",
    "--upload-pack=touch${IFS}made;",
    "-ftouch",
    "--help",
    "-",
    "ext::touch made",
    "ext::sh -c >made",
    "fd::1",
    "ssh://-oProxyCommand=touch${IFS}made/sdxl.git",
    "ssh://git@-oProxyCommand=touch${IFS}made/sdxl.git",
    "-oProxyCommand=touch${IFS}made:sdxl.git",
    "git@127.0.0.1:-oProxyCommand=touch${IFS}made",
    "$(touch${IFS}made)",
    "`touch${IFS}made`",
    ";>made;",
    "git://127.0.0.1:1/$(touch${IFS}made)",
    "git://127.0.0.1:1/';>made;'",
    "git://127.0.0.1:1/\n>made",
    "",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_address_is_no_option_and_no_program(hostile: str, shell: Path, volume: Volume, tmp_path: Path) -> None:
    """Whatever a variable in the place of the address holds, and whatever the image's git allows."""
    volume.shell = shell
    anything = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.allow", "GIT_CONFIG_VALUE_0": "always"}
    done = volume.run(hostile, "0" * 40, **anything)
    assert not list(tmp_path.rglob("made"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")
    assert "usage" not in done.stderr


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_repository_is_on_a_server(scheme: str, repository: Repository, volume: Volume) -> None:
    done = volume.run(f"{scheme}{repository.path}", repository.first)
    assert (done.returncode, done.stdout) == (1, "")
    assert "fatal: transport 'file' not allowed" in done.stderr
    allowed = volume.run(f"{scheme}{repository.path}", repository.first, GIT_ALLOW_PROTOCOL="file")
    assert (allowed.returncode, allowed.stderr) == (0, ""), "what the user says in git's own words holds"


# In the place of ssh, as no server is on this machine: what the real one makes of its options, the hosts that are pinned there, and
# then the command itself. (sshd among real pods: `tests/rehearsal`.)
SSH = """#!/bin/sh
{ssh} -G "$@" >{asked}
for word in "$@"; do case $word in UserKnownHostsFile=*) cat "${{word#*=}}" >>{asked} ;; esac; done
for word in "$@"; do last=$word; done
exec sh -c "$last"
"""
HOSTS = ["[git.example.com]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", "*.example.com ssh-rsa AAAAB3"]
OPTIONS = [
    "batchmode yes", "identitiesonly yes", "stricthostkeychecking true", "userknownhostsfile .git/known_hosts", "globalknownhostsfile /dev/null",
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
    "$(>made)", "${IFS}", "`>made`", ";>made;", "|>made", "&>made&", ">made", "<made", "'", '"', "\\", "\\n", "%h", "%%", "~", "~root", "*", "?", "[a]",
    "{a,b}", "#", "=", ",", "-", "-oProxyCommand=>made", "--upload-pack=>made", "!", "^", "(", ")", "$$", "$HOME", "$(HOME)", ".git", ".git.lock", "HEAD", "日本",
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
