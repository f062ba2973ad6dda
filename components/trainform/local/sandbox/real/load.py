"""Images of this machine's Docker for real nodes: imported once, into a volume that all nodes use."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError
from trainform.local.docker_daemon import find_or_pull
from trainform.local.sandbox.real.containers import IMAGES, start_container
from trainform.local.toolchain.cache import cache_folder

DIGEST = 2  # its column in containerd's list of images
IMPORTER = "trainform.importer"
IMAGE = ("ctr", "--namespace", "k8s.io", "images")


def load(
    client: Any, node_image: str, image: str, name: str | None, running: Sequence[str], progress: Progress
) -> tuple[list[str], bool]:
    """Import an image of Docker, unless these running nodes have it.

    Return the names under which pods find it (`name`, or its own, and its digests), and True if it was imported."""
    found = find_or_pull(client, image, progress)
    names, temporary = names_of(found, image, name)
    if running and _is_loaded(client, running[0], names, full_name(temporary)):
        return names, False
    with (
        progress.step(f"loading {image} for the real nodes"),
        hold(cache_folder() / "node-image" / "import.lock", f"loading {image}", progress),
    ):
        client.tag(found["Id"], *temporary.split(":"))
        try:
            with importer(client, node_image) as container:
                present = _run(client, container, [*IMAGE, "list", "--quiet"]).split()
                if full_name(temporary) not in present:
                    _import(client, container, temporary)
                _run(client, container, [*IMAGE, "tag", "--force", full_name(temporary), *names])
        finally:
            if found["RepoTags"]:  # otherwise Docker would remove the image with its only name
                client.remove_image(temporary)
    return names, True


def _is_loaded(client: Any, container: str, names: Sequence[str], temporary: str) -> bool:
    """Return True if containerd in this running container has the image under all of its names."""
    rows = [line.split() for line in _run(client, container, [*IMAGE, "list"]).splitlines()]
    digests = {row[0]: row[2] for row in rows if len(row) > DIGEST}
    return temporary in digests and {digests.get(each) for each in names} == {digests[temporary]}


def names_of(found: dict[str, Any], image: str, name: str | None) -> tuple[list[str], str]:
    """Return the names under which pods find the image, and a name with its id. found: Docker's description."""
    names = map(full_name, references(image if name is None else name, found["RepoDigests"]))
    return [*dict.fromkeys(names)], f"trainform-loading:{found['Id'].removeprefix('sha256:')[:12]}"


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
    for left in client.containers(all=True, filters={"label": IMPORTER}):  # of a load that was killed
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
    command = [*IMAGE, "import", "-"]
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
