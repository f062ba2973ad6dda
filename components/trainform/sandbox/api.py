"""A small client for the sandbox's own API server.

It uses plain HTTP over connections that stay open, one for each thread that sends requests: 1,000 nodes are created in
seconds, and CRD files of a megabyte are sent as they are, without being parsed first.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from trainform.errors import SandboxError
from trainform.sandbox.certificates import Certificates
from trainform.sandbox.ports import LOOPBACK

FIELD_MANAGER = "trainform-sandbox"
# Seconds to wait for one response: on a busy machine the API server needs long for a large CRD.
REQUEST_TIMEOUT = 60.0
# The API server closes a connection after 90 s without a request; an older connection is not used again.
IDLE_SECONDS = 60.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"


class RequestError(SandboxError):
    """The API server answered with an error; `status` is the HTTP status code."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the API server says {status}: {message}")
        self.status = status


class Api:
    """A client of one API server. A method raises `OSError` or `http.client.HTTPException` where the network fails, and
    `RequestError` where the server answers with an error."""

    def __init__(self, port: int, certificates: Certificates, timeout: float = REQUEST_TIMEOUT) -> None:
        self._port = port
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=str(certificates.authority))
        self._tls.load_cert_chain(certificates.client, certificates.client_key)
        self._idle: list[tuple[http.client.HTTPSConnection, float]] = []  # each with the time of its last response

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        while self._idle:
            self._idle.pop()[0].close()

    def get(self, path: str) -> dict[str, Any]:
        """Return one object, or a list where `path` is a collection."""
        return self._call("GET", path)

    def is_healthy(self, path: str) -> bool:
        """True if the server answers a health check on `path` with success."""
        try:
            self._request("GET", path, None, JSON)
        except (OSError, http.client.HTTPException, RequestError):
            return False
        return True

    def create(self, path: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object in the collection `path`; return it as the server stored it."""
        return self._call("POST", path, manifest)

    def apply(self, path: str, manifest: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Apply a manifest (server-side apply) at the object's own path; bytes are sent as a YAML document."""
        body = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        return self._decode(self._request("PATCH", f"{path}?fieldManager={FIELD_MANAGER}&force=true", body, APPLY))

    def merge(self, path: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object with a JSON merge patch."""
        return self._decode(self._request("PATCH", path, json.dumps(patch).encode(), MERGE))

    def delete(self, path: str) -> None:
        """Delete an object; do nothing if it does not exist."""
        try:
            self._call("DELETE", path)
        except RequestError as error:
            if error.status != http.client.NOT_FOUND:
                raise

    def _call(self, method: str, path: str, manifest: Mapping[str, Any] | None = None) -> dict[str, Any]:
        body = None if manifest is None else json.dumps(manifest).encode()
        return self._decode(self._request(method, path, body, JSON))

    def _decode(self, body: bytes) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(body)
        return decoded

    def _request(self, method: str, path: str, body: bytes | None, content: str) -> bytes:
        connection = self._connection()
        try:
            connection.request(method, path, body, {"Content-Type": content, "Accept": JSON})
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            # A connection that broke in the middle cannot be used again.
            connection.close()
            raise
        self._idle.append((connection, time.monotonic()))
        if response.status >= http.client.BAD_REQUEST:
            raise RequestError(response.status, _message(text))
        return text

    def _connection(self) -> http.client.HTTPSConnection:
        # `list.pop` and `list.append` are atomic, so two threads never get the same connection.
        try:
            connection, answered = self._idle.pop()
        except IndexError:
            return http.client.HTTPSConnection(LOOPBACK, self._port, timeout=self._timeout, context=self._tls)
        if time.monotonic() - answered > IDLE_SECONDS:
            connection.close()  # the next request opens it again
        return connection


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()
