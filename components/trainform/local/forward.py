"""A program that passes TCP connections on: to the pods of a Service, or from real nodes to the API server.

This file alone is the program: it needs the standard library of any Python 3 and nothing of trainform. Its argument is
JSON: a list of [address, port, [[host, port], …]]. It listens there, and connects to the targets in turn.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            data = await reader.read(65536)
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.write_eof()  # the other direction goes on
    except OSError:
        writer.close()


async def _serve(address: str, port: int, targets: list[tuple[str, int]]) -> None:
    turns = itertools.count()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turns)
        for number in range(len(targets)):
            try:
                there = await asyncio.open_connection(*targets[(first + number) % len(targets)])
            except OSError:
                continue
            await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
            there[1].close()
            break
        writer.close()

    await asyncio.start_server(meet, address, port)


async def _main(routes: list[tuple[str, int, list[tuple[str, int]]]]) -> None:
    for route in routes:
        await _serve(*route)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(json.loads(sys.argv[1])))
