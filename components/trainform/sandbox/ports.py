"""Free ports on loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence

LOOPBACK = "127.0.0.1"


def pick_ports(names: Sequence[str], wanted: Mapping[str, int]) -> dict[str, int]:
    """A free port for each name: the wanted one if it is free (addresses stay the same over a restart), else any.

    Between this and the component's own bind another process may take the port; `up` sees that in the log and picks again.
    """
    with contextlib.ExitStack() as held:
        # All sockets stay open until the last one is chosen, so that no port is given out twice.
        return {name: _pick(held, wanted.get(name, 0)) for name in names}


def _pick(held: contextlib.ExitStack, wanted: int) -> int:
    for port in dict.fromkeys((wanted, 0)):
        bound = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        if port:
            # As the components do: a port whose last user has just ended is free.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            bound.bind((LOOPBACK, port))
            return int(bound.getsockname()[1])
    raise OSError("no free port on loopback")


def is_open(port: int) -> bool:
    """Whether something listens there."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
