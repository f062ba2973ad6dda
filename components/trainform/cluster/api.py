"""Requests of a cluster's API by path, for what is no single object: its version, who we are, what is served, what we may do."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from http.client import FORBIDDEN, MULTIPLE_CHOICES, NOT_FOUND, UNAUTHORIZED
from typing import Any

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig

from trainform.cluster.connection import called, choose_config, connection_edge, no_api, no_way, shown_server
from trainform.errors import ClusterError

AT_ONCE = 8  # connections
PAGE = "250"  # objects of one answer: a node with all its images has up to 50 kB
# Bytes after decompression. A whole list: 5,000 such nodes.
LARGEST_ANSWER = 32 << 20
LARGEST_LIST = 256 << 20
# Name and labels of an object, but nothing of its content: enough to know that a Secret is there.
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclasses.dataclass(frozen=True)
class Answer:
    """An HTTP status, and the object that came with it. size: its bytes."""

    status: int
    body: dict[str, Any]
    size: int

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

    def list_all(self, path: str, keep: Callable[[Any], Any] = lambda item: item) -> list[Any] | None:
        """All objects of the collection, page by page; None where they may not be listed. keep: what of an object is needed."""
        found: list[Any] = []
        page: dict[str, str] = {}
        met, size = set[str](), 0
        while True:
            answer = self.get(path, {"limit": PAGE, **page})
            if not answer.found:
                return None
            size += answer.size
            if size > LARGEST_LIST:
                raise self._too_long(f"list at {path}", LARGEST_LIST)
            items, token = self._page(path, answer)
            found += map(keep, items)
            if not token:
                return found
            if token in met:
                raise self.stranger(f"its list at {path} comes back to a page that it has given")
            met.add(token)
            page = {"continue": token}

    def _page(self, path: str, answer: Answer) -> tuple[list[Any], str]:
        """The objects, and what the next page is asked for with; empty after the last one."""
        items, metadata = answer.body.get("items"), answer.body.get("metadata")
        token = metadata.get("continue", "") if isinstance(metadata, dict) else None
        if not isinstance(items, list) or not isinstance(token, str):
            raise self.stranger(f"what it gives at {path} is no list")
        return items, token

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """The answer to a review."""
        return self._send("POST", path, json=body)

    def _send(self, method: str, path: str, **parts: Any) -> Answer:
        with connection_edge(self._context, self.server), self._client.stream(method, path, **parts) as response:
            content = _up_to(LARGEST_ANSWER, response)
        if response.status_code == UNAUTHORIZED:
            raise ClusterError(
                f"{called(self._context)} ({self.server}) refuses the credentials of the kubeconfig",
                "log in to the cluster again; `kubectl auth whoami` shows whether it worked",
            )
        if content is None:
            raise self._too_long(f"answer to {path}", LARGEST_ANSWER)
        body = _body(response.status_code, content)
        if not isinstance(body, dict):
            raise self.stranger(f"HTTP status {response.status_code}")
        return Answer(response.status_code, body, len(content))

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Where parts of the answer to `path` are taken: a server whose answers lack these is something else."""
        try:
            yield
        except (AttributeError, KeyError, TypeError):
            raise self.stranger(f"its answer to {path} lacks what Kubernetes says there") from None

    def stranger(self, found: str) -> ClusterError:
        """The error for a server that is something else. found: what shows that."""
        return no_api(self.server, found)

    def _too_long(self, what: str, most: int) -> ClusterError:
        return self.stranger(f"its {what} is longer than {most >> 20} MiB")


def _up_to(most: int, response: httpx2.Response) -> bytes | None:
    """The content, decompressed in pieces; None where it is longer than `most` bytes."""
    pieces, size = list[bytes](), 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _body(status: int, content: bytes) -> Any:
    """The JSON of the answer, or None."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        # of a group that it does not serve a Kubernetes API says so in plain text
        return {} if status == NOT_FOUND else None
