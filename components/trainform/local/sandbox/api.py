"""A client for the sandbox's own API server. It sends CRD files of a megabyte without parsing them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Self

import httpx2

from trainform.cluster.tls import set_protocols_once
from trainform.errors import SandboxError
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.kubeconfig import server_url

FIELD_MANAGER = "trainform-sandbox"
REQUEST_TIMEOUT = 60.0  # seconds for one response: on a busy machine the API server needs long for a large CRD
# The API server closes a connection after 90 s without a request; an older connection is not used again.
IDLE_SECONDS = 60.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON = "application/json"


class RequestError(SandboxError):
    """A request failed. `status` is the HTTP status code, None if the API server did not answer."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """A client of one API server, usable from several threads. Its methods raise `RequestError`."""

    def __init__(self, port: int, certificates: Certificates) -> None:
        tls = ssl.create_default_context(cafile=str(certificates.authority))
        tls.load_cert_chain(certificates.client, certificates.client_key)
        self._client = httpx2.Client(
            base_url=server_url(port),
            verify=set_protocols_once(tls),
            timeout=REQUEST_TIMEOUT,
            limits=httpx2.Limits(keepalive_expiry=IDLE_SECONDS),
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._client.close()

    def get(self, path: str) -> dict[str, Any]:
        """Return one object, or a list where `path` is a collection."""
        return self._json("GET", path)

    def is_healthy(self, path: str) -> bool:
        """Return True if the server answers a health check on `path` with success."""
        try:
            self._request("GET", path)
        except RequestError:
            return False
        return True

    def lines(self, path: str) -> Iterator[str]:
        """Yield the lines of a text that the server sends until its end, however long that takes."""
        try:
            with self._client.stream("GET", path, timeout=httpx2.Timeout(REQUEST_TIMEOUT, read=None)) as response:
                if response.is_error:
                    response.read()
                    raise RequestError(response.status_code, _message(response))
                yield from response.iter_lines()
        except httpx2.HTTPError as error:
            raise RequestError(None, f"{type(error).__name__}: {error}") from error

    def create(self, path: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object in the collection `path`; return it as the server stored it."""
        return self._json("POST", path, json.dumps(manifest).encode())

    def apply(self, path: str, manifest: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Apply a manifest (server-side apply) at the object's own path; bytes are sent as a YAML document."""
        body = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        return self._json("PATCH", f"{path}?fieldManager={FIELD_MANAGER}&force=true", body, APPLY)

    def merge(self, path: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object with a JSON merge patch."""
        return self._json("PATCH", path, json.dumps(patch).encode(), MERGE)

    def delete(self, path: str) -> None:
        """Delete an object; do nothing if it does not exist."""
        try:
            self._request("DELETE", path)
        except RequestError as error:
            if error.status != httpx2.codes.NOT_FOUND:
                raise

    def _json(self, method: str, path: str, body: bytes | None = None, content: str = JSON) -> dict[str, Any]:
        decoded: dict[str, Any] = self._request(method, path, body, content).json()
        return decoded

    def _request(self, method: str, path: str, body: bytes | None = None, content: str = JSON) -> httpx2.Response:
        headers = {"Content-Type": content, "Accept": JSON}
        try:
            response = self._client.request(method, path, content=body, headers=headers)
        except httpx2.HTTPError as error:
            raise RequestError(None, f"{type(error).__name__}: {error}") from error
        if response.is_error:
            status = response.status_code
            raise RequestError(status, f"the API server answers {status}: {_message(response)}")
        return response


def _message(response: httpx2.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text.strip()
