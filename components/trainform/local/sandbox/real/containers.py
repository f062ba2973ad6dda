"""The containers of real nodes, with their network and volumes. They are removed by the sandbox's label."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from trainform.errors import SandboxError
from trainform.local.docker_daemon import KINDS, docker_errors, find_labelled, one_line, remove_object
from trainform.local.sandbox.ports import LOOPBACK
from trainform.local.sandbox.real.node_files import FOLDER, RealNode

LABEL = "trainform.sandbox"
IMAGES = "trainform-node-images"
"""The volume with the images of all real nodes on this machine."""
FOLDERS = "/folders"  # in a node
# What `--privileged` gives, for machines without CAP_SYS_RESOURCE, where Docker refuses that option.
UNCONFINED = {
    "CapAdd": ["ALL"],
    "CapDrop": ["SYS_RESOURCE"],
    "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
    "MaskedPaths": [],
    "ReadonlyPaths": [],
    "DeviceCgroupRules": ["a *:* rwm"],
    "Devices": [{"PathOnHost": "/dev/kmsg", "PathInContainer": "/dev/kmsg", "CgroupPermissions": "rwm"}],
}
HOST = "host.docker.internal"  # Docker Desktop's name of this machine
RETRY_SECONDS = 0.1
REMOVE_SECONDS = 30.0


class Containers:
    """The containers of one sandbox."""

    def __init__(self, client: Any, folder: Path) -> None:
        self._client = client
        place = str(folder.resolve())  # the same for every path that leads there
        self._labels, self._label = {LABEL: place}, f"{LABEL}={place}"
        self._name = f"trainform-{hashlib.sha256(place.encode()).hexdigest()[:8]}"

    def running(self) -> list[str]:
        """Return the ids of the nodes that run."""
        return [str(each["Id"]) for each in self._client.containers(filters={"label": self._label})]

    def memory(self) -> int:
        """Return the bytes that nodes may share: what is free on this machine, and at most what Docker has."""
        return min(psutil.virtual_memory().available, int(self._client.info()["MemTotal"]))

    def make_network(self) -> str:
        """Create the network and the volumes; return the address of this machine in the network."""
        made = self._client.create_network(self._name, driver="bridge", labels=self._labels)
        self._client.create_volume(IMAGES)
        self._client.create_volume(f"{self._name}-claims", labels=self._labels)
        return str(self._client.inspect_network(made["Id"])["IPAM"]["Config"][0]["Gateway"])

    def host_address(self, image: str) -> str:
        """Return the address at which a container reaches this machine, whatever runs Docker."""
        host = {"ExtraHosts": [f"{HOST}:host-gateway"]}
        body = {"Image": image, "Entrypoint": ["getent", "ahostsv4", HOST], "Labels": self._labels, "HostConfig": host}
        container = self._client.create_container_from_config(body)["Id"]
        self._client.start(container)
        self._client.wait(container)
        printed: bytes = self._client.logs(container)
        self._client.remove_container(container)
        return printed.decode().split()[0]

    def start(self, node: RealNode, image: str, files: Mapping[str, bytes], folders: Mapping[str, str]) -> str:
        """Start a node with these files in /etc/trainform and these folders in FOLDERS, and return its address."""
        binds = [f"{path}:{FOLDERS}/{name}" for name, path in folders.items()]
        here = [{"HostIp": LOOPBACK, "HostPort": str(node.port)}]
        ports = {} if node.port is None else {f"{node.port}/tcp": here}
        host = {
            "Memory": node.memory,
            "MemorySwap": node.memory,
            "CgroupnsMode": "private",
            "NetworkMode": self._name,
            "Tmpfs": {"/run": "rw,exec"},
            "Binds": [f"{IMAGES}:/images", f"{self._name}-claims:/sandbox", *binds],
            "PortBindings": ports,
        }
        body = {
            "Image": image,
            "Hostname": node.name,
            "Labels": self._labels,
            "ExposedPorts": {port: {} for port in ports},
            "Volumes": {"/var": {}},  # containerd's overlayfs does not work on Docker's
            "HostConfig": host,
        }
        container = start_container(self._client, body, self._container(node), archive(files))
        networks = self._client.inspect_container(container)["NetworkSettings"]["Networks"]
        return str(networks[self._name]["IPAddress"])

    def write(self, node: RealNode, files: Mapping[str, bytes]) -> None:
        """Write files into /etc/trainform of a node."""
        self._client.put_archive(self._container(node), "/", archive(files))

    def _container(self, node: RealNode) -> str:
        return f"{self._name}-{node.name}"

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the running nodes, and start them again at the end; then they have all images."""
        found = self.running()
        try:
            for each in found:
                self._client.stop(each, timeout=0)
            yield
        finally:
            for each in reversed(found):  # the oldest first, so that each has its address again
                self._client.start(each)

    def output(self, node: RealNode) -> str:
        """Return the end of what the node's own program has printed."""
        printed: bytes = self._client.logs(self._container(node), tail=5)
        return printed.decode(errors="replace").strip()

    def remove(self, *, claims: bool) -> None:
        """Remove the nodes and the network, with `claims` also their data, until none is left. The images stay."""
        end = time.monotonic() + REMOVE_SECONDS
        while refusals := [*self._refusals(claims=claims)]:
            if time.monotonic() > end:
                fix = (
                    "look at `docker ps --all`, or restart Docker, which stops all containers; then run "
                    "`trainform sandbox down` again"
                )
                raise SandboxError(f"Docker cannot remove the real nodes: {refusals[0]}", fix)
            time.sleep(RETRY_SECONDS)

    def remove_images(self) -> None:
        """Remove the images of all real nodes on this machine."""
        if IMAGES in [each["Name"] for each in self._client.volumes()["Volumes"] or []]:
            self._client.remove_volume(IMAGES)

    def _refusals(self, *, claims: bool) -> Iterator[str]:
        """Remove everything once; yield Docker's reason for each object that it keeps."""
        for kind in KINDS:
            for name in find_labelled(self._client, kind, self._labels) if kind != "volume" or claims else ():
                try:
                    remove_object(self._client, kind, name)
                except docker_errors() as error:
                    yield one_line(error)


def start_container(client: Any, body: dict[str, Any], name: str | None = None, files: bytes = b"") -> str:
    """Start a container that may do everything, and return its id. files: an archive to unpack before."""
    for rights in ({"Privileged": True}, UNCONFINED):
        made = str(client.create_container_from_config({**body, "HostConfig": body["HostConfig"] | rights}, name)["Id"])
        try:
            if files:
                client.put_archive(made, "/", files)
            client.start(made)
        except docker_errors() as error:
            client.remove_container(made, force=True, v=True)
            if rights is UNCONFINED or "operation not permitted" not in one_line(error):
                raise
        except BaseException:  # Ctrl-C
            client.remove_container(made, force=True, v=True)
            raise
        else:
            return made
    raise AssertionError("unreachable: the second start returns or raises")


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return a tar archive with the files of a node, readable for root alone."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as made:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{FOLDER.lstrip('/')}/{name}")
            info.size, info.mode = len(content), 0o600
            made.addfile(info, io.BytesIO(content))
    return written.getvalue()
