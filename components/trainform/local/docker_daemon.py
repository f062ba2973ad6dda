"""The connection to Docker, for rehearsals and real nodes."""

from __future__ import annotations

import contextlib
import platform
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainform.errors import TrainformError

if TYPE_CHECKING:
    from docker import APIClient

NO_PERMISSION_FIX = "join the group of the socket: `sudo usermod -aG docker $USER`, then log in again"
NO_DAEMON_FIX = (
    "on Debian: `apt-get install docker.io`, then start `dockerd`; on other systems see docs.docker.com, or set "
    "DOCKER_HOST"
)


def connect(seconds: int, what: str = "a rehearsal") -> APIClient:
    """Return a connection. seconds: for one answer. what: needs it. TrainformError if no daemon answers."""
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


def docker_answers() -> bool:
    """Return True if a daemon answers."""
    try:
        connect(10).close()
    except TrainformError:
        return False
    return True


def no_real_nodes(seconds: int = 10) -> str:
    """Return why real nodes cannot run here; "" if they can. TrainformError if no daemon answers."""
    if platform.system() != "Linux":
        return "real nodes have been run on Linux only"
    with contextlib.closing(connect(seconds, "a real node")) as client:
        options, parts = client.info().get("SecurityOptions") or [], client.version().get("Components") or []
    if any("rootless" in option for option in options):
        return "real nodes need a Docker daemon with the rights of root, and this one is rootless"
    if any("podman" in str(part.get("Name")).lower() for part in parts):
        return "real nodes have not been run with Podman"
    return ""


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
