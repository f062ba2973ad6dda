"""Real HTTP servers that are not a Kubernetes API."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, str, bytes]
"""Status, content type and body, at every path."""

WEB_PAGE: Answer = (200, "text/html", b"<html>It works!</html>")


@contextlib.contextmanager
def website(
    answer: Answer | Callable[[str], Answer] = WEB_PAGE, encoding: str | None = None, seen: list[Message] | None = None
) -> Iterator[str]:
    """Yield the URL of a server on loopback with a constant response, or one computed from path and query. `encoding`:
    of the bodies.

    `seen`: takes the headers of each request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # If a request's body is not read, the kernel resets the connection, and the client may lose the answer.
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if seen is not None:
                seen.append(self.headers)
            status, kind, body = answer(self.path) if callable(answer) else answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if encoding is not None:
                self.send_header("Content-Encoding", encoding)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client may have closed the connection
                self.wfile.write(body)

        do_POST = do_PATCH = do_GET  # noqa: N815 - the names of the base class

        def log_message(self, *arguments: object) -> None:
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
