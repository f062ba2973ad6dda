"""Requests to a cluster's API by path: version, own account, served groups, permissions, and lists of objects."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from http.client import FORBIDDEN, INTERNAL_SERVER_ERROR, MULTIPLE_CHOICES, NOT_FOUND, UNAUTHORIZED
from typing import Any, TypeVar

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams
from msgspec import Struct

from trainform import defaults
from trainform.cluster.connection import (
    choose_config,
    cluster_name,
    impersonate,
    not_a_kubernetes_api,
    shown_server,
    translate_connection_errors,
    unusable_kubeconfig,
)
from trainform.cluster.tls import set_protocols_once
from trainform.errors import ClusterError, without_credentials

MAX_CONNECTIONS = 10
PAGE = "250"  # objects in one response: a node with its list of images has up to 50 kB
_WARNING = re.compile(r'299 \S+ "(.*)"')  # RFC 7234
NOT_ENDED = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}  # of a list of pods
_APPLY = "application/apply-patch+yaml"  # of which JSON is a part
# An object's name and labels without its content, which may be secret. For a list the server takes the second alone.
_METADATA_ONLY, _METADATA_OF_LIST = (
    {"Accept": f"application/json;as={kind};g=meta.k8s.io;v=v1"}
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList")
)


Item = TypeVar("Item")
Result = TypeVar("Result")


class NotReadError(ClusterError):
    """The cluster answers, but refuses the requested objects."""


class Request(Struct, frozen=True):
    """A request by path, with its query and, for a POST or an apply, an object."""

    method: str
    path: str
    parameters: Mapping[str, str] = {}
    body: dict[str, Any] | None = None


class Answer(Struct, frozen=True):
    """A response: the HTTP status, the object in its body, and the texts of its `Warning` headers."""

    status: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Return True if the request succeeded."""
        return self.status < MULTIPLE_CHOICES

    @property
    def missing(self) -> bool:
        """Return True if the object does not exist."""
        return self.status == NOT_FOUND

    @property
    def forbidden(self) -> bool:
        """Return True if this account has no permission."""
        return self.status == FORBIDDEN

    @property
    def message(self) -> str:
        """Message of the API server."""
        return str(self.body.get("message", f"HTTP status {self.status}"))


class ClusterApi:
    """A connection to the cluster of a kubeconfig context (None: the current one). Its methods raise `ClusterError`.

    Several threads can use it. It decodes plain JSON: lightkube's decoder is not thread-safe.
    """

    def __init__(self, context: str | None, seconds: float | None = 2.0 * defaults.CONNECT_SECONDS) -> None:
        """seconds: how long a request waits for each part of its answer; None: until the connection is closed."""
        self.config = choose_config(context)
        self.name, self.server = cluster_name(context), shown_server(self.config.cluster.server)
        self._context = context
        try:
            parameters = ConnectionParams(timeout=httpx2.Timeout(seconds)).httpx_params(self.config)
            self._client = httpx2.Client(
                **parameters | {"verify": set_protocols_once(parameters["verify"])},
                limits=httpx2.Limits(max_connections=MAX_CONNECTIONS),
            )
            impersonate(self._client, self.config)
        except Exception as error:  # many kinds, for certificates, URLs and types
            raise unusable_kubeconfig(context, error) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def version(self) -> str:
        """Return the API server's version; "unknown" without permission. `ClusterError` if it is not Kubernetes."""
        answer = self.get("/version")
        version = answer.body.get("gitVersion")
        if answer.forbidden:
            return "unknown"
        if not answer.found or not isinstance(version, str):
            raise self.not_kubernetes("its answer has no version")
        return version

    def uid(self) -> str | None:
        """Return the UID of the namespace kube-system; None if this account has no permission to read it."""
        path = f"/api/v1/namespaces/{defaults.KUBE_SYSTEM}"
        answer = self.get(path, metadata_only=True)
        if not answer.found:
            return None
        with self.reading(path):
            return str(answer.body["metadata"]["uid"])

    def get(self, path: str, metadata_only: bool = False) -> Answer:
        """Return the response for a path. `metadata_only`: without the object's content."""
        return self._send("GET", path, headers=_METADATA_ONLY if metadata_only else {})

    def read(self, path: str) -> Answer:
        """Return the response for an object, which may be missing or forbidden. Raises `NotReadError` for another
        refusal: then the object is unknown."""
        answer = self.get(path)
        if answer.found or answer.missing or answer.forbidden:
            return answer
        raise refusal(answer, f"read {path}")

    def text(self, path: str, parameters: Mapping[str, str]) -> str:
        """Return the text behind a path, such as a log. Raises `NotReadError` if the cluster refuses it."""
        with translate_connection_errors(self._context, self.server):
            response = self._client.get(path, params=parameters)
        if not response.is_success:
            raise NotReadError(f"the cluster refuses {path}: HTTP status {response.status_code}")
        return response.text

    def find(
        self, path: str, what: str, keep: Callable[[Any], Any] = lambda item: item, metadata_only: bool = False
    ) -> Any:
        """Return the part of an object that `keep` returns; None if the object does not exist. what: the request in an
        error, such as `read the Secret hf`. Raises `NotReadError` if the cluster refuses it."""
        answer = self.get(path, metadata_only=metadata_only)
        if answer.missing:
            return None
        if not answer.found:
            raise refusal(answer, what)
        with self.reading(path):
            return keep(answer.body)

    def find_all(
        self,
        path: str,
        what: str,
        keep: Callable[[Any], Any] = lambda item: item,
        parameters: Mapping[str, str] | None = None,
        metadata_only: bool = False,
    ) -> list[Any]:
        """Return what `keep` returns for each object; empty if the kind is not served. parameters: see `labelled`.
        Raises `NotReadError` if the cluster refuses it, `ClusterError` for an invalid list."""
        found: list[Any] = []
        page: dict[str, str] = {"limit": PAGE, **({} if parameters is None else parameters)}
        while True:
            answer = self._send("GET", path, headers=_METADATA_OF_LIST if metadata_only else {}, params=page)
            if answer.missing:
                return []
            if not answer.found:
                raise refusal(answer, what)
            items, page["continue"] = self._page(path, answer)
            with self.reading(path):
                found += map(keep, items)
            if not page["continue"]:
                return found

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

    def send(self, request: Request) -> Answer:
        """Return the answer to a request. An apply is a `PATCH`."""
        headers = {"Content-Type": _APPLY if request.method == "PATCH" else "application/json"}
        return self._send(request.method, request.path, params=request.parameters, headers=headers, json=request.body)

    def send_all(self, requests: Sequence[Request]) -> list[Answer | ClusterError]:
        """Return the answer to each request, or why there is none; several are under way at the same time."""

        def send(request: Request) -> Answer | ClusterError:
            try:
                return self.send(request)
            except ClusterError as error:
                return error

        return each(send, requests)

    def _send(self, method: str, path: str, **parts: Any) -> Answer:
        with translate_connection_errors(self._context, self.server):
            response = self._client.request(method, path, **parts)
        if response.status_code == UNAUTHORIZED:
            raise credentials_refused(self._context, self.server)
        try:
            body = msgspec.json.decode(response.content)  # a third faster than json for large lists
        except (msgspec.MsgspecError, ValueError, RecursionError):
            # the answer for a group that is not served is plain text
            body = {} if response.status_code == NOT_FOUND else None
        if not isinstance(body, dict):
            raise self.not_kubernetes(f"HTTP status {response.status_code}")
        warnings = (_WARNING.fullmatch(text) for text in response.headers.get_list("warning"))
        texts = tuple(match[1].replace('\\"', '"') for match in warnings if match is not None)
        return Answer(response.status_code, body, texts)

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Raise `ClusterError` if the block finds fields missing in the answer: the server is not Kubernetes."""
        try:
            yield
        except (AttributeError, KeyError, TypeError):
            raise self.not_kubernetes(f"its answer to {path} lacks fields that Kubernetes has") from None

    def not_kubernetes(self, found: str) -> ClusterError:
        """Return the error for a server that is not a Kubernetes API. `found`: the reason."""
        return not_a_kubernetes_api(self.server, found)


def refusal(answer: Answer, what: str) -> ClusterError:
    """Return the error for a request that the cluster refuses (`NotReadError`), or cannot answer now. what: `list the
    pods of the namespace ai`."""
    if answer.forbidden:
        return NotReadError(f"this account has no permission to {what}", "ask the platform team for the permission")
    message = " ".join(without_credentials(answer.message).split())
    if answer.status >= INTERNAL_SERVER_ERROR:
        return ClusterError(f"the cluster does not {what} now: {message}", "try again later")
    return NotReadError(f"the cluster does not {what}: {message}", "check your access with `kubectl get`")


def credentials_refused(context: str | None, server: str) -> ClusterError:
    """Return the error for a kubeconfig whose credentials the server does not accept."""
    return ClusterError(
        f"{cluster_name(context)} ({server}) refuses the credentials of the kubeconfig",
        "log in to the cluster again; `kubectl auth whoami` shows whether it worked",
    )


def labelled(labels: Mapping[str, str] | None = None, *more: str) -> dict[str, str]:
    """Return the parameter of a list of trainform's objects with these labels. more: conditions of the selector."""
    selected = {**defaults.MANAGED_BY, **({} if labels is None else labels)}
    return {"labelSelector": ",".join([*(f"{name}={value}" for name, value in selected.items()), *more])}


def start_threads(work: Callable[[Item], Result], items: Sequence[Item], most: int) -> list[Future[Result]]:
    """Start the work on each item, in at most `most` threads. Python exits without waiting for them."""
    futures = [Future[Result]() for _ in items]
    waiting = deque(zip(items, futures, strict=True))

    def run() -> None:
        with contextlib.suppress(IndexError):
            while True:
                item, future = waiting.popleft()
                try:
                    future.set_result(work(item))
                except BaseException as error:
                    future.set_exception(error)

    for _ in range(min(most, len(futures))):
        threading.Thread(target=run, daemon=True).start()
    return futures


def each(work: Callable[[Item], Result], items: Sequence[Item], most: int = MAX_CONNECTIONS) -> list[Result]:
    """Return the result of the work on each item. The items run in parallel."""
    if len(items) < 2:
        return [*map(work, items)]
    return [future.result() for future in start_threads(work, items, most)]
