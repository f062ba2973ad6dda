"""Images of this machine's Docker for real nodes: imported once, into a volume that all nodes use."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import InputError, Problem, SandboxError
from trainform.local.sandbox.real.containers import IMAGES, start_container
from trainform.local.toolchain.cache import cache_folder

DIGEST = 2  # its column in containerd's list of images
IMPORTER = "trainform.importer"
IMAGE = ("ctr", "--namespace", "k8s.io", "images")


def load(client: Any, node_image: str, image: str, name: str | None, progress: Progress) -> list[str]:
    """Import an image of Docker, and return the names under which pods find it: `name`, or its own, and its digests.
    InputError if Docker does not have the image."""
    found = _inspected(client, image)
    names, temporary = names_of(found, image, name)
    with hold(cache_folder() / "node-image" / "import.lock", f"loading {image}", progress):
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
    return names


def is_loaded(client: Any, container: str, image: str, name: str | None) -> bool:
    """Return True if containerd in this running container has the image under all of its names."""
    names, temporary = names_of(_inspected(client, image), image, name)
    rows = [line.split() for line in _run(client, container, [*IMAGE, "list"]).splitlines()]
    digests = {row[0]: row[2] for row in rows if len(row) > DIGEST}
    return full_name(temporary) in digests and {digests.get(each) for each in names} == {digests[full_name(temporary)]}


def is_here(client: Any, image: str) -> bool:
    """Return True if Docker has the image, by name or id."""
    try:
        _inspected(client, image)
    except InputError:
        return False
    return True


def _inspected(client: Any, image: str) -> dict[str, Any]:
    from docker.errors import ImageNotFound

    try:
        found: dict[str, Any] = client.inspect_image(image)
    except ImageNotFound:
        fix = f"`docker pull {image}`, or name one of those that `docker images` lists"
        raise InputError([Problem("IMAGE", image, "is not an image of this machine's Docker", fix)]) from None
    return found


def names_of(found: dict[str, Any], image: str, name: str | None) -> tuple[list[str], str]:
    """Return the names under which pods find the image, and the one by which it is recognised. found: what Docker says
    of it."""
    names = map(full_name, references(image if name is None else name, found["RepoDigests"]))
    return [*dict.fromkeys(names)], f"trainform-loading:{found['Id'].removeprefix('sha256:')[:12]}"


def references(name: str, digests: Iterable[str]) -> list[str]:
    """Return the names to give: this one, and with the digests that registries gave the image."""
    repository = name.partition("@")[0]
    repository = repository[: repository.rindex(":")] if ":" in repository.rpartition("/")[2] else repository
    return [name, *(f"{repository}@{digest.partition('@')[2]}" for digest in digests)]


def full_name(name: str) -> str:
    """Return the name as containerd has it: with registry, and with the tag `latest` where there is none."""
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
    for left in client.containers(all=True, filters={"label": IMPORTER}):  # of a load that was killed: one at a time
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
    """Yield the socket of a stream of Docker's, and close both: the stream leaves its socket open."""
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
