"""Several items of a passage in one call, at a real server that replies as badly as models do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import pytest

pytest.importorskip("openai")

from grading import prompts
from grading.graders import TOKENS_A_LINE, BatchGrader, GraderSpec, Result
from grading.graders.connection import Connection
from grading.graders.many_items import ManyItems, calls_of
from grading.graders.registry import build
from grading.types import CellToGrade, ErrorClass, Grade, Item, ItemKind, Outcome, Passage, Topic
from tests.grading import smollm2
from tests.grading.servers.batches import serving_batches
from tests.grading.servers.http import Body, Reply, serving
from tests.grading.servers.replies import refuses, says

QUESTIONS, NUGGETS = "QuestionSelfRatedWholeRubric", "NuggetAssignmentTenACall"
RATINGS = {f"q1/{number}": number % 6 for number in range(25)}


def pairs(items: int, passages: int = 1, kind: ItemKind = ItemKind.QUESTION) -> list[CellToGrade]:
    topic = Topic("q1", "rivers of Ember")
    items_asked = [Item(f"q1/{number}", kind, f"Thing {number} of the river") for number in range(items)]
    texts = [Passage(f"p{place}", "It is wide.") for place in range(passages)]
    return [CellToGrade(item, passage, topic) for passage in texts for item in items_asked]


def listed(body: Body) -> list[str]:
    """The ids of the items in a request, in the order asked."""
    lines = body["messages"][-1]["content"].splitlines()
    return [f"q1/{line.split()[2]}" for line in lines if " of the river" in line]


def graded(
    reply: Callable[[list[str]], str | Reply], cells: list[CellToGrade], prompt: str = QUESTIONS
) -> tuple[dict[str, Result], list[Body]]:
    def answer(body: Body, _: int) -> Reply:
        written = reply(listed(body))
        return says(written) if isinstance(written, str) else written

    with serving(answer) as server:
        grader = build(GraderSpec("openai_compatible", "m", prompt), Connection(server.url))
        results = list(grader.grade(cells))
        grader.close()
    assert len(results) == len(cells)
    return {result.item_id: result for result in results}, server.asked


def good(asked: list[str]) -> list[str]:
    return [f"{number}: {RATINGS[item]}" for number, item in enumerate(asked, 1)]


def test_a_whole_rubric_is_one_call_and_each_line_a_grade() -> None:
    results, [body] = graded(lambda asked: "\n".join(good(asked)), pairs(12))
    order = listed(body)
    assert sorted(order) == sorted(results)
    assert order != sorted(order, key=lambda item: int(item[3:]))
    assert body["max_tokens"] == 64 + 12 * TOKENS_A_LINE
    assert "logprobs" not in body
    for place, item in enumerate(order, 1):
        grade = results[item]
        assert isinstance(grade, Grade)
        assert (grade.rating, grade.outcome) == (RATINGS[item], Outcome.NUMERIC)
        assert grade.trace is not None
        assert (grade.trace.call_items, grade.trace.place) == (tuple(order), place)
        assert grade.trace.reply.strip() == f"{place}: {RATINGS[item]}"


def in_lines(*lines: str) -> str:
    return "\n".join(lines)


def echoing(asked: list[str]) -> str:
    return in_lines(
        *(f"**{n}.** Thing {item[3:]} of the river: {RATINGS[item]}/5" for n, item in enumerate(asked, 1))
    )


BAD: dict[str, tuple[Callable[[list[str]], str], set[int]]] = {
    "out of order": (lambda asked: in_lines(*reversed(good(asked))), set()),
    "in a frame of prose": (lambda asked: in_lines("Sure! Here:", *good(asked), "I hope it helps."), set()),
    "with the questions": (echoing, set()),
    "an object": (lambda asked: json.dumps({n: RATINGS[item] for n, item in enumerate(asked, 1)}), set()),
    "a list": (lambda asked: json.dumps([RATINGS[item] for item in asked]), set()),
    "thinking before it": (lambda asked: in_lines("<think>1: 5?", "2: 5?</think>", *good(asked)), set()),
    "a line too few": (lambda asked: in_lines(good(asked)[0], *good(asked)[2:]), {2}),
    "a line twice": (lambda asked: in_lines(*good(asked), good(asked)[0]), {1}),
    "a line of its own": (lambda asked: in_lines(*good(asked), "9: 5"), set()),
    "lines without a rating": (lambda asked: in_lines("1:", "2: 9", "3: a.", good(asked)[3]), {1, 2, 3}),
    "a short list": (lambda asked: "[1, 2]", {1, 2, 3, 4}),
    "nothing": (lambda asked: "I cannot assess this passage.", {1, 2, 3, 4}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_one_failed_grade_and_the_reply_is_kept_once(name: str) -> None:
    written, failed = BAD[name]
    results, [body] = graded(written, pairs(4))
    order = listed(body)
    for place, item in enumerate(order, 1):
        result = results[item]
        if place in failed:
            assert not isinstance(result, Grade)
            assert result.error_class is ErrorClass.PARSE
            assert f"item {place} of 4" in result.reason
        else:
            assert isinstance(result, Grade), result
            assert result.rating == RATINGS[item]
    traces = [result.trace.reply for item in order if (result := results[item]).trace]
    if name in ("an object", "a list"):
        assert traces[0] == written(order)
    else:
        assert sorted("".join(traces)) == sorted(written(order))


@pytest.mark.parametrize(
    ("reply", "error_class"),
    [(refuses(401), ErrorClass.AUTH), (says(None, finish_reason="content_filter"), ErrorClass.OTHER)],
    ids=["refused", "filtered"],
)
def test_a_call_without_a_reply_fails_each_of_its_pairs(reply: Reply, error_class: ErrorClass) -> None:
    results, asked = graded(lambda _: reply, pairs(4))
    assert len(asked) == 1
    assert {getattr(result, "error_class", None) for result in results.values()} == {error_class}


@pytest.mark.parametrize("written", ["4", "1: 4", "Rating: 4", "4: mostly relevant", '{"rating": 4}', "[4]"])
def test_a_reply_about_one_item_alone_needs_no_number(written: str) -> None:
    results, [body] = graded(lambda _: written, pairs(1))
    assert [getattr(result, "rating", None) for result in results.values()] == [4]
    assert body["max_tokens"] == 64 + TOKENS_A_LINE


def test_nuggets_are_asked_ten_a_call_and_labels_are_read() -> None:
    labels = ("support", "Partial support", "not_support")
    results, asked = graded(
        lambda asked: "\n".join(f"{n}. {labels[int(item[3:]) % 3]}" for n, item in enumerate(asked, 1)),
        pairs(25, kind=ItemKind.NUGGET),
        NUGGETS,
    )
    assert sorted(len(listed(body)) for body in asked) == [5, 10, 10]
    assert all(getattr(result, "rating", None) == 2 - int(item[3:]) % 3 for item, result in results.items())
    assert sorted(result.trace.place or 0 for result in results.values() if result.trace) == [*range(1, 26)]


def test_what_is_left_of_a_passage_is_asked_in_the_same_calls() -> None:
    prompt, cells = prompts.get(NUGGETS), pairs(25, passages=2, kind=ItemKind.NUGGET)
    calls = calls_of(prompt, cells)
    orders = [[pair.item.item_id for pair in call.pairs] for call in calls]
    assert orders[:3] != orders[3:]
    for gone in range(3):
        left = [call for number, call in enumerate(calls) if number != gone]
        mixed = list(chain.from_iterable(reversed(call.pairs) for call in reversed(left)))
        assert {call.item_ids for call in calls_of(prompt, mixed)} == {call.item_ids for call in left}


def test_an_item_of_another_kind_fails_alone() -> None:
    [nugget] = pairs(1, kind=ItemKind.NUGGET)
    other = [pairs(3)[2], *pairs(2), replace(nugget, item=replace(nugget.item, item_id="q1/9"))]
    results, [body] = graded(lambda asked: "\n".join(good(asked)), other)
    assert sorted(listed(body)) == ["q1/0", "q1/1", "q1/2"]
    assert not isinstance(results["q1/9"], Grade)


def test_a_batch_has_a_request_for_each_call_and_one_without_an_answer_is_left_open() -> None:
    with serving_batches() as server:
        grader = build(GraderSpec("batch_file", "m", QUESTIONS), Connection(server.url))
        assert isinstance(grader, BatchGrader)
        batch = grader.send(pairs(3, passages=2))
        requests = [request["body"] for request in server.requests(batch)]
        assert [sorted(listed(body)) for body in requests] == [["q1/0", "q1/1", "q1/2"]] * 2
        assert requests[0]["max_tokens"] == 64 + 3 * TOKENS_A_LINE
        lines = {"status_code": 200, "body": says("1: 0\n2: 4").body}
        server.end(batch, lambda body: lines if body == requests[0] else None, "expired")
        results = list(grader.collect(batch, pairs(3, passages=2)))
        grader.close()
    assert [getattr(result, "rating", None) for result in results] == [0, 4, None]
    assert [result.item_id for result in results] == listed(requests[0])


@pytest.mark.models
def test_a_local_model_can_be_left_nothing_but_the_choice_of_each_rating() -> None:
    """Each is the likeliest after all lines before it, as the model says without a cache."""
    torch = pytest.importorskip("torch")
    spec = GraderSpec(
        "hf_causal", str(smollm2.folder()), QUESTIONS, {"constrained": True, "dtype": "float32"}
    )
    grader = build(spec)
    assert isinstance(grader, ManyItems)
    results = list(grader.grade(pairs(4)))
    model, tokenizer = grader.caller._loaded.model, grader.caller._loaded.tokenizer  # type: ignore[attr-defined]
    written, digits = results[0].trace.prompt, [tokenizer.encode(str(n))[0] for n in range(6)]  # type: ignore[union-attr]
    for number, result in enumerate(results, 1):
        written += f"{number}: "
        ids = torch.tensor([tokenizer.encode(written, add_special_tokens=False)])
        with torch.inference_mode():
            scores = model(ids).logits[0, -1]
        likeliest = max(range(6), key=lambda rating: float(scores[digits[rating]]))
        assert isinstance(result, Grade)
        assert result.rating == likeliest
        written += f"{likeliest}\n"
