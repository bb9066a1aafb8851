"""What a scripted server answers, what it is asked about, and how the outcome is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grading.types import CellToGrade, Grade, GradeFailure, Item, ItemKind, Passage, Topic
from tests.grading.servers.http import Reply


def pairs(n: int = 1, text: str = "It ends in the sea. It is wide.") -> list[CellToGrade]:
    item = Item("q1/aa", ItemKind.QUESTION, "Where does the river end?")
    return [
        CellToGrade(item, Passage(f"p{number}", f"{text} Part {number}."), Topic("q1", "rivers"))
        for number in range(n)
    ]


def says(text: str | None, **choice: Any) -> Reply:
    message = {"role": "assistant", "content": text}
    entry = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, **choice}
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [entry],
        "usage": usage,
    }
    return Reply(200, body)


def refuses(status: int, message: str = "no", **more: Any) -> Reply:
    headers = more.pop("headers", {})
    return Reply(
        status, {"error": {"message": message, "type": "error", "code": None, "param": None, **more}}, headers
    )


def ratings(outcomes: Iterator[Grade | GradeFailure]) -> list[int | None]:
    return [outcome.rating if isinstance(outcome, Grade) else None for outcome in outcomes]
