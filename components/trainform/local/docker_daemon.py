"""Docker, for rehearsals and real nodes: the connection, images, and objects by their labels."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trainform.console.progress import Progress
from trainform.errors import TrainformError

if TYPE_CHECKING:
    from docker import APIClient

NO_PERMISSION_FIX = "join the group of the socket: `sudo usermod -aG docker $USER`, then log in again"
NO_DAEMON_FIX = (
    "on Debian: `apt-get install docker.io`, then start `dockerd`; on other systems see docs.docker.com, or set "
    "DOCKER_HOST"
)

KINDS = ("container", "volume", "network")  # in the order in which they can be removed


def connect(seconds: int, what: str = "a rehearsal") -> APIClient:
    """Return a connection. TrainformError if no daemon answers. seconds: for one answer. what: it needs Docker."""
    import docker
    import docker.utils

    settings = docker.utils.kwargs_from_env()
    try:
        _reach(str(docker.utils.parse_host(settings.get("base_url"))))
        return docker.APIClient(**settings, version="auto", timeout=seconds)
    except docker_errors() as error:
        fix = NO_PERMISSION_FIX if isinstance(error, PermissionError) else NO_DAEMON_FIX
        raise TrainformError(f"{what} needs Docker, and none answers: {one_line(error)}", fix) from None


@contextlib.contextmanager
def docker_client(seconds: int, what: str) -> Iterator[APIClient]:
    """Yield a connection, whose errors become `TrainformError`. The arguments are those of `connect`."""
    with contextlib.closing(connect(seconds, what)) as client:
        try:
            yield client
        except docker_errors() as error:
            raise TrainformError(
                f"Docker: {one_line(error)}", "read its message; `docker info` shows its state"
            ) from None


def daemon_version(seconds: int) -> str:
    """Return the version of the daemon that a rehearsal would use; `TrainformError` where none answers in time."""
    with contextlib.closing(connect(seconds)) as client:
        return str(client.version()["Version"])


def no_real_nodes(seconds: int = 10) -> str:
    """Return why real nodes cannot run here; "" if they can. TrainformError if no daemon answers."""
    with contextlib.closing(connect(seconds, "a real node")) as client:
        options, parts = client.info().get("SecurityOptions") or [], client.version().get("Components") or []
    if any("rootless" in option for option in options):
        return "real nodes need a Docker daemon with the rights of root, and this one is rootless"
    if any("podman" in str(part.get("Name")).lower() for part in parts):
        return "real nodes have not been run with Podman"
    return ""


def find_or_pull(client: Any, name: str, progress: Progress) -> dict[str, Any]:
    """Return Docker's description of an image, after it was pulled if it is not here. TrainformError if it cannot be
    pulled."""
    from docker.errors import ImageNotFound

    try:
        return dict(client.inspect_image(name))
    except ImageNotFound:
        with progress.step(f"pulling {name}"):
            try:
                client.pull(name)
            except docker_errors() as error:
                reason = f"the image {name} is not on this machine, and cannot be pulled: {one_line(error)}"
                fix = "`docker images` lists those that are here; `rehearse --image NAME` runs all pods in one of them"
                raise TrainformError(reason, fix) from None
    return dict(client.inspect_image(name))


def find_labelled(client: Any, kind: str, labels: Mapping[str, str]) -> list[str]:
    """Return the objects of one of the `KINDS` that have these labels, also containers that have ended."""
    filters = {"label": [f"{key}={value}" for key, value in labels.items()]}
    if kind == "volume":
        return [each["Name"] for each in client.volumes(filters=filters)["Volumes"] or []]
    found = client.containers(all=True, filters=filters) if kind == "container" else client.networks(filters=filters)
    return [each["Id"] for each in found]


def remove_object(client: Any, kind: str, name: str) -> None:
    """Remove an object of one of the `KINDS`; a container is killed, and its unnamed volumes are removed too."""
    if kind == "container":
        client.remove_container(name, force=True, v=True)
    elif kind == "volume":
        client.remove_volume(name, force=True)
    else:
        client.remove_network(name)


def docker_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that docker-py raises."""
    import docker.errors
    import urllib3

    return (docker.errors.DockerException, urllib3.exceptions.HTTPError, OSError)


def _reach(host: str) -> None:
    """OSError if nothing listens on a Unix socket. docker-py raises an error too, but leaves its own socket open."""
    scheme, _, path = host.partition("://")
    if scheme == "http+unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
            try:
                attempt.connect(path)
            except OSError as error:
                raise type(error)(error.errno, error.strerror, path) from None


def one_line(error: BaseException) -> str:
    """Return the message of Docker's error, in one line."""
    explanation = getattr(error, "explanation", None)
    text = str(error) if explanation is None else str(explanation)
    return " ".join(text.split())
