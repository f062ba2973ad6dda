"""Streams of lines and of changes, from servers that answer as API servers do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import pod
from tests.support.log_server import LATE, LogServer, Output
from tests.support.websites import Answer as Website
from tests.support.websites import website
from trainform.cluster.api import Answer, NotReadError
from trainform.cluster.streams import FOUND, ClusterStreams
from trainform.errors import ClusterError

PODS = "/api/v1/namespaces/ai-namespace/pods"
BODIES = [pod("bert-1f3a9c", index, experiment="bert") for index in range(2)]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda url: use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})


def lines(path: str = f"{PODS}/bert/log") -> list[bytes | Answer]:
    async def read() -> list[bytes | Answer]:
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


def test_an_answer_that_is_no_stream(connect: Any) -> None:
    with website((400, "application/json", b'{"kind": "Status", "message": "container is starting"}')) as url:
        connect(url)
        (answer,) = lines()
    assert isinstance(answer, Answer)
    assert (answer.status, answer.message) == (400, "container is starting")


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


def test_changes_follow_what_is_there(connect: Any) -> None:
    server = LogServer(ApiObjects([*BODIES]), {BODIES[0]["metadata"]["name"]: Output()})

    async def read() -> list[tuple[str, int | str]]:
        streams, seen = ClusterStreams(None), list[tuple[str, int | str]]()
        with pytest.raises(ClusterError, match="cannot reach"):
            async for change, found in streams.changes(PODS, "list pods", {}):
                seen.append((change, len(found) if change == FOUND else found["status"]["phase"]))
                if change == FOUND:  # the watch begins after it
                    asyncio.get_running_loop().call_later(10 * LATE, BODIES[0]["status"].update, {"phase": "Failed"})
                else:
                    server.drop()
        await streams.close()
        return seen

    with server.serving() as url:
        connect(url)
        assert asyncio.run(read())[:2] == [(FOUND, 2), ("MODIFIED", "Failed")]


def test_without_permission(connect: Any) -> None:
    async def read() -> None:
        streams = ClusterStreams(None)
        try:
            async for _ in streams.changes(PODS, "list the pods", {}):
                pass
        finally:
            await streams.close()

    with website(ApiObjects([], frozenset(["pods"]))) as url:
        connect(url)
        with pytest.raises(NotReadError, match="no permission to list the pods"):
            asyncio.run(read())
