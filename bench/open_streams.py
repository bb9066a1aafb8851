"""Two hundred open pages and twenty events a second: one subscription for all beside one for each.

    python bench/open_streams.py [--pages N] [--seconds S]

Processor time of the process that listens; the events are published by another. Each page is told what a
stream of events would send it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
CHANNEL = "rubricweb:collection:1"
EVENTS_A_SECOND = 20
PUBLISH = """
import sys, time
import redis
url, seconds, a_second = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
connection = redis.Redis.from_url(url)
for number in range(int(seconds * a_second)):
    connection.publish(sys.argv[4], ("grades", "progress")[number % 2])
    time.sleep(1 / a_second)
connection.publish(sys.argv[4], "end")
"""
Page = Callable[[], Coroutine[Any, Any, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests import servers

    server = servers.RedisServer()
    server.start()
    try:
        from django.conf import settings

        settings.configure(REDIS_URL=server.url)
        each = measured(own_subscription, options.pages, options.seconds, server.url)
        shared = measured(stream, options.pages, options.seconds, server.url)
    finally:
        server.stop()
    print(f"{options.pages} pages, {EVENTS_A_SECOND} events a second for {options.seconds:.0f} s")
    for name, (seconds, told) in (("one subscription a page", each), ("streams of the product", shared)):
        print(f"{name:26} {seconds:6.2f} s of processor, {told:,} events told")
    print(f"ratio {each[0] / shared[0]:.1f}")


def measured(page: Page, pages: int, seconds: float, url: str) -> tuple[float, int]:
    """(processor seconds, how many events the pages were told)"""

    async def run() -> tuple[float, int]:
        told = [asyncio.create_task(page()) for _ in range(pages)]
        await asyncio.sleep(2)  # until all of them listen
        begun = time.process_time()
        command = [sys.executable, "-c", PUBLISH, url, str(seconds), str(EVENTS_A_SECOND), CHANNEL]
        publisher = await asyncio.create_subprocess_exec(*command)
        counts = await asyncio.gather(*told)
        await publisher.wait()
        return time.process_time() - begun, sum(counts)

    return asyncio.run(run())


async def own_subscription() -> int:
    import redis.asyncio
    from django.conf import settings

    told = 0
    async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as connection, connection.pubsub() as heard:
        await heard.subscribe(CHANNEL)
        while True:
            message = await heard.get_message(ignore_subscribe_messages=True, timeout=5)
            if message is not None:
                told += 1
                if message["data"] == b"end":
                    return told


async def stream() -> int:
    from rubricweb.core import streams

    told = 0
    parts = streams.stream(CHANNEL, since=time.time()).streaming_content
    async for part in cast("AsyncIterator[bytes]", parts):
        told += part.count(b"event: ")
        if b"event: end" in part:
            return told
    raise SystemExit("the stream ended early")


if __name__ == "__main__":
    main()
