"""Connections that stay open, with a server that closes them."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainform.sandbox import api as room
from trainform.sandbox.api import Api
from trainform.sandbox.certificates import Certificates

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a": "b"}\n'


@contextlib.contextmanager
def _server_that_closes_after_one_response(certificates: Certificates) -> Iterator[int]:
    """Yield the port of a server that answers once on each connection and then closes it without TLS shutdown."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates.server, certificates.server_key)

    def serve(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the end of the test
            while True:
                plain, _ = listener.accept()
                with tls.wrap_socket(plain, server_side=True) as connection:
                    connection.recv(65536)
                    connection.sendall(ANSWER)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(("idle", "works"), [(-1.0, True), (60.0, False)])
def test_a_connection_that_was_idle_too_long_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: float, works: bool
) -> None:
    certificates = Certificates(tmp_path)
    certificates.make()
    monkeypatch.setattr(room, "IDLE_SECONDS", idle)
    with _server_that_closes_after_one_response(certificates) as port, Api(port, certificates) as api:
        assert api.get("/first") == {"a": "b"}
        assert api.is_healthy("/second") is works
