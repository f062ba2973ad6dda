"""A Docker daemon for the rehearsals: `python -m tools.docker_daemon [ensure|stop]`.

`ensure` does nothing if a daemon answers. Otherwise, as root on Debian, it installs Debian's docker.io and starts
`dockerd` with its data in the user's cache folder, so that images stay between runs. `stop` stops only a daemon that
`ensure` started. The exit code is 3 if this machine cannot run a daemon.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import docker.errors
import psutil
from msgspec import structs

from tools.debian import NotHereError, environment, program, require
from trainform.cli.progress import display
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import SandboxError, TrainformError
from trainform.local.sandbox.processes import Command, Process, is_running, launch, stop, tail
from trainform.local.toolchain.cache import cache_folder

SOCKET = Path("/var/run/docker.sock")
ANSWER_SECONDS = 20  # a daemon that is starting listens before it answers
START_SECONDS = 60.0
GRACE_SECONDS = 40.0  # it first stops its containers, each with its own grace period
POLL_SECONDS = 0.2
PROGRAMS = {"dockerd": "docker.io"}
STATE, LOG = "daemon.json", "dockerd.log"
# Files with a process id in the daemon's folder, and the name of that program. A killed daemon leaves them; the next
# one would take any process with that id for its own, and wait for it or refuse to start.
PID_FILES = {"dockerd.pid": "dockerd", "exec/containerd/containerd.pid": "containerd"}


def version(host: str = "") -> str | None:
    """Return the version of the daemon at a host, None if none answers. Default: DOCKER_HOST, or the usual socket."""
    host = host or os.environ.get("DOCKER_HOST") or f"unix://{SOCKET}"
    scheme, _, path = host.partition("://")
    try:
        if scheme == "unix" and not listens(Path(path)):
            return None  # docker-py would leave its socket open if no process listens
        with contextlib.closing(client(host, ANSWER_SECONDS)) as opened:
            return str(opened.version()["Version"])
    except (docker.errors.DockerException, OSError):
        return None


def client(host: str, seconds: int) -> docker.DockerClient:
    """Return a client of the daemon at a host. seconds: for one answer."""
    return docker.from_env(timeout=seconds, environment={**os.environ, "DOCKER_HOST": host})


def listens(path: Path) -> bool:
    """Return True if a process listens at the socket, whose file may be left over. Raises `PermissionError` without
    access."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


def daemon_folder() -> Path:
    """Return the folder with images, state and log of the daemon."""
    return cache_folder() / "docker"


def ensure(progress: Progress) -> None:
    """Start a daemon if none answers. Raises `TrainformError` if that is not possible."""
    if version() is not None:
        return
    refuse_to_replace(os.environ.get("DOCKER_HOST"), SOCKET)
    folder = daemon_folder()
    with hold(folder / "lock", "starting dockerd", progress):
        if version() is not None:  # another process started it while this one waited
            return
        require(PROGRAMS, folder / "apt.log", progress)
        if version() is not None:  # the package started its service
            return
        if os.geteuid() != 0:
            raise NotHereError(
                "no Docker daemon answers, and only root may start one", "start it: sudo systemctl start docker"
            )
        with progress.step("starting dockerd"):
            begin(folder)
        progress.note(f"dockerd runs until `python -m tools.docker_daemon stop`; its log is {folder / LOG}")


def refuse_to_replace(host: str | None, listener: Path) -> None:
    """Raise `TrainformError` if another daemon exists that does not answer: a second one would replace its socket."""
    if host:
        raise TrainformError(f"DOCKER_HOST is {host}, but no daemon answers there", "start it, or unset DOCKER_HOST")
    try:
        if not listens(listener):
            return
    except PermissionError:
        raise NotHereError(
            f"this user may not connect to {listener}", "add the user to the group of the socket, or run as root"
        ) from None
    raise TrainformError(
        f"a daemon listens at {listener}, but does not answer within {ANSWER_SECONDS} s",
        "read its log, stop it, then run the same command again",
    )


def begin(folder: Path) -> None:
    """Start our daemon and wait until it answers; what does not answer in time is ended again."""
    binary = program("dockerd")
    assert binary is not None  # `require` has seen to it
    for name, owner in PID_FILES.items():
        drop_stale(folder / name, owner)
    command = Command("dockerd", binary, arguments(folder, folder / "data", f"unix://{SOCKET}"), folder / LOG)
    [process] = launch([command], environment(), lambda started: write_state(folder, started[0]))
    wait(process, lambda: version() is not None, START_SECONDS)


def arguments(folder: Path, data: Path, host: str) -> list[str]:
    """Return the arguments of a daemon with its images in `data`."""
    return [
        "--data-root", str(data),
        "--exec-root", str(folder / "exec"),
        "--pidfile", str(folder / "dockerd.pid"),
        "--host", host,
    ]  # fmt: skip


# In its own network namespace: without a bridge, a daemon removes that of this machine.
SEPARATE = ("setpriv", "--pdeathsig=TERM", "unshare", "--net")
WITHOUT_NETWORKS = ("--bridge=none", "--iptables=false", "--ip6tables=false")


@contextlib.contextmanager
def separate(folder: Path, data: Path, seconds: int) -> Iterator[docker.DockerClient]:
    """Run another daemon with its images in `data`, which ends with this process; yield a client."""
    host, end = f"unix://{folder / 'docker.sock'}", time.monotonic() + START_SECONDS
    words = [*SEPARATE, str(program("dockerd")), *arguments(folder, data, host), *WITHOUT_NETWORKS]
    with (
        (folder / LOG).open("wb") as log,
        subprocess.Popen(words, env=environment(), stdout=log, stderr=log) as process,
    ):
        try:
            while version(host) is None:
                if process.poll() is not None or time.monotonic() > end:
                    lines = tail(folder / LOG)
                    raise TrainformError("a second dockerd does not answer", "it needs a full root", lines)
                time.sleep(POLL_SECONDS)
            with contextlib.closing(client(host, seconds)) as opened:
                yield opened
        finally:
            process.terminate()


def wait(process: Process, answers: Callable[[], bool], seconds: float) -> None:
    """Wait until the process answers. Raises `TrainformError` with the end of its log if it ends or takes too long."""
    end = time.monotonic() + seconds
    while not answers():
        alive = is_running(process)
        if alive and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            continue
        what = f"does not answer after {seconds:.0f} s" if alive else "ended at once"
        stop([process], GRACE_SECONDS)
        raise TrainformError(
            f"dockerd {what}; the last lines of its log:",
            f"it needs a full root (in a container: --privileged); read the whole log, {process.log}",
            tail(Path(process.log)),
        )


def drop_stale(path: Path, owner: str) -> None:
    """Remove a file with a process id if no process of that program has this id."""
    try:
        process = psutil.Process(int(path.read_text()))
        alive = process.name() == owner and process.status() != psutil.STATUS_ZOMBIE
    except FileNotFoundError:
        return
    except (ValueError, psutil.NoSuchProcess):
        alive = False
    if not alive:
        path.unlink()


def write_state(folder: Path, process: Process) -> None:
    """Write the state before the daemon runs, so that `stop` knows it even if this process is killed."""
    (folder / STATE).write_text(json.dumps(structs.asdict(process)))


def end(progress: Progress) -> None:
    """Stop the daemon that `ensure` started, and its containers; images stay."""
    folder = daemon_folder()
    with hold(folder / "lock", "stopping dockerd", progress):
        state = folder / STATE
        if not state.exists():
            progress.note("no daemon was started from here: nothing to stop")
            return
        try:
            stop([Process(**json.loads(state.read_text()))], GRACE_SECONDS)
        except SandboxError as error:
            raise TrainformError(
                error.message, "look at the process with `ps`, then run the same command again"
            ) from None
        state.unlink()


VERBS: dict[str, Callable[[Progress], None]] = {"ensure": ensure, "stop": end}


def main(words: list[str]) -> None:
    """Run `ensure` (the default) or `stop`."""
    word = words[0] if words else "ensure"
    if word not in VERBS or len(words) > 1:
        sys.exit(f"usage: python -m tools.docker_daemon [{'|'.join(VERBS)}]")
    try:
        VERBS[word](display())
    except TrainformError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")


if __name__ == "__main__":
    main(sys.argv[1:])
