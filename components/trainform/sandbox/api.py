"""The few requests that the sandbox makes of its own API server.

Plain HTTP over kept connections, as many as threads ask at once: 1,000 nodes are created in seconds, and CRD files of a megabyte go
out as they are, without being parsed first.
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

MANAGER = "trainform-sandbox"
# Seconds for one answer: a machine with more to do than it has cores is slow to take a large definition.
PATIENCE = 60.0
# The API server ends a connection after 90 s without a request.
IDLE_SECONDS = 60.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"


class RequestError(SandboxError):
    """The API server answered with an error; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the API server says {status}: {message}")
        self.status = status


class Api:
    """One API server. Network trouble is an `OSError` or `http.client.HTTPException`, an answer that is no success a `RequestError`."""

    def __init__(self, port: int, certificates: Certificates, timeout: float = PATIENCE) -> None:
        self._port = port
        self._timeout = timeout
        self._tls = ssl.create_default_context(cafile=str(certificates.authority))
        self._tls.load_cert_chain(certificates.client, certificates.client_key)
        self._idle: list[tuple[http.client.HTTPSConnection, float]] = []  # with the time of the last answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what is kept open; another request opens it again."""
        while self._idle:
            self._idle.pop()[0].close()

    def get(self, path: str) -> dict[str, Any]:
        """One object or a list."""
        return self._call("GET", path)

    def healthy(self, path: str) -> bool:
        """Whether the server is there and says yes on a health path."""
        try:
            self._request("GET", path, None, JSON)
        except (OSError, http.client.HTTPException, RequestError):
            return False
        return True

    def create(self, path: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create in the collection `path`."""
        return self._call("POST", path, manifest)

    def apply(self, path: str, manifest: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Server-side apply at the object's own path; bytes are a YAML document."""
        body = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        return self._decode(self._request("PATCH", f"{path}?fieldManager={MANAGER}&force=true", body, APPLY))

    def merge(self, path: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """JSON merge patch."""
        return self._decode(self._request("PATCH", path, json.dumps(patch).encode(), MERGE))

    def delete(self, path: str) -> None:
        """Delete; an object that is not there is fine."""
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
        # Taking from and giving back to a list is atomic: two threads never get the same connection.
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
