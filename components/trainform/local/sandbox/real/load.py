"""Images of this machine's Docker for real nodes: imported once, into a volume that all nodes use."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local.docker_daemon import docker_errors
from trainform.local.sandbox.real.containers import IMAGES, Containers, start_container
from trainform.local.toolchain.cache import cache_folder

IMPORTER = "trainform.importer"
TEMPORARY = "trainform-loading"  # the name during an import
ID, NAME = "trainform_id", "trainform_name"  # labels of each name: the image in Docker, and what was loaded
CTR = ("ctr", "--namespace", "k8s.io")
# What no name needs is removed, unless a running node may use it; layers are needed unpacked only.
COLLECT = ("flock", "--nonblock", "--conflict-exit-code", "0", "/images/used", *CTR, "content", "prune", "references")


class NodeImage(Struct, frozen=True):
    """An image of Docker, and the names under which pods find it. has_tag: Docker has a name of it too."""

    id: str
    names: tuple[str, ...]
    has_tag: bool


def node_image(found: Mapping[str, Any], name: str) -> NodeImage:
    """Return the image that Docker describes as `found`, with this name and with its repository's digests."""
    names = map(full_name, references(name, found["RepoDigests"]))
    return NodeImage(found["Id"], tuple(dict.fromkeys(names)), bool(found["RepoTags"]))


def is_loaded(client: Any, container: str, image: NodeImage) -> bool:
    """Return True if containerd in this running container has the image under all of its names."""
    return {*image.names} <= {*_names(client, container, f'labels.{ID}=="{image.id}"')}


def load(client: Any, nodes: Containers, base: str, images: Sequence[NodeImage], progress: Progress) -> None:
    """Import images while these nodes are stopped, and remove what earlier loads of the same names left.

    base: the nodes' image. Running nodes of other sandboxes let all layers stay until the next load."""
    with (
        hold(cache_folder() / "node-image" / "import.lock", "loading images", progress),
        nodes.stopped(),
        importer(client, base) as container,
    ):
        for image in images:
            with progress.step(f"loading {image.names[0]} for the real nodes"):
                _load(client, container, image)
        _run(client, container, [*COLLECT])


def _load(client: Any, container: str, image: NodeImage) -> None:
    """Import an image unless it is there; give it its names, and remove those of an earlier load."""
    short, name = f"{TEMPORARY}:{image.id.removeprefix('sha256:')[:12]}", image.names[0]
    temporary, present = full_name(short), _names(client, container, f'labels.{ID}=="{image.id}"')
    if present:
        _run(client, container, [*CTR, "images", "tag", "--force", present[0], temporary])
    else:
        client.tag(image.id, *short.split(":"))
        try:
            _import(client, container, short)
        finally:
            if image.has_tag:  # otherwise Docker would remove the image with its only name
                client.remove_image(short)
    before = _names(client, container, f'labels.{NAME}=="{name}"', f'name~="/{TEMPORARY}:"')
    _run(client, container, [*CTR, "images", "label", temporary, f"{ID}={image.id}", f"{NAME}={name}"])
    _run(client, container, [*CTR, "images", "tag", "--force", temporary, *image.names])
    _run(client, container, [*CTR, "images", "remove", *({*before, temporary} - {*image.names})])


def _names(client: Any, container: str, *filters: str) -> list[str]:
    """Return the names of images in containerd to which one of the filters applies."""
    return _run(client, container, [*CTR, "images", "list", "--quiet", *filters]).split()


def references(name: str, digests: Iterable[str]) -> list[str]:
    """Return this name, and the same repository with each digest of the image."""
    repository = name.partition("@")[0]
    repository = repository[: repository.rindex(":")] if ":" in repository.rpartition("/")[2] else repository
    return [name, *(f"{repository}@{digest.partition('@')[2]}" for digest in digests)]


def full_name(name: str) -> str:
    """Return the name as containerd has it: with registry, and with the tag `latest` if it has none."""
    first, _, rest = name.partition("/")
    if not rest:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


@contextlib.contextmanager
def importer(client: Any, node_image: str) -> Iterator[str]:
    """Yield a container in which containerd has the volume of the images. It waits for another one's end."""
    host = {"Binds": [f"{IMAGES}:/images"], "Tmpfs": {"/run": "rw,exec"}}
    for left in client.containers(filters={"label": IMPORTER, "status": ["exited", "dead"]}):
        with contextlib.suppress(*docker_errors()):  # what a killed load has left, another one may remove
            client.remove_container(left, force=True, v=True)
    words = {"Entrypoint": ["/usr/lib/trainform/importer"], "Labels": {IMPORTER: ""}}
    body = {"Image": node_image, "HostConfig": host, "OpenStdin": True, "StdinOnce": True, **words}
    container = start_container(client, body)
    try:
        with connected(client.attach_socket(container, {"stdin": 1, "stream": 1})):
            _run(client, container, ["sh", "-c", "until ctr version >/dev/null 2>&1; do sleep 0.1; done"])
            yield container
    finally:
        client.remove_container(container, force=True, v=True)


@contextlib.contextmanager
def connected(stream: Any) -> Iterator[socket.socket]:
    """Yield the socket of a stream from docker-py, and close both: the stream leaves its socket open."""
    connection: socket.socket = stream._sock
    try:
        yield connection
    finally:
        stream.close()
        connection.close()


def _run(client: Any, container: str, command: list[str]) -> str:
    """Return what a program in the container prints. SandboxError if it fails."""
    made = client.exec_create(container, command)["Id"]
    printed: str = client.exec_start(made).decode(errors="replace")
    _check(client, made, command, printed)
    return printed


def _import(client: Any, container: str, image: str) -> None:
    """Write the image into the standard input of containerd's client."""
    command = [*CTR, "images", "import", "-"]
    made = client.exec_create(container, command, stdin=True)["Id"]
    stream = client.exec_start(made, socket=True)
    with connected(stream) as connection:
        for piece in client.get_image(image):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        printed = stream.read().decode(errors="replace")
    _check(client, made, command, printed)


def _check(client: Any, made: str, command: list[str], printed: str) -> None:
    code = client.exec_inspect(made)["ExitCode"]
    if code:
        reason = f"`{' '.join(command[:5])}` ended with exit code {code}"
        raise SandboxError(
            reason, "is the disk full? `docker system df` shows what Docker uses", printed.split("\n")[-3:]
        )
