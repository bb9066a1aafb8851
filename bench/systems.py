"""Calls, tokens and seconds a topic of each system, beside a plain loop over the same calls of one server.

    python bench/systems.py [--topics 8] [--latency 0.05] [--at-once 8] [--system EIFRP]
    python bench/systems.py --url http://127.0.0.1:8000/v1 --model NAME --longest 16   any other server

Without --url, a server in this process replies after a fixed time with what each prompt asks for (facts, No,
a permutation, cited sentences); nothing is computed, so that what is left is our own work. The plain loop
sends the messages that a system sent, one after the other, by the `openai` package. Both go turn by turn, one
topic at a time and then --at-once topics at a time; printed are seconds a topic of ours, their ratio to the
plain loop's (medians of three rounds), and the most requests that were in flight together.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading.generation.models import text_model
from grading.graders.connection import Connection
from grading.systems import Source
from grading.systems.pipeline import Answering, SystemSpec, make
from grading.types import Ranking, Topic

ROUNDS, DEPTH, CHARS_A_TOKEN = 3, 100, 4
SYSTEMS = {
    "listwise, 1 pass": {"answering": Answering.NONE, "rerank_passes": 1},
    "Ragnarok": {"answering": Answering.RAGNAROK},
    "RIFER": {"answering": Answering.RIFER},
    "EIFRP": {"answering": Answering.EIFRP},
    "prompted, question": {"answering": Answering.QUESTION},
}
Messages = Sequence[tuple[str, str]]
Work = Callable[[int], object]


class Server(ThreadingHTTPServer):
    """Replies after `latency` seconds, and counts what is in flight."""

    daemon_threads = True
    request_queue_size = 64
    latency = 0.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.flying, self.most = threading.Lock(), 0, 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.flying += 1
            self.server.most = max(self.server.most, self.server.flying)
        time.sleep(self.server.latency)
        message = {"role": "assistant", "content": reply_to(body["messages"][-1]["content"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"id": "1", "object": "chat.completion", "created": 0, "model": "bench", "choices": [choice]}
        said = json.dumps(told).encode()
        with self.server.lock:
            self.server.flying -= 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def reply_to(prompt: str) -> str:
    """What the prompt asks for, made of its own words."""
    if prompt.startswith("Extract ONLY"):
        document = prompt.partition("Document:\n")[2]
        return "\n".join(re.findall(r"Fact [^.]+\.", document)[:2]) or "None"
    if prompt.startswith("Please determine"):
        return "No"
    if prompt.startswith("Please revise"):
        return prompt.partition('Second sentence: "')[2].partition('"')[0]
    if prompt.startswith("Below are"):
        numbers = sorted(map(int, re.findall(r"^\[(\d+)\]", prompt, re.MULTILINE)), reverse=True)
        return " > ".join(f"[{number}]" for number in numbers)
    if prompt.startswith("Based on the query"):
        return prompt.partition("Input: ")[2].partition("\n")[0]
    return "The first passage says so [1]. The second one agrees [2]."


@contextmanager
def served(latency: float) -> Iterator[Server]:
    server = Server()
    server.latency = latency
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()


class Recording:
    """A model that keeps what it was asked."""

    def __init__(self, url: str, model: str, longest: int) -> None:
        self._llm = text_model("openai_compatible", model, Connection(url), longest_reply=longest)
        self.asked: list[Messages] = []
        self.chars = 0

    def complete(self, messages: Messages) -> str:
        self.asked.append(list(messages))
        reply = self._llm.complete(messages)
        self.chars += sum(len(text) for _, text in messages) + len(reply)
        return reply


def sources(doc_ids: Sequence[str]) -> list[Source]:
    return [
        Source(doc_id, " ".join(f"Fact {part} of passage {doc_id} is told here." for part in range(12)))
        for doc_id in doc_ids
    ]


def answered(spec: SystemSpec, topic: int, url: str, longest: int) -> Recording:
    llm = Recording(url, spec.llm, longest)
    ids = tuple(f"{topic}-{rank}" for rank in range(DEPTH))
    ranking = Ranking("bench", str(topic), ids, tuple(1 / rank for rank in range(1, DEPTH + 1)))
    make(spec, Topic(str(topic), f"What is told of {topic}?"), ranking, sources, llm)
    return llm


def plain_loop(url: str, model: str, asked: Sequence[Messages], longest: int) -> None:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
    for messages in asked:
        sent = [{"role": role, "content": text} for role, text in messages]
        client.chat.completions.create(model=model, messages=sent, max_tokens=longest, temperature=0)


def seconds(work: Work, topics: int, at_once: int) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(work, range(topics)))
    return (time.perf_counter() - start) / topics


def measured(options: argparse.Namespace, url: str, name: str, server: Server | None) -> None:
    spec = SystemSpec(backend="openai_compatible", llm=options.model, **SYSTEMS[name])
    longest = options.longest or spec.longest_reply
    asked = [answered(spec, topic, url, longest) for topic in range(options.topics)]
    calls = sum(len(one.asked) for one in asked) / len(asked)
    tokens = sum(one.chars for one in asked) / CHARS_A_TOKEN / len(asked)
    told = f"{name:>19} {calls:6.0f} {tokens:9,.0f}"
    for at_once in (1, options.at_once):
        took: dict[str, list[float]] = {"ours": [], "plain": []}
        works: dict[str, Work] = {
            "ours": lambda topic: answered(spec, topic, url, longest),
            "plain": lambda topic: plain_loop(url, options.model, asked[topic].asked, longest),
        }
        most = 0
        for _ in range(ROUNDS):
            for who, work in works.items():
                if server:
                    server.most = 0
                took[who].append(seconds(work, options.topics, at_once))
                most = max(most, server.most) if server and who == "ours" else most
        ours, plain = (statistics.median(one) for one in took.values())
        flying = f" {most:3} in flight" if server else ""
        told += f"  | {ours:7.3f} s {ours / plain:5.2f}{flying}"
    print(told, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--url", default="")
    parser.add_argument("--model", default="bench")
    parser.add_argument("--longest", type=int, default=0)
    parser.add_argument("--system", choices=list(SYSTEMS), help="only this one")
    options = parser.parse_args()
    names = [options.system] if options.system else list(SYSTEMS)
    print(f"{'system':>19} {'calls':>6} {'tokens':>9}  | one at a time, ratio | {options.at_once} at a time")
    if options.url:
        for name in names:
            measured(options, options.url, name, None)
        return
    with served(options.latency) as server:
        for name in names:
            measured(options, f"http://127.0.0.1:{server.server_port}/v1", name, server)


if __name__ == "__main__":
    main()
