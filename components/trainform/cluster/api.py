"""Requests of a cluster's API by path, for what is no single object: its version, who we are, what is served, what we may do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from http.client import FORBIDDEN, MULTIPLE_CHOICES, NOT_FOUND, UNAUTHORIZED
from typing import Any

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig

from trainform.cluster.connection import called, choose_config, connection_edge, no_api, no_way, shown_server
from trainform.errors import ClusterError

AT_ONCE = 8  # connections
PAGE = "500"  # objects of one answer
# Name and labels of an object, but nothing of its content: enough to know that a Secret is there.
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclasses.dataclass(frozen=True)
class Answer:
    """An HTTP status, and the object that came with it."""

    status: int
    body: dict[str, Any]

    @property
    def found(self) -> bool:
        """True where the request was done."""
        return self.status < MULTIPLE_CHOICES

    @property
    def missing(self) -> bool:
        """True where there is no such thing."""
        return self.status == NOT_FOUND

    @property
    def forbidden(self) -> bool:
        """True where we may not know."""
        return self.status == FORBIDDEN

    @property
    def message(self) -> str:
        """The reason of the API server's."""
        return str(self.body.get("message", f"HTTP status {self.status}"))


class ClusterApi:
    """A connection by kubeconfig context, for several threads; None is the current one. What goes wrong is `ClusterError`.

    Unlike `read.Cluster` it decodes plain JSON: lightkube's decoder is not for several threads.
    """

    def __init__(self, context: str | None, seconds: float) -> None:
        self.config: SingleConfig = choose_config(context)
        self.server = shown_server(self.config.cluster.server)
        self._context = context
        try:
            self._client = httpx2.Client(
                **ConnectionParams(timeout=httpx2.Timeout(seconds)).httpx_params(self.config),
                limits=httpx2.Limits(max_connections=AT_ONCE),
            )
        except Exception as error:  # certificates, addresses and types that lightkube and its transport refuse
            raise no_way(context, error) from None

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def get(self, path: str, parameters: Mapping[str, str] | None = None, metadata_only: bool = False) -> Answer:
        """What is at the path."""
        headers = {"Accept": _METADATA_ONLY} if metadata_only else {}
        return self._send("GET", path, headers=headers, params=parameters)

    def list_all(self, path: str) -> list[Any] | None:
        """All objects of the collection, page by page; None where they may not be listed."""
        found: list[Any] = []
        page: dict[str, str] = {}
        while True:
            answer = self.get(path, {"limit": PAGE, **page})
            if not answer.found:
                return None
            found += answer.body["items"]
            token = answer.body["metadata"].get("continue")
            if not token:
                return found
            page = {"continue": token}

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """The answer to a review."""
        return self._send("POST", path, json=body)

    def _send(self, method: str, path: str, **parts: Any) -> Answer:
        with connection_edge(self._context, self.server):
            response = self._client.request(method, path, **parts)
        if response.status_code == UNAUTHORIZED:
            raise ClusterError(
                f"{called(self._context)} ({self.server}) refuses the credentials of the kubeconfig",
                "log in to the cluster again; `kubectl auth whoami` shows whether it worked",
            )
        body = _body(response)
        if not isinstance(body, dict):
            raise self.stranger(f"HTTP status {response.status_code}")
        return Answer(response.status_code, body)

    def stranger(self, found: str) -> ClusterError:
        """The error for a server that is something else. found: what shows that."""
        return no_api(self.server, found)


def _body(response: httpx2.Response) -> Any:
    """The JSON of the answer, or None."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        # of a group that it does not serve a Kubernetes API says so in plain text
        return {} if response.status_code == NOT_FOUND else None
