"""Requests to a cluster's API by path: version, own account, served groups, permissions, and lists of objects."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import FORBIDDEN, MULTIPLE_CHOICES, NOT_FOUND, UNAUTHORIZED
from typing import Any

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig
from msgspec import Struct

from trainform import defaults
from trainform.cluster.connection import (
    choose_config,
    cluster_name,
    not_a_kubernetes_api,
    shown_server,
    translate_connection_errors,
    unusable_kubeconfig,
)
from trainform.cluster.impersonation import impersonate
from trainform.errors import ClusterError

MAX_CONNECTIONS = 10
AT_ONCE = 4  # requests of one `send_all`
PAGE = "250"  # objects in one response: a node with its list of images has up to 50 kB
# Bytes after decompression: of one response, and of a whole list, which is enough for 5,000 such nodes.
LARGEST_ANSWER = 32 << 20
LARGEST_LIST = 256 << 20
_WARNING = re.compile(r'299 \S+ "(.*)"')  # RFC 7234
_APPLY = "application/apply-patch+yaml"  # of which JSON is a part
# Name and labels of an object without its content: enough to know that a Secret exists. For a list the server takes the
# second one alone.
_METADATA_ONLY, _METADATA_OF_LIST = (
    {"Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1"}
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList")
)


class Request(Struct, frozen=True):
    """A request by path, with its query and, for a POST or an apply, an object."""

    method: str
    path: str
    parameters: Mapping[str, str] = {}
    body: dict[str, Any] | None = None


class Answer(Struct, frozen=True):
    """A response: the HTTP status, the object in its body, the size of the body in bytes, and the texts of its
    `Warning` headers."""

    status: int
    body: dict[str, Any]
    size: int
    warnings: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """True if the request succeeded."""
        return self.status < MULTIPLE_CHOICES

    @property
    def missing(self) -> bool:
        """True if the object does not exist."""
        return self.status == NOT_FOUND

    @property
    def forbidden(self) -> bool:
        """True if this account has no permission."""
        return self.status == FORBIDDEN

    @property
    def message(self) -> str:
        """The message of the API server."""
        return str(self.body.get("message", f"HTTP status {self.status}"))


class ClusterApi:
    """A connection to the cluster of a kubeconfig context (None: the current one). Its methods raise `ClusterError`.

    It can be used by several threads: unlike `read.Cluster` it decodes plain JSON, since lightkube's decoder is not
    thread-safe.
    """

    def __init__(
        self,
        context: str | None,
        seconds: float | None,
        existing: tuple[SingleConfig, httpx2.Client] | None = None,
    ) -> None:
        """seconds: how long a request waits for each part of its answer; None: until the connection is closed.
        existing: the configuration and a client that are used instead of new ones."""
        self.config: SingleConfig = choose_config(context) if existing is None else existing[0]
        self.server = shown_server(self.config.cluster.server)
        self._context = context
        if existing is not None:
            self._client = existing[1]
            return
        try:
            self._client = httpx2.Client(
                **ConnectionParams(timeout=httpx2.Timeout(seconds)).httpx_params(self.config),
                limits=httpx2.Limits(max_connections=MAX_CONNECTIONS),
            )
            impersonate(self._client, self.config)
        except Exception as error:  # many kinds, for certificates, URLs and types
            raise unusable_kubeconfig(context, error) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def uid(self) -> str | None:
        """The UID of the namespace kube-system; None if this account has no permission to read it."""
        path = f"/api/v1/namespaces/{defaults.KUBE_SYSTEM}"
        answer = self.get(path, metadata_only=True)
        if not answer.found:
            return None
        with self.reading(path):
            return str(answer.body["metadata"]["uid"])

    def get(self, path: str, parameters: Mapping[str, str] | None = None, metadata_only: bool = False) -> Answer:
        """Return the response for a path. `metadata_only`: without the object's content."""
        return self._send("GET", path, headers=_METADATA_ONLY if metadata_only else {}, params=parameters)

    def list_all(self, path: str, keep: Callable[[Any], Any] = lambda item: item) -> list[Any] | None:
        """Return all objects of a collection, None if this account may not list them.

        `keep` returns the part of an object that is kept. Raises `ClusterError` if the list is too long or invalid.
        """
        listed = self.listed(path, keep)
        return None if isinstance(listed, Answer) else listed

    def listed(
        self,
        path: str,
        keep: Callable[[Any], Any] = lambda item: item,
        parameters: Mapping[str, str] | None = None,
        metadata_only: bool = False,
    ) -> list[Any] | Answer:
        """Return the same, and the response in place of the list if there is none. `parameters`: such as
        `labelSelector`. `metadata_only`: as in `get`."""
        found: list[Any] = []
        page: dict[str, str] = {"limit": PAGE, **({} if parameters is None else parameters)}
        met, size = set[str](), 0
        while True:
            answer = self._send("GET", path, headers=_METADATA_OF_LIST if metadata_only else {}, params=page)
            if not answer.found:
                return answer
            size += answer.size
            if size > LARGEST_LIST:
                raise self._too_long(f"list at {path}", LARGEST_LIST)
            items, token = self._page(path, answer)
            found += map(keep, items)
            if not token:
                return found
            if token in met:
                raise self.not_kubernetes(f"its list at {path} repeats a page")
            met.add(token)
            page["continue"] = token

    def _page(self, path: str, answer: Answer) -> tuple[list[Any], str]:
        """Return the objects of a page and the token for the next page, which is empty after the last page."""
        items, metadata = answer.body.get("items", ""), answer.body.get("metadata")
        items = [] if items is None else items  # so an empty list of metadata alone
        token = metadata.get("continue", "") if isinstance(metadata, dict) else None
        if not isinstance(items, list) or not isinstance(token, str):
            raise self.not_kubernetes(f"its answer to {path} is not a list")
        return items, token

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Return the response to a review, such as that of a permission."""
        return self._send("POST", path, json=body)

    def send_all(self, requests: Sequence[Request]) -> list[Answer | ClusterError]:
        """Return the answer to each request, or why there is none; a few requests are under way at the same time."""

        def send(request: Request) -> Answer | ClusterError:
            headers = {"Content-Type": _APPLY if request.method == "PATCH" else "application/json"}
            try:
                return self._send(
                    request.method, request.path, params=request.parameters, headers=headers, json=request.body
                )
            except ClusterError as error:
                return error

        if len(requests) < 2:
            return [send(request) for request in requests]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(send, requests))

    def dry_run_apply(self, path: str, body: Mapping[str, Any], manager: str) -> Answer:
        """Return the object as it would be if `manager` applied this body to it. Nothing is changed: the request is a
        dry run, webhooks included."""
        asked = {"dryRun": "All", "fieldManager": manager, "force": "true"}
        return self._send("PATCH", path, params=asked, headers={"Content-Type": _APPLY}, json=body)

    def _send(self, method: str, path: str, **parts: Any) -> Answer:
        with (
            translate_connection_errors(self._context, self.server),
            self._client.stream(method, path, **parts) as response,
        ):
            content = _up_to(LARGEST_ANSWER, response)
        if response.status_code == UNAUTHORIZED:
            raise ClusterError(
                f"{cluster_name(self._context)} ({self.server}) refuses the credentials of the kubeconfig",
                "log in to the cluster again; `kubectl auth whoami` shows whether it worked",
            )
        if content is None:
            raise self._too_long(f"answer to {path}", LARGEST_ANSWER)
        body = _body(response.status_code, content)
        if not isinstance(body, dict):
            raise self.not_kubernetes(f"HTTP status {response.status_code}")
        warnings = (_WARNING.fullmatch(text) for text in response.headers.get_list("warning"))
        told = tuple(found[1].replace('\\"', '"') for found in warnings if found is not None)
        return Answer(response.status_code, body, len(content), told)

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Turn errors in the block, which reads fields of the answer to `path`, into a `ClusterError`: the server is
        not Kubernetes."""
        try:
            yield
        except (AttributeError, KeyError, TypeError):
            raise self.not_kubernetes(f"its answer to {path} lacks fields that Kubernetes has") from None

    def not_kubernetes(self, found: str) -> ClusterError:
        """Return the error for a server that is not a Kubernetes API. `found`: the reason."""
        return not_a_kubernetes_api(self.server, found)

    def _too_long(self, what: str, most: int) -> ClusterError:
        return self.not_kubernetes(f"its {what} is longer than {most >> 20} MiB")


def _up_to(most: int, response: httpx2.Response) -> bytes | None:
    """Return the decompressed content, None if it is longer than `most` bytes."""
    pieces, size = list[bytes](), 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _body(status: int, content: bytes) -> Any:
    """Return the parsed body, None if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        # the answer for a group that is not served is plain text
        return {} if status == NOT_FOUND else None
