"""Docker: the only file that speaks to it. Everything that is made carries the rehearsal's labels, by which it is found and removed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import queue
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainform.errors import TrainformError
from trainform.rehearsal.bodies import Image
from trainform.spec.names import LABEL_MAX

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "trainform.rehearsal"
EXPERIMENT_LABEL = "trainform.rehearsal.experiment"
OWNER_LABEL = "trainform.rehearsal.owner"
TIMEOUT_SECONDS = 60  # for one answer; streams and waits have none
WORKERS = 8
AGAIN_SECONDS = 0.1
NAME_END = 20  # characters at the end of a container's name that always stay
KINDS = ("container", "volume", "network")  # in the order in which they can be removed
NO_PERMISSION_FIX = "join the group of the socket: `sudo usermod -aG docker $USER`, then log in again"
NO_DAEMON_FIX = "on Debian: `apt-get install docker.io`, then start `dockerd`; on other systems see docs.docker.com, or set DOCKER_HOST"


STDOUT, STDERR = 1, 2  # as Docker numbers them
FRAME = struct.Struct(">BxxxL")  # before each piece of output: its stream and length


class Attached:
    """The streams of a program in a container, which may be silent for as long as it likes. stream: docker-py's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._socket = getattr(
            stream, "_sock", stream
        )  # of some kinds of connection docker-py has the reader's side alone
        self._socket.settimeout(None)
        # docker-py hands out the socket below what has read the answer's head, and maybe with it what came right after
        self._reader = stream._response.raw._fp.fp

    def output(self) -> Iterator[tuple[int, bytes]]:
        """STDOUT or STDERR, and what it wrote, until it ends."""
        while len(head := self._reader.read(FRAME.size)) == FRAME.size:
            kind, length = FRAME.unpack(head)
            yield kind, self._reader.read(length)

    def write(self, data: bytes) -> None:
        """To its standard input; OSError where nobody reads it any more. Not for several threads at a time."""
        self._socket.sendall(data)

    def close(self) -> None:
        """Let go of it. What runs goes on."""
        self._stream._response.close()
        self._stream.close()


class RemovedError(Exception):
    """A container is gone, or nothing may be made any more: the rehearsal is over, or the pod is replaced."""


class Engine:
    """A connection to Docker for one rehearsal; usable from several threads. Its errors are `TrainformError`.

    lock: the file whose holder owns what an earlier rehearsal of the experiment left.
    """

    def __init__(self, experiment: str, lock: Path) -> None:
        import docker  # only here: few verbs have to pay for its import

        self.identity = uuid.uuid4().hex[:8]
        self.prefix = f"trainform-{self.identity}"
        self._owned = {OWNER_LABEL: f"{os.getuid()}@{socket.gethostname()}:{lock}", EXPERIMENT_LABEL: experiment}
        self._labels = {LABEL: self.identity, **self._owned}
        self._closed = False
        self._making = 0
        self._under_way = threading.Condition()
        self._idle: queue.SimpleQueue[APIClient] = queue.SimpleQueue()
        self._open: list[APIClient] = []
        self._errors = _errors()
        self._missing = docker.errors.NotFound
        self._settings = docker.utils.kwargs_from_env()
        first = _connect(self._settings, TIMEOUT_SECONDS)
        self._version = first.api_version
        self._open.append(first)
        self._idle.put(first)

    def close(self) -> None:
        """End the connections."""
        for client in self._open:
            client.close()

    @contextlib.contextmanager
    def _client(self) -> Iterator[APIClient]:
        """A connection of one's own: docker-py's are not for several threads at a time."""
        try:
            client = self._idle.get_nowait()
        except queue.Empty:
            import docker

            client = docker.APIClient(**self._settings, version=self._version, timeout=TIMEOUT_SECONDS)
            self._open.append(client)
        try:
            yield client
        except self._missing as error:
            raise RemovedError(spelled(error)) from None
        except self._errors as error:
            raise TrainformError(f"Docker: {spelled(error)}") from None
        finally:
            self._idle.put(client)

    def image(self, name: str) -> Image | None:
        """The image, None where it is not on this machine."""
        try:
            with self._client() as client:
                found: dict[str, Any] = client.inspect_image(name)  # type: ignore[no-untyped-call]
        except RemovedError:
            return None
        return Image(name, found["Config"].get("User", ""))

    def pull(self, name: str) -> None:
        """Fetch an image from its registry."""
        repository, tag = parted(name)
        try:
            with self._client() as client:
                client.pull(repository, tag=tag)
        except RemovedError as error:
            raise TrainformError(str(error)) from None

    def make_network(self) -> str:
        """The network of the rehearsal; its name."""
        self._make(lambda client: client.create_network(self.prefix, driver="bridge", labels=self._labels))
        return self.prefix

    def make_volume(self, key: str, options: dict[str, str]) -> tuple[str, str]:
        """A volume: its name, and its folder on Docker's machine."""
        name = f"{self.prefix}.{key}"
        made: dict[str, Any] = self._make(
            lambda client: client.create_volume(name, driver="local", driver_opts=options, labels=self._labels)
        )
        return made["Name"], made["Mountpoint"]

    def make_container(self, name: str, body: dict[str, Any], **labels: str) -> str:
        """A container that does not run yet; its id. labels: further ones, such as its pod."""
        config = {**body, "Labels": {**self._labels, **{f"{LABEL}.{key}": value for key, value in labels.items()}}}
        made: dict[str, Any] = self._make(
            lambda client: client.create_container_from_config(config, shortened(f"{self.prefix}-{name}"))  # type: ignore[no-untyped-call]
        )
        return str(made["Id"])

    def start(self, container: str) -> None:
        """Start a container; TrainformError with the runtime's reason where it cannot."""
        self._make(lambda client: client.start(container))

    def _make(self, work: Callable[[APIClient], Any]) -> Any:
        """Let Docker make something. In a thread, since Ctrl-C ends the waiting for an answer but not what Docker is doing: what is
        on its way is counted, and removed when it is there."""

        def make(_: None) -> Any:
            with self._under_way:
                if self._closed:
                    raise RemovedError("the rehearsal is over")
                self._making += 1
            try:
                with self._client() as client:
                    return work(client)
            finally:
                with self._under_way:
                    self._making -= 1
                    self._under_way.notify_all()

        return self.each(make, [None])[0]

    def address(self, container: str, network: str) -> str:
        """The IP address of a running container."""
        with self._client() as client:
            return str(client.inspect_container(container)["NetworkSettings"]["Networks"][network]["IPAddress"])

    def put(self, container: str, archive: bytes) -> None:
        """Unpack a tar archive at the container's root folder."""
        with self._client() as client:
            client.put_archive(container, "/", archive)

    def output(self, container: str) -> Iterator[bytes]:
        """What the container writes, piece by piece, until it ends."""
        with self._client() as client:
            yield from client.logs(container, stream=True, follow=True, stdout=True, stderr=True)

    def said(self, container: str) -> tuple[str, bool]:
        """What the container has written so far, and whether it runs."""
        with self._client() as client:
            runs = bool(client.inspect_container(container)["State"]["Running"])
            return client.logs(container, stdout=True, stderr=True).decode(errors="replace"), runs

    @contextlib.contextmanager
    def attached(self, container: str) -> Iterator[Attached]:
        """The streams of a container's program; of one that does not run yet, from its first word."""
        with self._client() as client:
            params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            with contextlib.closing(Attached(client.attach_socket(container, params))) as streams:
                yield streams

    def running(self, **labels: str) -> str | None:
        """The container of this rehearsal that runs and has these labels; None where there is none."""
        wanted = {LABEL: self.identity, **{f"{LABEL}.{key}": value for key, value in labels.items()}}
        with self._client() as client:
            found = client.containers(filters={"label": [f"{key}={value}" for key, value in wanted.items()]})
            return str(found[0]["Id"]) if found else None

    def execute(self, container: str, command: Sequence[str], hear: Callable[[int, bytes], None]) -> int:
        """Run a command in a container that runs, without standard input; its exit code. hear: gets STDOUT or STDERR, and what it writes."""
        with self._client() as client:
            made = client.exec_create(container, list(command))["Id"]
            with contextlib.closing(Attached(client.exec_start(made, socket=True))) as streams:
                for kind, data in streams.output():
                    hear(kind, data)
            while (state := client.exec_inspect(made))["Running"]:
                time.sleep(AGAIN_SECONDS)
            return int(state["ExitCode"])

    def wait(self, container: str) -> int:
        """The exit code, once it has ended."""
        with self._client() as client:
            return int(client.wait(container)["StatusCode"])

    def kill(self, container: str) -> None:
        """SIGKILL."""
        with self._client() as client:
            client.kill(container)

    def remove_containers(self, **labels: str) -> None:
        """Kill and remove this rehearsal's containers; those with these further labels, if given."""
        self._sweep({LABEL: self.identity, **{f"{LABEL}.{key}": value for key, value in labels.items()}}, ["container"])

    def remove_container(self, container: str) -> None:
        """Kill and remove one container."""
        refusal = self._refusal("container", container)
        if refusal is not None:
            raise TrainformError(f"Docker: {refusal}")

    def remove_all(self) -> None:
        """Everything that this rehearsal made. Nothing can be made any more."""
        with self._under_way:
            self._closed = True
            self._under_way.wait_for(lambda: self._making == 0, TIMEOUT_SECONDS)
        self._sweep({LABEL: self.identity}, KINDS)

    def remove_leftovers(self) -> int:
        """What killed rehearsals of the same experiment and the same user left; how many objects. Only under the experiment's lock."""
        return self._sweep(self._owned, KINDS)

    def _sweep(self, labels: dict[str, str], kinds: Sequence[str]) -> int:
        """Remove until nothing is left: what a thread was just making appears a moment later, and Docker refuses what is still in use."""
        removed: set[str] = set()
        end = time.monotonic() + TIMEOUT_SECONDS
        while found := [(kind, name) for kind in kinds for name in self._find(kind, labels)]:
            refusals = [refusal for kind in kinds for refusal in self._remove(kind, found)]
            removed.update(name for _, name in found)
            if refusals:
                if time.monotonic() > end:
                    fix = "look at `docker ps --all` and `docker volume ls`; the next rehearsal of the experiment tries again"
                    raise TrainformError(f"cannot remove what the rehearsal made: {refusals[0]}", fix)
                time.sleep(AGAIN_SECONDS)
        return len(removed)

    def _remove(self, kind: str, found: Iterable[tuple[str, str]]) -> list[str]:
        """Reasons of Docker's where it refuses."""
        names = [name for its_kind, name in found if its_kind == kind]
        return [refusal for refusal in self.each(lambda name: self._refusal(kind, name), names) if refusal is not None]

    def _find(self, kind: str, labels: dict[str, str]) -> list[str]:
        filters: dict[str, Any] = {"label": [f"{key}={value}" for key, value in labels.items()]}
        with self._client() as client:
            if kind == "container":
                return [found["Id"] for found in client.containers(all=True, filters=filters)]
            if kind == "volume":
                listed = client.volumes(filters=filters)["Volumes"]
                return [] if listed is None else [found["Name"] for found in listed]
            return [found["Id"] for found in client.networks(filters=filters)]

    def _refusal(self, kind: str, name: str) -> str | None:
        """Remove one object; None where it is gone."""
        try:
            with self._client() as client:
                if kind == "container":
                    client.remove_container(name, force=True, v=True)
                elif kind == "volume":
                    client.remove_volume(name, force=True)
                else:
                    client.remove_network(name)
        except RemovedError:
            return None
        except TrainformError as error:
            return error.message
        return None

    def each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """The work on each item, several at a time; results in order. The first error is raised when all have ended."""
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            return [future.result() for future in [pool.submit(work, item) for item in items]]


def daemon_version(seconds: int) -> str:
    """The version of the daemon that a rehearsal would use; `TrainformError` where none answers in time."""
    import docker.utils

    with contextlib.closing(_connect(docker.utils.kwargs_from_env(), seconds)) as client:
        return str(client.version()["Version"])


def _connect(settings: Any, seconds: int) -> APIClient:
    import docker
    import docker.utils

    try:
        _reach(str(docker.utils.parse_host(settings.get("base_url"))))
        return docker.APIClient(**settings, version="auto", timeout=seconds)
    except _errors() as error:
        fix = NO_PERMISSION_FIX if isinstance(error, PermissionError) else NO_DAEMON_FIX
        raise TrainformError(f"a rehearsal needs Docker, and none answers: {spelled(error)}", fix) from None


def _errors() -> tuple[type[Exception], ...]:
    """What docker-py raises."""
    import docker.errors
    import urllib3

    return (docker.errors.DockerException, urllib3.exceptions.HTTPError, OSError)


def _reach(host: str) -> None:
    """OSError where nobody listens at a Unix socket. docker-py would say so too, but leave its own socket open."""
    scheme, _, path = host.partition("://")
    if scheme == "http+unix":
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
            try:
                attempt.connect(path)
            except OSError as error:
                raise type(error)(error.errno, error.strerror, path) from None


def shortened(name: str) -> str:
    """The name of a container; a long one without its middle, since numbers at the end tell containers apart. It is a label in DNS, too:
    Docker's server answers nobody who asks for the name of an address if that name is longer, and launchers ask at every connection."""
    return name if len(name) <= LABEL_MAX else f"{name[: LABEL_MAX - NAME_END]}{name[-NAME_END:]}"


def spelled(error: BaseException) -> str:
    """What Docker said, in one line."""
    explanation = getattr(error, "explanation", None)
    text = str(error) if explanation is None else str(explanation)
    return " ".join(text.split())


def parted(name: str) -> tuple[str, str | None]:
    """Repository, and tag or digest; without one, `latest`: Docker would fetch every tag."""
    if "@" in name:
        repository, _, digest = name.partition("@")
        return repository, digest
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, "latest"
    return repository, tag
