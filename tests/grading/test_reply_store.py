"""Replies that are kept by what was asked: nothing is sent twice, to whichever server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("openai")

from grading.generation.models import text_model
from grading.graders import GraderSpec
from grading.graders.connection import Connection
from grading.graders.registry import build
from grading.types import CellToGrade, Grade, GradeFailure, Item, ItemKind, Passage, Topic
from tests.grading.servers.http import Body, Reply, serving

RATE = "QuestionSelfRatedPromptWithReminder"


class Store:
    """Replies in memory."""

    def __init__(self) -> None:
        self.rows: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def get(self, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return next((reply for asked, reply in self.rows if asked == request), None)

    def put(self, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        self.rows.append((request, reply))


def completion(text: str) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    tokens = [{"token": "4", "logprob": -0.5}, {"token": "5", "logprob": -1.5}]
    choice["logprobs"] = {"content": [{"token": "4", "logprob": -0.5, "top_logprobs": tokens}]}
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
    return {"id": "c1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]} | {
        "usage": usage
    }


def cell(text: str = "Maples turn red.") -> CellToGrade:
    item = Item("t1/q1", ItemKind.QUESTION, "Which trees turn red?")
    return CellToGrade(item, Passage("p1", text), Topic("t1", "autumn"))


def grades(url: str, store: Store, *cells: CellToGrade, **options: Any) -> list[Grade | GradeFailure]:
    grader = build(GraderSpec("openai_compatible", "m", RATE, options), Connection(url, replies=store))
    try:
        return list(grader.grade(cells))
    finally:
        grader.close()


def test_a_reply_that_is_kept_gives_the_same_grade_without_a_server() -> None:
    store = Store()
    with serving(lambda *_: Reply(200, completion("4"))) as server:
        first = grades(server.url, store, cell())
        assert grades(server.url, store, cell()) == first
        assert len(server.asked) == 1
    assert isinstance(first[0], Grade)
    assert (first[0].rating, first[0].confidence) == (4, pytest.approx(0.731, abs=0.001))
    assert grades("EMPTY", store, cell()) == first


def test_another_question_or_option_is_asked() -> None:
    store = Store()
    with serving(lambda *_: Reply(200, completion("4"))) as server:
        grades(server.url, store, cell(), cell("Oaks turn brown."))
        grades(server.url, store, cell(), max_new_tokens=5)
        assert len(server.asked) == 3


def test_a_setting_that_the_server_refuses_is_part_of_what_is_asked() -> None:
    store = Store()

    def reply(body: Body, _: int) -> Reply:
        if "temperature" in body:
            return Reply(400, {"error": {"message": "temperature is not supported", "param": "temperature"}})
        return Reply(200, completion("4"))

    with serving(reply) as server:
        first = grades(server.url, store, cell())
    assert grades("EMPTY", store, cell()) == first


REFUSED = completion("2") | {"choices": [{"message": {"content": None, "refusal": "No."}}]}
THINKS = completion("2") | {
    "choices": [{"message": {"content": "<think>Rating: 2"}, "finish_reason": "length"}]
}


@pytest.mark.parametrize("body", [REFUSED, THINKS])
def test_a_kept_reply_that_is_no_answer_is_none_when_it_is_read_again(body: Body) -> None:
    store = Store()
    with serving(lambda *_: Reply(200, body)) as server:
        [first] = grades(server.url, store, cell())
    assert isinstance(first, GradeFailure)
    assert grades("EMPTY", store, cell()) == [first]


@pytest.mark.parametrize("body", [{"error": {"message": "gone", "code": 500}}, {"choices": {}}, {}])
def test_what_is_no_reply_of_the_model_is_asked_for_again(body: Body) -> None:
    store = Store()
    store.get = lambda request: body  # type: ignore[method-assign]
    with serving(lambda *_: Reply(200, completion("4"))) as server:
        [grade] = grades(server.url, store, cell())
        assert isinstance(grade, Grade)
        assert len(server.asked) == 1
    with serving(lambda *_: Reply(200, body)) as server:
        store = Store()
        assert isinstance(grades(server.url, store, cell(), attempts=1)[0], GradeFailure)
    assert store.rows == []


def test_errors_are_not_kept() -> None:
    store = Store()
    with serving(lambda *_: Reply(401, {"error": {"message": "no"}})) as server:
        assert isinstance(grades(server.url, store, cell())[0], GradeFailure)
        assert isinstance(grades(server.url, store, cell())[0], GradeFailure)
        assert len(server.asked) == 2
    assert store.rows == []


def test_drafts_are_kept_too() -> None:
    store = Store()
    with serving(lambda *_: Reply(200, completion("1. Which trees turn red?"))) as server:
        first = text_model("openai_compatible", "m", Connection(server.url, replies=store)).complete(
            [("user", "List questions.")]
        )
    again = text_model("openai_compatible", "m", Connection("EMPTY", replies=store))
    assert again.complete([("user", "List questions.")]) == first == "1. Which trees turn red?"
