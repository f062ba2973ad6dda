"""Streams of lines from a cluster's API: the output of containers, and the events of a watch."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import AsyncGenerator, Mapping
from http.client import UNAUTHORIZED

import httpx2
from lightkube.config.client_adapter import ConnectionParams

from trainform import defaults
from trainform.cluster.api import Answer, NotReadError, credentials_refused
from trainform.cluster.connection import choose_config, impersonate, shown_server, translate_connection_errors
from trainform.errors import ClusterError
from trainform.manifests.manifest import mapping

CLIENTS = 32  # a client looks at each of its connections for each request
SILENT_SECONDS = 300.0
"""A stream without a line for so long is taken to be lost: a proxy may drop an idle connection without a word."""


class ClusterStreams:
    """Streams of a kubeconfig context (None: the current one), any number at the same time."""

    def __init__(self, context: str | None) -> None:
        self._context, config = context, choose_config(context)
        self._server = shown_server(config.cluster.server)
        timeout = httpx2.Timeout(6.0 * defaults.CONNECT_SECONDS, read=SILENT_SECONDS)
        parameters = ConnectionParams(timeout=timeout).httpx_params(config)
        limits = httpx2.Limits(max_connections=None)
        self._clients = [httpx2.AsyncClient(**parameters, limits=limits) for _ in range(CLIENTS)]
        for client in self._clients:
            impersonate(client, config)
        self._next = itertools.cycle(self._clients)

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.aclose()

    async def lines(self, path: str, parameters: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yield each line without its end. NotReadError with the server's message if it refuses the request, another
        ClusterError for one that it cannot answer now and for a lost connection."""
        with translate_connection_errors(self._context, self._server):
            async with next(self._next).stream("GET", path, params=parameters) as response:
                if response.status_code == UNAUTHORIZED:
                    raise credentials_refused(self._context, self._server)
                if not response.is_success:
                    message = _message(await response.aread(), response.status_code)
                    raise ClusterError(message) if response.is_server_error else NotReadError(message)
                rest = b""
                async for chunk in response.aiter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        yield line
                if rest:
                    yield rest


def _message(content: bytes, status: int) -> str:
    with contextlib.suppress(ValueError):
        return Answer(status, mapping(json.loads(content))).message
    return f"HTTP status {status}"
