"""A TCP proxy before PostgreSQL: a process of its own, so that killing it cuts every connection at once.

    python -m tests.faults.proxy PORT SOCKET

Stopped (SIGSTOP) it is a partition: connections stay open, and no byte comes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

READ_BYTES = 64 * 1024


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Until either end closes."""
    with contextlib.suppress(OSError):
        while chunk := await source.read(READ_BYTES):
            target.write(chunk)
            await target.drain()
    target.close()


async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket_path: str) -> None:
    try:
        server_reader, server_writer = await asyncio.open_unix_connection(socket_path)
    except OSError:
        writer.close()
        return
    await asyncio.gather(copy(reader, server_writer), copy(server_reader, writer))


async def serve(port: int, socket_path: str) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: connect(reader, writer, socket_path), "127.0.0.1", port
    )
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))  # noqa: TID251 - a process of its own
