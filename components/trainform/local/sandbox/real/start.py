"""Start and stop the real nodes of a sandbox."""

from __future__ import annotations

import contextlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local import forward
from trainform.local.docker_daemon import docker_client, find_or_pull
from trainform.local.sandbox import nodes
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Authority, Certificates
from trainform.local.sandbox.components import FORWARDER
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.ports import LOOPBACK, pick_ports
from trainform.local.sandbox.processes import Command
from trainform.local.sandbox.real.containers import Containers
from trainform.local.sandbox.real.image import ensure_image
from trainform.local.sandbox.real.load import is_loaded, load, node_image
from trainform.local.sandbox.real.node_files import (
    DNS_USER,
    PROXY_USER,
    RealNode,
    addresses,
    chosen_nodes,
    cluster_objects,
    node_files,
    node_object,
    peers,
)
from trainform.local.sandbox.settings import SandboxSettings
from trainform.local.sandbox.waiting import Condition
from trainform.local.toolchain.addons import COREDNS, NODE, ensure_addons

SECONDS = 60  # for one answer of Docker
LOAD_SECONDS = 600
FEWER = "start fewer real nodes, or `sudo sysctl fs.inotify.max_user_instances=1024`: each kubelet needs some of them"
NODE_IMAGE = "the image of the nodes"
LEAST_MEMORY = 1 << 30
SHARE = 0.75  # of the free memory, for all real nodes together
_NODES = "/api/v1/nodes"


@contextlib.contextmanager
def containers(folder: Path) -> Iterator[Containers]:
    """Yield the sandbox's containers. TrainformError for errors of Docker."""
    with docker_client(SECONDS, "a real node") as client:
        yield Containers(client, folder)


def ready_image(progress: Progress) -> str:
    """Return the name of the nodes' image; build what is missing."""
    built = ensure_addons((NODE, COREDNS), progress)
    programs = {name: built[part.folder].binary(name) for part in (NODE, COREDNS) for name in part.binaries}
    with docker_client(LOAD_SECONDS, "a real node") as client:
        return ensure_image(client, programs, progress)


def load_images(images: Mapping[str, str | None], folder: Path, progress: Progress) -> tuple[list[str], int]:
    """Import images that the nodes lack (image -> its name for pods; None: its own). `NODE_IMAGE` is the nodes' own.

    Return the names for pods, and how many running nodes of the sandbox were restarted."""
    base = ready_image(progress)
    with docker_client(LOAD_SECONDS, "a real node") as client:
        own = Containers(client, folder)
        running = own.running()
        chosen = [(base if image == NODE_IMAGE else image, name) for image, name in images.items()]
        found = [node_image(find_or_pull(client, image, progress), name or image) for image, name in chosen]
        missing = [image for image in found if not running or not is_loaded(client, running[0], image)]
        if missing:
            load(client, own, base, missing, progress)
    return [name for image in found for name in image.names], len(running) if missing else 0


class RealNodes:
    """The real nodes of a sandbox whose API server is ready."""

    def __init__(self, layout: Layout, api: Api, port: int, settings: SandboxSettings, image: str) -> None:
        self._layout, self._api, self._port, self._image = layout, api, port, image
        self._folders, self._published = settings.folders, settings.published
        with containers(layout.root) as docker:
            memory = int(max(docker.memory(), LEAST_MEMORY) * SHARE)
        chosen = chosen_nodes(settings.pools, settings.real or 0, memory)
        ports = pick_ports([node.name for node in chosen], {}) if settings.published else {}
        self.nodes: Sequence[RealNode] = [structs.replace(node, port=ports.get(node.name)) for node in chosen]

    def network(self) -> Command:
        """Create network and volumes; return the command that connects them to the API server."""
        with containers(self._layout.root) as docker:
            docker.remove(claims=False)
            gateway = docker.make_network()
            self.address = docker.host_address(self._image) if self._published else gateway
        for path, manifest in cluster_objects(self.address, self._port).items():
            self._api.apply(path, manifest)
        # elsewhere Docker itself leads from that address to the loopback interface
        routes = [(self.address, self._port, [(LOOPBACK, self._port)])] if platform.system() == "Linux" else []
        words = [forward.__file__, json.dumps(routes)]
        return Command(FORWARDER, Path(sys.executable), words, self._layout.log(FORWARDER))

    def start(self) -> None:
        """Create the Node objects, which kubelets do not create, then start the containers."""
        certificates = Certificates(self._layout.pki)
        signed = self._sign(certificates)
        for node in self.nodes:
            self._api.create(_NODES, node_object(node))
        server = f"https://{self.address}:{self._port}"
        with containers(self._layout.root) as docker:
            started = [
                (node, docker.start(node, self._image, node_files(node, server, certificates, signed), self._folders))
                for node in self.nodes
            ]
            for node, address in started:
                self._api.merge(f"{_NODES}/{node.name}/status", {"status": {"addresses": addresses(node, address)}})
                docker.write(node, {"peers": peers(started, node)})

    def _sign(self, certificates: Certificates) -> dict[str, Path]:
        """Sign a certificate for each kubelet, and those of the programs that all nodes run."""
        authority = Authority.stored(certificates.authority, certificates.authority_key)
        names = {node.name: f"CN=system:node:{node.name},O=system:nodes" for node in self.nodes}
        names |= {user: f"CN={user}" for user in (PROXY_USER, DNS_USER)}
        signed = {user: self._layout.pki / f"{user.replace(':', '-')}.crt" for user in names}
        for user, name in names.items():
            authority.sign(name, (user,), signed[user], signed[user].with_suffix(".key"))
        return signed

    def readiness(self) -> Condition:
        """Return the condition that `up` waits for."""
        return Condition("the real nodes are ready", FORWARDER, self._are_ready)

    def _are_ready(self) -> bool:
        ready, _ = nodes.count_nodes(self._api, nodes.REAL_NODES)
        if ready == len(self.nodes):
            return True
        with containers(self._layout.root) as docker:
            if len(docker.running()) < len(self.nodes):
                printed = "\n".join(filter(None, map(docker.output, self.nodes)))
                fix = FEWER if "inotify" in printed else "`trainform sandbox down`, then start it again"
                raise SandboxError("a real node has ended", fix, printed.splitlines())
        return False
