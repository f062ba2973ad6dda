"""Streams of lines, from servers that answer as API servers do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.support.websites import Answer as Website
from tests.support.websites import website
from trainform.cluster.api import NotReadError
from trainform.cluster.streams import ClusterStreams
from trainform.errors import ClusterError

PODS = "/api/v1/namespaces/ai-namespace/pods"


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda url: use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})


def lines(path: str = f"{PODS}/bert/log") -> list[bytes]:
    async def read() -> list[bytes]:
        streams = ClusterStreams(None)
        try:
            return [line async for line in streams.lines(path, {})]
        finally:
            await streams.close()

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\n\n\x85two\r50%\r\nlast", [b"one", b"", b"\x85two\r50%\r", b"last"]),
        (b"x" * 300_000 + b"\nend\n", [b"x" * 300_000, b"end"]),
    ],
)
def test_lines_end_with_a_line_feed_alone(body: bytes, found: list[bytes], connect: Any) -> None:
    with website((200, "text/plain", body)) as url:
        connect(url)
        assert lines() == found


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ((400, "application/json", b'{"kind": "Status", "message": "container is starting"}'), "container is starting"),
        ((404, "text/plain", b"404 page not found"), "HTTP status 404"),
    ],
)
def test_a_request_that_is_refused(page: Website, message: str, connect: Any) -> None:
    with website(page) as url:
        connect(url)
        with pytest.raises(NotReadError, match=message):
            lines()


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ((401, "application/json", b"{}"), "refuses the credentials"),
        (None, "cannot reach"),
    ],
)
def test_a_cluster_that_cannot_be_read(page: Website | None, message: str, connect: Any) -> None:
    with website((200, "text/plain", b"") if page is None else page) as url:
        connect(url if page is not None else "http://127.0.0.1:9")
        with pytest.raises(ClusterError, match=message):
            lines()
