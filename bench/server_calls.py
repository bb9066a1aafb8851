"""How busy our client keeps a model server, beside a fixed number of calls and a plain loop.

    python bench/server_calls.py [--delay 2] [--capacity 128] [--cells 2000]

A server of uvicorn in a process of its own takes a set time for each reply and has a capacity: calls above it
are refused (429), or queue. Prints calls a second, how many calls the server had under way on average and at
most, and how many it refused. The plain loop asks for 1 % of the cells, and 8 at most for a sixteenth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grading.graders import Connection, GraderSpec, build  # noqa: E402
from grading.types import CellToGrade, Item, ItemKind, Passage, Topic  # noqa: E402

RATE = "QuestionSelfRatedPromptWithReminder"
PORT = 24_631
SETTINGS = "SERVER_CALLS"


class ModelServer:
    """An ASGI application; its settings are in the environment of its process."""

    def __init__(self, delay: float, capacity: int, queues: bool) -> None:
        self.delay, self.capacity, self.queues = delay, capacity, queues
        self.slots = asyncio.Semaphore(capacity)
        self.forget()

    def forget(self) -> None:
        self.under_way = self.most = self.refused = self.answered = 0
        self.area, self.first, self.last = 0.0, 0.0, 0.0
        """`area`: calls under way times seconds."""

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["method"] == "GET":
            names = ("most", "refused", "answered")
            seconds = max(self.last - self.first, 1e-9)
            counts = {name: getattr(self, name) for name in names} | {"mean": self.area / seconds}
            self.forget()
            await reply(send, 200, counts)
            return
        while (await receive()).get("more_body"):
            pass
        if not self.queues and self.under_way >= self.capacity:
            self.refused += 1
            await reply(send, 429, {"error": {"message": "too many requests"}})
            return
        self.count(1)
        try:
            async with self.slots:
                await asyncio.sleep(self.delay)
            await reply(send, 200, COMPLETION)
            self.answered += 1
        finally:
            self.count(-1)

    def count(self, step: int) -> None:
        now = time.perf_counter()
        self.first = self.first or now
        self.area += self.under_way * (now - (self.last or now))
        self.last, self.under_way = now, self.under_way + step
        self.most = max(self.most, self.under_way)


COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
}


async def reply(send: Any, status: int, body: dict[str, Any]) -> None:
    sent = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sent})


def application() -> ModelServer:
    return ModelServer(**json.loads(os.environ[SETTINGS]))


def pairs(n: int) -> list[CellToGrade]:
    item = Item("q1/aa", ItemKind.QUESTION, "Where does the river end?")
    topic = Topic("q1", "rivers")
    return [
        CellToGrade(item, Passage(f"p{number}", f"Part {number} of a river."), topic) for number in range(n)
    ]


def ours(cells: list[CellToGrade], url: str, concurrency: int) -> None:
    grader = build(
        GraderSpec("openai_compatible", "bench", RATE, {"concurrency": concurrency}), Connection(url)
    )
    results = list(grader.grade(cells))
    grader.close()
    failed = len(cells) - sum(getattr(result, "rating", None) == 4 for result in results)
    if failed:
        print(f"{failed} cells failed")


def plain_loop(cells: list[CellToGrade], url: str) -> None:
    client = openai.OpenAI(base_url=url, api_key="none")
    for cell in cells:
        client.chat.completions.create(
            model="bench",
            messages=[{"role": "user", "content": cell.passage.text}],
            max_tokens=64,
            temperature=0,
        )


def measure(name: str, cells: int, work: Callable[[], None], stats: str) -> None:
    httpx.get(stats)
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    counts = httpx.get(stats).json()
    under_way = f"{counts['mean']:6.1f} under way, at most {counts['most']:4}"
    print(
        f"  {name:24} {cells / seconds:7.1f} calls/s  {under_way}  {counts['refused']:5} refused", flush=True
    )


def main() -> None:
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=2.0)
    parser.add_argument("--capacity", type=int, default=128)
    parser.add_argument("--cells", type=int, default=2_000)
    options = parser.parse_args()
    for queues in (False, True):
        settings = {"delay": options.delay, "capacity": options.capacity, "queues": queues}
        what = "queue" if queues else "are refused"
        print(f"{options.delay} s a reply, {options.capacity} at once, more {what}")
        command = [sys.executable, "-m", "uvicorn", "--factory", "bench.server_calls:application"]
        command += ["--port", str(PORT), "--log-level", "error", "--lifespan", "off"]
        environment = os.environ | {SETTINGS: json.dumps(settings)}
        with subprocess.Popen(command, cwd=ROOT, env=environment) as server:
            try:
                compare(options.cells, f"http://127.0.0.1:{PORT}")
            finally:
                server.terminate()


def compare(cells: int, address: str) -> None:
    for _ in range(100):
        try:
            httpx.get(address)
            break
        except httpx.TransportError:
            time.sleep(0.1)
    url, every = f"{address}/v1", pairs(cells)
    few = every[: max(8, cells // 100)]
    measure("ours", cells, lambda: ours(every, url, 256), address)
    some = every[: max(64, cells // 16)]
    measure("ours, 8 at most", len(some), lambda: ours(some, url, 8), address)
    measure("a plain loop of openai", len(few), lambda: plain_loop(few, url), address)


if __name__ == "__main__":
    main()
