"""A server that streams the output of very many pods, as an API server does. Objects are those of `ApiObjects`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from tests.support.api_objects import ApiObjects

START = datetime(2026, 11, 27, 14, 0, tzinfo=UTC)
LATE = 0.1  # seconds until a stream looks for new lines


class Output:
    """The output of one pod. ended: nothing follows."""

    def __init__(self, *lines: tuple[float, str]) -> None:
        self.lines, self.ended = list[bytes](), False
        for seconds, text in lines:
            self.add(seconds, text)

    def add(self, seconds: float, text: str) -> None:
        """Add a line, with the seconds after the start."""
        stamp = (START + timedelta(seconds=seconds)).isoformat(timespec="microseconds")
        self.lines.append(f"{stamp.replace('+00:00', '000Z')} {text}\n".encode())

    def first(self, since: str) -> int:
        """Return the number of the first line in this second or later."""
        return next((at for at, line in enumerate(self.lines) if line[:19] >= since[:19].encode()), len(self.lines))


@dataclasses.dataclass
class LogServer:
    """open: streams of output at this moment. most: the highest number of them."""

    objects: ApiObjects
    outputs: dict[str, Output]
    open: int = 0
    most: int = 0
    _writers: set[asyncio.StreamWriter] = dataclasses.field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = dataclasses.field(init=False)
    _stop: asyncio.Event = dataclasses.field(init=False)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Yield the URL."""
        started, ports = threading.Event(), list[int]()

        async def serve() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            async with await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=2048) as server:
                ports.append(server.sockets[0].getsockname()[1])
                started.set()
                await self._stop.wait()
                self._abort()

        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        started.wait()
        try:
            yield f"http://127.0.0.1:{ports[0]}"
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join()

    def drop(self) -> None:
        """Break every connection."""
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for writer in [*self._writers]:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                parts = urlsplit(path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                if parts.path.endswith("/log"):
                    await self._stream(writer, self._log(parts.path.split("/")[-2], query))
                elif "watch" in query:
                    await self._stream(writer, self._watch(parts.path.rpartition("/")[2]))
                else:
                    status, kind, body = self.objects(path)
                    head = f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                    writer.write(head.encode() + body)
                    await writer.drain()
        self._writers.discard(writer)
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter, lines: AsyncGenerator[bytes]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        async with contextlib.aclosing(lines):
            async for line in lines:
                if line:
                    writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                    await writer.drain()
                if writer.is_closing():
                    return
        writer.write(b"0\r\n\r\n")

    async def _log(self, pod: str, query: dict[str, str]) -> AsyncGenerator[bytes]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            output = self.outputs[pod]
            at = max(output.first(query.get("sinceTime", "")), len(output.lines) - int(query.get("tailLines", 1 << 31)))
            while True:
                ended = output.ended
                new = output.lines[at:]
                yield b"".join(new)
                at += len(new)  # a test may have added more meanwhile
                if ended or query.get("follow") != "true":
                    return
                await asyncio.sleep(LATE)
        finally:
            self.open -= 1

    async def _watch(self, plural: str) -> AsyncGenerator[bytes]:
        seen: list[str] = []
        while True:
            now = [json.dumps(body) for body in self.objects.bodies if f"{body['kind'].lower()}s" == plural]
            changed = [f'{{"type": "MODIFIED", "object": {body}}}\n' for body in now] if now != seen else []
            yield "".join(changed).encode()
            seen = now
            await asyncio.sleep(LATE)
