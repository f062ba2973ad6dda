"""Streams of lines from a cluster's API: the output of containers, and changes of objects."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from http.client import UNAUTHORIZED
from typing import Any

import httpx2
from lightkube.config.client_adapter import ConnectionParams

from trainform import defaults
from trainform.cluster.api import Answer, credentials_refused, refusal
from trainform.cluster.connection import choose_config, impersonate, shown_server, translate_connection_errors
from trainform.manifests.manifest import mapping, mappings

FOUND, DELETED, ERROR, BOOKMARK = "FOUND", "DELETED", "ERROR", "BOOKMARK"
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

    async def get(self, path: str, parameters: Mapping[str, str]) -> Answer:
        """Return the response for a path."""
        with translate_connection_errors(self._context, self._server):
            response = await next(self._next).get(path, params=parameters)
        return self._answer(response)

    async def lines(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[bytes | Answer]:
        """Yield each line without its end, or the answer that is no stream. ClusterError for a lost connection."""
        with translate_connection_errors(self._context, self._server):
            async with next(self._next).stream("GET", path, params=parameters) as response:
                if not response.is_success:
                    await response.aread()
                    yield self._answer(response)
                    return
                rest = b""
                async for chunk in response.aiter_bytes():
                    *whole, rest = (rest + chunk).split(b"\n")
                    for line in whole:
                        yield line
                if rest:
                    yield rest

    async def changes(self, path: str, what: str, parameters: Mapping[str, str]) -> AsyncIterator[tuple[str, Any]]:
        """Yield `FOUND` with all objects of a collection, then each change (ADDED, MODIFIED, DELETED) with its object,
        until the server ends the watch. what: the request in an error. ClusterError for a lost connection."""
        listed = await self.get(path, parameters)
        if not listed.found:
            raise refusal(listed, what)
        yield FOUND, mappings(listed.body.get("items"))
        version = str(mapping(listed.body.get("metadata")).get("resourceVersion", ""))
        query = {**parameters, "watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        async for line in self.lines(path, query):
            event = {"type": ERROR} if isinstance(line, Answer) else json.loads(line)
            if event["type"] == ERROR:  # such as a version that is too old
                return
            if event["type"] != BOOKMARK:
                yield event["type"], event["object"]

    def _answer(self, response: httpx2.Response) -> Answer:
        if response.status_code == UNAUTHORIZED:
            raise credentials_refused(self._context, self._server)
        body = None
        with contextlib.suppress(ValueError):
            body = json.loads(response.content)
        return Answer(response.status_code, body if isinstance(body, dict) else {})
