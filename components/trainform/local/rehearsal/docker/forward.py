"""The program in a Service's container: it forwards each connection to one of the Service's pods, as kube-proxy does.

This file alone is the program (`python3 -c`): it needs the standard library of any Python 3 and nothing of trainform.
Its argument is JSON: a list of [port, [[host, port], …]].
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


async def _serve(port: int, targets: list[tuple[str, int]]) -> None:
    turns = itertools.count()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(turns)
        for number in range(len(targets)):
            host, target = targets[(first + number) % len(targets)]
            try:
                there = await asyncio.open_connection(host, target)
            except OSError:
                continue
            await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
            there[1].close()
            break
        writer.close()

    await asyncio.start_server(meet, "0.0.0.0", port)  # noqa: S104 - inside a container


async def _main(routes: list[tuple[int, list[tuple[str, int]]]]) -> None:
    for port, targets in routes:
        await _serve(port, targets)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(json.loads(sys.argv[1])))
