"""Starts a pod's own command, and names the nodes that are missing where the launcher never starts the probe.

`python probe_watch.py COMMAND ARG...`. The agents of torchrun and accelerate meet before they start any script, so a
script cannot say who did not come: the agent would only tell of a time-out, after ten minutes. The exit code is the
command's; 1 after the time-out.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainform.rehearsal.probes import probe_world as world
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

LINGER = 5.0  # seconds that a pod stays after its word: the others, a little later, still find its name and port
ESTABLISHED = "01"  # state of a connection in /proc/net/tcp
# Where rank 0 listens: behind a Service of its own that is another port than its peers call.
OWN_PORTS = ("TRAINFORM_RENDEZVOUS_PORT", "MASTER_PORT")


def main(command: list[str]) -> int:
    """Run the command, and return its exit code as a shell does."""
    with tempfile.TemporaryDirectory() as folder:
        started = Path(folder) / "started"
        child = start(command, {**os.environ, world.STARTED: str(started)})
        end = time.monotonic() + world.read_timeout(os.environ)
        while child.poll() is None and time.monotonic() < end and not started.exists():
            time.sleep(0.2)
        if child.poll() is None and not started.exists():
            world.say(diagnosis(world.read_expected(os.environ), os.environ))
            time.sleep(LINGER)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return 1
        code = child.wait()
        return code if code >= 0 else 128 - code


def start(command: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the command in a process group of its own, and pass signals on to it. The handlers are set first, because a
    signal may come at once."""
    early: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: early.append(number))
    child = subprocess.Popen(command, env=environ, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: os.killpg(child.pid, number))
    for told in early:
        os.killpg(child.pid, told)
    return child


def diagnosis(expected: world.Expected, environ: Mapping[str, str]) -> str:
    """Why the launchers did not meet, as far as this pod can see. The node of rank 0 sees which nodes have connected to
    it."""
    late = f"the world did not form within {expected.timeout:g} s"
    first = expected.hosts[0]
    if expected.name == world.short(first):
        port = next(world.number(environ, name) for name in OWN_PORTS if name in environ)
        return f"{late}: {_at_rank_0(expected, port)}"
    master, port = environ.get("MASTER_ADDR", first), world.number(environ, "MASTER_PORT")
    reason = world.why_silent(master, port)
    if reason is None:
        return f"{late}: {master}:{port} answers {expected.name}; {world.short(first)} says who is missing"
    return f"{late}: {expected.name} does not reach MASTER_ADDR:MASTER_PORT {master}:{port}: {reason}"


def _at_rank_0(expected: world.Expected, port: int) -> str:
    sockets = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    remotes = connected_to(sockets, port)
    if not remotes and not listens(sockets, port):
        return f"nothing listens on port {port} of {expected.name}, where all nodes are to meet"
    peers = {host: world.resolve(host)[0] for host in expected.hosts[1:]}
    if remotes - set(peers.values()) - {world.resolve(expected.hosts[0])[0], "127.0.0.1", "::1"}:
        return (
            f"{len(remotes)} addresses have connected to {expected.name}, {len(peers)} are awaited; Services hide which"
        )
    absent = [
        f"{world.short(host)}"
        f" ({'its name does not resolve' if address is None else f'{address} has not connected to port {port}'})"
        for host, address in peers.items()
        if address is None or address not in remotes
    ]
    return f"missing: {', '.join(absent)}" if absent else f"every node has connected to {expected.name}"


def connected_to(sockets: str, port: int) -> set[str]:
    """The addresses with a connection to a local port, from the text of /proc/net/tcp and tcp6."""
    return {
        _address(remote) for local, remote, state in _rows(sockets) if state == ESTABLISHED and _port(local) == port
    }


def listens(sockets: str, port: int) -> bool:
    """True if a program of this pod has opened the port."""
    return any(_port(local) == port for local, _, _ in _rows(sockets))


def _rows(sockets: str) -> list[tuple[str, str, str]]:
    rows = [line.split() for line in sockets.splitlines()]
    return [(row[1], row[2], row[3]) for row in rows if row and row[0].endswith(":") and row[0] != "sl"]


def _port(end: str) -> int:
    return int(end.rpartition(":")[2], 16)


def _address(end: str) -> str:
    """The address in such a text: `0100007F:7530` is 127.0.0.1. It consists of words of four bytes, each in the
    machine's byte order."""
    digits = end.rpartition(":")[0]
    packed = b"".join(
        int(digits[start : start + 8], 16).to_bytes(4, sys.byteorder) for start in range(0, len(digits), 8)
    )
    if len(packed) == 4:
        return socket.inet_ntop(socket.AF_INET, packed)
    if packed[:12] == b"\0" * 10 + b"\xff\xff":  # IPv4 on a socket for both
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


if __name__ == "__main__":
    sys.exit(world.run(lambda: main(sys.argv[1:])))
