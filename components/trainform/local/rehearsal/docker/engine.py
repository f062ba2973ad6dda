"""Docker's objects of one rehearsal. All carry its labels, by which they are removed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import itertools
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.docker_daemon import (
    KINDS,
    connect,
    docker_errors,
    find_labelled,
    find_or_pull,
    one_line,
    remove_object,
)
from trainform.local.rehearsal.docker.request_bodies import Image
from trainform.local.rehearsal.workload import Workload, containers
from trainform.spec.names import LABEL_MAX

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "trainform.rehearsal"
EXPERIMENT_LABEL = "trainform.rehearsal.experiment"
OWNER_LABEL = "trainform.rehearsal.owner"
TIMEOUT_SECONDS = 60  # for one answer; streams and waits have no limit
WORKERS = 8
RETRY_SECONDS = 0.1
NAME_END = 20  # the characters at the end of a container's name that are always kept


class RemovedError(Exception):
    """A container does not exist any more, or none may be made: the rehearsal is over, or the pod has been replaced."""


class Engine:
    """Docker for one rehearsal and its threads. Its errors are `TrainformError`.

    lock: the file that allows its holder to remove what an earlier rehearsal of the experiment left.
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
        self._errors = docker_errors()
        self._missing = docker.errors.NotFound
        self._settings = docker.utils.kwargs_from_env()
        with contextlib.closing(connect(TIMEOUT_SECONDS)) as client:
            self._version = client.api_version

    @contextlib.contextmanager
    def _client(self) -> Iterator[APIClient]:
        """Yield a connection for the caller alone: docker-py's clients are not made for several threads at a time."""
        import docker

        client = docker.APIClient(**self._settings, version=self._version, timeout=TIMEOUT_SECONDS)
        try:
            yield client
        except self._missing as error:
            raise RemovedError(one_line(error)) from None
        except self._errors as error:
            raise TrainformError(f"Docker: {one_line(error)}") from None
        finally:
            client.close()

    def ready_image(self, name: str, progress: Progress) -> Image:
        """Return the image, after it was pulled if it is not here."""
        with self._client() as client:
            return Image(name, find_or_pull(client, name, progress)["Config"].get("User", ""))

    def make_network(self) -> str:
        """Create the network of the rehearsal, and return its name."""
        self._make(lambda client: client.create_network(self.prefix, driver="bridge", labels=self._labels))
        return self.prefix

    def make_volume(self, key: str, options: dict[str, str]) -> tuple[str, str]:
        """Create a volume, and return its name and its folder on Docker's machine."""
        name = f"{self.prefix}.{key}"
        volume: dict[str, Any] = self._make(
            lambda client: client.create_volume(name, driver="local", driver_opts=options, labels=self._labels)
        )
        return volume["Name"], volume["Mountpoint"]

    def make_container(self, name: str, body: dict[str, Any], **labels: str) -> str:
        """Create a container without starting it, and return its id. labels: further labels, such as the pod's name."""
        config = {**body, "Labels": {**self._labels, **{f"{LABEL}.{key}": value for key, value in labels.items()}}}
        created: dict[str, Any] = self._make(
            lambda client: client.create_container_from_config(config, short_container_name(f"{self.prefix}-{name}"))  # type: ignore[no-untyped-call]
        )
        return str(created["Id"])

    def start(self, container: str) -> None:
        """Start a container; TrainformError with the runtime's reason where it cannot."""
        self._make(lambda client: client.start(container))

    def _make(self, work: Callable[[APIClient], Any]) -> Any:
        """Let Docker make something. It is done in a thread, because Ctrl-C ends the waiting for an answer and not what
        Docker does: requests under way are counted, and what they make is removed when it exists."""

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
        """Return the IP address of a running container."""
        with self._client() as client:
            return str(client.inspect_container(container)["NetworkSettings"]["Networks"][network]["IPAddress"])

    def put(self, container: str, archive: bytes) -> None:
        """Unpack a tar archive at the container's root folder."""
        with self._client() as client:
            client.put_archive(container, "/", archive)

    def output(self, container: str) -> Iterator[bytes]:
        """Yield the output of the container, piece by piece, until it ends."""
        with self._client() as client:
            yield from client.logs(container, stream=True, follow=True, stdout=True, stderr=True)

    def execute(self, container: str, command: Sequence[str]) -> None:
        """Start a program next to the container's own, and return at once. Nothing happens if the container has ended,
        or if its image does not have the program."""
        with contextlib.suppress(RemovedError, TrainformError), self._client() as client:
            client.exec_start(client.exec_create(container, list(command))["Id"], detach=True)

    def wait(self, container: str) -> int:
        """Wait for the end of the container, and return its exit code."""
        with self._client() as client:
            return int(client.wait(container)["StatusCode"])

    def remove_containers(self, **labels: str) -> None:
        """Kill and remove this rehearsal's containers, or only those with these further labels."""
        self._sweep({LABEL: self.identity, **{f"{LABEL}.{key}": value for key, value in labels.items()}}, ["container"])

    def remove_container(self, container: str) -> None:
        """Kill and remove one container; TrainformError if Docker refuses."""
        with contextlib.suppress(RemovedError), self._client() as client:
            remove_object(client, "container", container)

    def remove_all(self) -> None:
        """Remove everything that this rehearsal made. After that it can make nothing more."""
        with self._under_way:
            self._closed = True
            self._under_way.wait_for(lambda: self._making == 0, TIMEOUT_SECONDS)
        self._sweep({LABEL: self.identity}, KINDS)

    def remove_leftovers(self) -> int:
        """Remove the objects of killed rehearsals of this experiment and user. The caller holds the lock."""
        return self._sweep(self._owned, KINDS)

    def _sweep(self, labels: dict[str, str], kinds: Sequence[str]) -> int:
        """Remove objects until none is left, and return how many: an object that a thread was making appears a moment
        later, and Docker refuses to remove what is still in use."""
        removed: set[str] = set()
        end = time.monotonic() + TIMEOUT_SECONDS
        while found := {kind: names for kind in kinds if (names := self._find(kind, labels))}:
            answers = [self.each(functools.partial(self._refusal, kind), names) for kind, names in found.items()]
            refusals = [refusal for refusal in itertools.chain(*answers) if refusal is not None]
            removed.update(*found.values())
            if refusals:
                if time.monotonic() > end:
                    fix = (
                        "look at `docker ps --all` and `docker volume ls`, or restart Docker, which stops all "
                        "containers; the next rehearsal of the experiment tries again"
                    )
                    raise TrainformError(f"cannot remove what the rehearsal made: {refusals[0]}", fix)
                time.sleep(RETRY_SECONDS)
        return len(removed)

    def _find(self, kind: str, labels: dict[str, str]) -> list[str]:
        with self._client() as client:
            return find_labelled(client, kind, labels)

    def _refusal(self, kind: str, name: str) -> str | None:
        """Remove one object, and return Docker's reason where it refuses; None if the object is gone."""
        try:
            with self._client() as client:
                remove_object(client, kind, name)
        except RemovedError:
            return None
        except TrainformError as error:
            return error.message
        return None

    def each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Work on several items at a time, and return results in order. The first error is raised at the end."""
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            return [future.result() for future in [pool.submit(work, item) for item in items]]


def short_container_name(name: str) -> str:
    """Return the name without its middle if it is too long for a label in DNS: Docker would not answer for its address,
    and launchers ask for it at every connection. The numbers at the end distinguish containers."""
    return name if len(name) <= LABEL_MAX else f"{name[: LABEL_MAX - NAME_END]}{name[-NAME_END:]}"


def ready_images(engine: Engine, workload: Workload, instead: str | None, progress: Progress) -> dict[str, Image]:
    """Return the image for each name in the workload. `instead` replaces all."""
    names = dict.fromkeys(container["image"] for pod in workload.pods for container in containers(pod))
    found = {name: engine.ready_image(name, progress) for name in ([instead] if instead else names)}
    return {name: found[instead if instead else name] for name in names}
