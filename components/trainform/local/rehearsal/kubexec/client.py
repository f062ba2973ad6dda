"""Takes the place of kubectl for `kubectl exec`: it passes the command on to the relay of the called pod.

This file alone is the program: it needs the standard library of any Python 3. Its first argument is the folder with the
sockets of the relays. Output and exit code are those of kubectl without `--stdin`. Where kubectl fails because a pod
does not run yet, this program waits: nothing in the cluster waits for the workers of an MPIJob.
"""

from __future__ import annotations

import array
import json
import socket
import sys
import time

QUIET_SECONDS = 2.0  # a pod may be late by this much before a line names it
POLL_SECONDS = 0.2
USAGE = "error: a rehearsal knows `kubectl exec POD [--container NAME] -- COMMAND` only"


def main(folder: str, words: list[str]) -> int:
    """Run the command in the pod with the output streams of this process, and return its exit code."""
    if words[:1] != ["exec"] or "--" not in words[2:]:
        raise SystemExit(USAGE)
    with connected(folder, words[1]) as relay:
        command = json.dumps(words[words.index("--") + 1 :]).encode()
        relay.sendmsg([command], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2]))])
        answer = relay.recv(16)
    if not answer:
        raise SystemExit(f"error: pod {words[1]} has ended")
    if answer != b"0":
        sys.stderr.write(f"command terminated with exit code {int(answer)}\n")
    return int(answer)


def connected(folder: str, pod: str) -> socket.socket:
    """Return a connection to the relay of the pod, and name a pod that is late."""
    quiet: float = time.monotonic() + QUIET_SECONDS
    while True:
        relay = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            relay.connect(f"{folder}/{pod}")
            return relay
        except OSError:
            relay.close()
        if time.monotonic() > quiet:
            sys.stderr.write(f"[waits for pod {pod}: it does not run, or its image has no python3]\n")
            quiet = float("inf")
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
