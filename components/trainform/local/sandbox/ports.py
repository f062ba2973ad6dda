"""Free ports on loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence

LOOPBACK = "127.0.0.1"


def pick_ports(names: Sequence[str], preferred: Mapping[str, int]) -> dict[str, int]:
    """Return a free port for each name, the `preferred` one if it is free. If another process takes it before the
    component binds it, `up` finds that in the log and picks other ports."""
    with contextlib.ExitStack() as sockets:
        # All sockets stay open until the last port is chosen, so that no port is chosen twice.
        return {name: _pick_port(sockets, preferred.get(name, 0)) for name in names}


def _pick_port(sockets: contextlib.ExitStack, preferred: int) -> int:
    for port in dict.fromkeys((preferred, 0)):
        bound = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        if port:
            # As the components do: a port is free again as soon as the process that used it has ended.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            bound.bind((LOOPBACK, port))
            return int(bound.getsockname()[1])
    raise OSError("no free port on loopback")


def is_open(port: int) -> bool:
    """Return True if a process listens on this port of loopback."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
