"""Pods for the SSH tests: containers on one network, with volumes as kubelet mounts them."""

from __future__ import annotations

import dataclasses
import io
import subprocess
import tarfile
from collections.abc import Mapping

from trainform import defaults
from trainform.manifests.ssh_files import Names, identity_files
from trainform.plan.launch.launch import WAIT_SCRIPT
from trainform.plan.launch.prepare import ssh_files
from trainform.plan.launch.scripts import script

SECRET = "correct horse battery staple"  # noqa: S105 - of no stack
ROOT = 0
# A new volume takes the mode of the image's folder at its mount point; a kubelet's folders are as open as this one.
ANYBODY_S = "/tmp"  # noqa: S108 - of the image


def docker(*words: str, content: bytes | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["docker", *words], input=content, capture_output=True, timeout=120, check=False)
    text = subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())
    assert not check or text.returncode == 0, text
    return text


def archive(files: Mapping[str, str], generation: int, mode: int, group: int) -> bytes:
    """Return the files as a kubelet mounts them: links into the folder of this generation, to which a link points."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        folder = tarfile.TarInfo(f"..{generation}")
        folder.type, folder.mode, folder.gid = tarfile.DIRTYPE, 0o755, group
        tar.addfile(folder)
        links = {"..data": folder.name, **{name: f"..data/{name}" for name in files}}
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
        for name, text in files.items():
            file = tarfile.TarInfo(f"{folder.name}/{name}")
            file.mode, file.gid, file.size = mode, group, len(text.encode())
            tar.addfile(file, io.BytesIO(text.encode()))
    return stream.getvalue()


@dataclasses.dataclass
class Volume:
    """A Secret or ConfigMap on a node. Its files are written through a container that never runs."""

    name: str
    mode: int
    group: int
    generation: int = 0

    def write(self, files: Mapping[str, str]) -> None:
        self.generation += 1
        content = archive(files, self.generation, self.mode, self.group)
        docker("cp", "-", f"{self.name}:{ANYBODY_S}", content=content)


@dataclasses.dataclass(frozen=True)
class Pod:
    """A running pod. `name` is its hostname."""

    name: str
    container: str
    secret: Volume

    def run(self, command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command next to the container's own process, with its variables."""
        words = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        return docker("exec", *words, self.container, "/bin/sh", "-c", command, check=False)

    def output(self, command: str, **env: str) -> str:
        done = self.run(command, **env)
        assert done.returncode == 0, done
        return done.stdout

    def wait(self, hosts: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
        lines = "".join(f"{host} slots=2\n" for host in hosts)
        wait = f"{defaults.LAUNCH_MOUNT}/{WAIT_SCRIPT}"
        command = f'printf "%s" "$HOSTS" >/tmp/hostfile; exec /bin/sh {wait} ssh /tmp/hostfile'
        return self.run(command, HOSTS=lines, TRAINFORM_WAIT_SECONDS=str(seconds))


@dataclasses.dataclass
class Cluster:
    """One network with pods. Everything that it makes carries its label."""

    image: str
    label: str
    pods: int = 0
    volumes: list[str] = dataclasses.field(default_factory=list)
    scripts: dict[str, Volume] = dataclasses.field(default_factory=dict)

    def volume(self, mode: int, group: int) -> Volume:
        name = f"{self.label}-volume-{len(self.volumes)}"
        self.volumes.append(name)
        docker("create", "--name", name, "--label", self.label, "-v", f"{name}:{ANYBODY_S}", self.image, "true")
        return Volume(name, mode, group)

    def start(
        self,
        names: Names,
        command: list[str],
        files: Mapping[str, str] | None = None,
        user: int = ROOT,
        env: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
    ) -> Pod:
        self.pods += 1
        name = f"{names.experiment}-1f3a9c-worker-{self.pods}"
        # kubelet adds the group's bits to an fsGroup's files, and leaves them to root
        secret = self.volume(0o400 if user == ROOT else 0o440, 0 if user == ROOT else user)
        secret.write(identity_files(names, SECRET, 1) if files is None else files)
        if names.folder not in self.scripts:
            self.scripts[names.folder] = self.volume(0o555, 0)
            self.scripts[names.folder].write({**ssh_files(names.folder), WAIT_SCRIPT: script(WAIT_SCRIPT, ["at-once"])})
        scripts = self.scripts[names.folder]
        given = {"TRAINFORM_SSH_PORT": str(names.port), **({} if env is None else env)}
        alias = f"{name}.{names.service}"
        container = f"{self.label}-{name}"
        docker(
            "run", "--detach", "--label", self.label, "--name", container, "--hostname", name, "--user", str(user),
            "--network", self.label, "--network-alias", alias,
            "--network-alias", f"{alias}.{names.namespace}.svc.cluster.local",
            "-v", f"{secret.name}:{names.folder}:ro", "-v", f"{scripts.name}:{defaults.LAUNCH_MOUNT}:ro",
            *(word for key, value in given.items() for word in ("-e", f"{key}={value}")),
            *options, self.image, *command,
        )  # fmt: skip
        return Pod(name, container, secret)

    def remove(self) -> None:
        containers = docker("ps", "--all", "--quiet", "--filter", f"label={self.label}").stdout.split()
        docker("rm", "--force", "--volumes", *containers)
        docker("volume", "rm", *self.volumes)
        # Docker may keep an endpoint of a container that is gone, until it is restarted (moby/moby#42119).
        docker("network", "rm", self.label, check=False)
