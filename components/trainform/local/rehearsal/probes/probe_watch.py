"""Starts a pod's own command, and names the nodes that are missing if the launcher never starts the probe.

`python probe_watch.py COMMAND ARG...`. The agents of torchrun and accelerate meet before they start a script, and
report only a time-out after ten minutes. The exit code is that of the command, or 1 after the time-out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainform.local.rehearsal.probes import probe_world as world
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

LINGER = 5.0  # seconds that a pod stays after its word: the others, a little later, still find its name and port
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
    """Start the command in its own process group, and pass on signals, also those that come before the start."""
    early: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: early.append(number))
    child = subprocess.Popen(command, env=environ, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: os.killpg(child.pid, number))
    for received in early:
        os.killpg(child.pid, received)
    return child


def diagnosis(expected: world.Expected, environ: Mapping[str, str]) -> str:
    """Return why the launchers did not meet: nothing answers at the rendezvous, or a node's name does not resolve."""
    late = f"the world did not form within {expected.timeout:g} s"
    first = expected.hosts[0]
    if expected.name == world.short(first):
        master, port = first, next(world.number(environ, name) for name in OWN_PORTS if name in environ)
    else:
        master, port = environ.get("MASTER_ADDR", first), world.number(environ, "MASTER_PORT")
    reason = world.why_silent(master, port)
    if reason is not None:
        return f"{late}: {expected.name} does not reach MASTER_ADDR:MASTER_PORT {master}:{port}: {reason}"
    absent = [world.short(host) for host in expected.hosts if world.resolve(host)[0] is None]
    if absent:
        return f"{late}: missing: {', '.join(absent)} (no such name)"
    return f"{late}: {master}:{port} answers {expected.name}; the other pods say which of them does not reach it"


if __name__ == "__main__":
    sys.exit(world.run(lambda: main(sys.argv[1:])))
