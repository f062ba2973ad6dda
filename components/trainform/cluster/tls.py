"""TLS contexts for clients that several threads use."""

from __future__ import annotations

import ssl

PROTOCOLS = ["http/1.1"]  # what httpx2 sets for a client without HTTP/2


def shared(context: ssl.SSLContext) -> ssl.SSLContext:
    """Set the protocols of ALPN once and for all, and return the context.

    httpx2 sets them again for each connection, which frees the list that another thread may be copying: its
    handshake then contains other memory, and the server refuses it with `decode error` (CPython issue 141012).
    """
    context.set_alpn_protocols(PROTOCOLS)
    context.set_alpn_protocols = lambda alpn_protocols: None  # type: ignore[method-assign]
    return context
