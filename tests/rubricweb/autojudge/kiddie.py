"""A collection in the shape of the track's smoke set, and a server whose replies follow from the words."""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager
from pathlib import Path

from tests.grading.servers.http import Body, Reply, Server, serving

TOPICS = {
    "tides": ("tides moon sea", "My child wants to know why the sea comes and goes."),
    "frost": ("frost window ice", "We found ice flowers on the window. How do they grow?"),
    "yeast": ("yeast bread bubbles", "Where do the holes in bread come from?"),
}
RUNS = ("alpha", "beta", "gamma", "delta")
SENTENCES = {
    "tides": ["The moon pulls the sea.", "The sun helps a little.", "Twice a day the water is high."],
    "frost": ["Water in the air freezes on cold glass.", "Dust begins a crystal."],
    "yeast": ["Yeast eats sugar and breathes out gas.", "The gas makes the dough rise."],
}


def write_collection(folder: Path) -> None:
    """`folder/runs/RUN.jsonl`, `folder/topics.jsonl` and `folder/truth.txt`."""
    (folder / "runs").mkdir(parents=True)
    for place, run in enumerate(RUNS):
        reports = [json.dumps(_report(run, place, topic)) for topic in TOPICS]
        (folder / "runs" / f"{run}.jsonl").write_text("\n".join(reports), encoding="utf-8")
    topics = [
        json.dumps({"request_id": topic, "title": title, "problem_statement": statement})
        for topic, (title, statement) in TOPICS.items()
    ]
    (folder / "topics.jsonl").write_text("\n".join(topics), encoding="utf-8")
    values = {(run, topic): 0.9 - place / 5 for place, run in enumerate(RUNS) for topic in (*TOPICS, "all")}
    rows = [f"{run}\t{topic}\tRELEVANCE\t{value:.1f}" for (run, topic), value in values.items()]
    (folder / "truth.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _report(run: str, place: int, topic: str) -> Body:
    said = [f"{sentence} ({run})" if place else sentence for sentence in SENTENCES[topic][place % 2 :]]
    documents = {f"{topic}-1": {"id": f"{topic}-1", "title": topic, "text": f"About {topic}.\n\nIn short."}}
    return {
        "metadata": {"team_id": "maple", "run_id": run, "topic_id": topic},
        "responses": [{"text": text, "citations": [f"{topic}-1"]} for text in said],
        "documents": documents,
    }


def model_server() -> AbstractContextManager[Server]:
    return serving(lambda body, _: Reply(200, _completion(_reply(body))))


def _reply(body: Body) -> str:
    words = "\n".join(message["content"] for message in body["messages"])
    number = int(hashlib.md5(words.encode()).hexdigest(), 16)
    if "list of the" in words:
        return json.dumps(["vital", "okay", "okay"])
    if "JSON format" in words:
        texts = [f"What about the {name} of {number % 1000}?" for name in ("river", "stone", "moon")]
        return json.dumps({"nuggets" if "nuggets" in words else "questions": texts})
    return str(number % 6)


def _completion(text: str) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [{**choice, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
