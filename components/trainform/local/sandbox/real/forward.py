"""A program that passes connections of the real nodes on to the API server, which listens on loopback alone.

    python forward.py ADDRESS PORT

It listens on ADDRESS:PORT and connects to 127.0.0.1:PORT.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

PIECE = 65536


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write what is read, until the end."""
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def serve(address: str, port: int) -> None:
    """Serve connections until the process ends."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, to_writer), copy(to_reader, writer))

    server = await asyncio.start_server(connected, address, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
