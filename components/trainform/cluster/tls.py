"""TLS contexts for clients that several threads use."""

from __future__ import annotations

import ssl

PROTOCOLS = ["http/1.1"]  # what httpx2 sets for a client without HTTP/2


def set_protocols_once(context: ssl.SSLContext) -> ssl.SSLContext:
    """Set the protocols of ALPN and ignore later calls; return the context.

    httpx2 sets them again for each connection, while other threads may be copying the list: their handshake then
    contains freed memory, and the server refuses it with `decode error` (CPython issue 141012).
    """
    context.set_alpn_protocols(PROTOCOLS)
    context.set_alpn_protocols = lambda alpn_protocols: None  # type: ignore[method-assign]
    return context
