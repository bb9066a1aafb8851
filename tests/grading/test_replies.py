"""The gate: only an answer gets through, without its thinking."""

from __future__ import annotations

import json
import random

import pytest

from grading import prompts
from grading.graders import completions, replies
from grading.graders.connection import CallProblem, refusal, too_long_by
from grading.graders.replies import UNKNOWN, ExpectedReply, NoReply, Reply, TokensUsed, of_text
from grading.parsing import parse_rating
from grading.types import ErrorClass, Outcome
from tests.grading.odd_replies import (
    ODD,
    ONLY_CLOSED,
    OPENED_AND_CLOSED,
    RATING,
    THOUGHT,
    Odd,
    mutated,
    reply,
    token,
    with_logprobs,
)


def answered(body: object, expected: ExpectedReply = UNKNOWN) -> Reply:
    return completions.read(body, expected)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.name)
def test_a_reply_of_any_shape_is_an_answer_or_says_why_it_is_none(odd: Odd) -> None:
    if odd.fails is None:
        got = answered(odd.body)
        assert parse_rating(got.text) == (RATING, Outcome.NUMERIC)
        assert "2" not in got.text
        return
    with pytest.raises(NoReply) as caught:
        answered(odd.body)
    assert caught.value.error_class is odd.fails
    assert caught.value.problem.is_passing == odd.is_asked_again


def test_the_words_of_a_failure_are_those_of_the_server() -> None:
    for odd, words in (
        (reply(None, refusal="I will not rate this."), "the model refused: I will not rate this."),
        ({"error": {"message": "upstream gone", "code": 502}}, "error: upstream gone (code 502)"),
        ({"detail": "Not here"}, 'holds no message: {"detail": "Not here"}'),
        (reply("2", "SAFETY"), "filtered the reply (finish reason SAFETY)"),
    ):
        with pytest.raises(NoReply) as caught:
            answered(odd)
        assert words in str(caught.value)


def test_mutated_replies_raise_nothing_but_no_reply() -> None:
    dice, came = random.Random(7), 0
    for body in mutated(dice, 3_000):
        try:
            got = answered(body)
        except NoReply:
            continue
        came += 1
        got.text.encode()
        assert "\0" not in got.text + got.raw
        assert all(0 <= share <= 1 for step in got.steps for share in step.shares.values())
        prompts.get("QuestionSelfRatedPromptWithReminder").parse(got.text)
        completions.used(body)
    assert 500 < came < 2_900


@pytest.mark.parametrize(("opened", "closed"), OPENED_AND_CLOSED, ids=lambda mark: mark.strip())
def test_thinking_is_taken_away_in_the_marks_of_every_template(opened: str, closed: str) -> None:
    written = f"{opened}{THOUGHT}{closed}4"
    assert replies.split_thinking(written).answer.strip() == "4"
    got = answered(reply(written))
    assert (got.text, got.raw) == ("4", written)
    assert of_text(got.text) == got.text


@pytest.mark.parametrize(("opened", "closed"), OPENED_AND_CLOSED, ids=lambda mark: mark.strip())
def test_thinking_that_is_not_closed_is_no_reply(opened: str, closed: str) -> None:
    with pytest.raises(NoReply, match="raise max_new_tokens") as caught:
        answered(reply(f"{opened}{THOUGHT}", "length"), ExpectedReply(64))
    assert caught.value.error_class is ErrorClass.PARSE
    assert "within 64 tokens" in str(caught.value)
    assert THOUGHT in caught.value.raw


@pytest.mark.parametrize("closed", ONLY_CLOSED)
def test_thinking_that_the_template_opened_ends_with_its_closing_mark(closed: str) -> None:
    assert answered(reply(f"{THOUGHT}{closed}\n\n4")).text == "4"


def test_thinking_in_several_blocks_is_all_taken_away() -> None:
    written = "<think>2</think>The passage<think>1</think> is a 4."
    assert answered(reply(written)).text == "The passage is a 4."
    assert answered(reply("<think>a <think>b</think> 2</think> 4")).text == "4"


def test_thinking_of_a_model_that_was_told_to_think_needs_no_mark_to_be_cut_off() -> None:
    """As behind servers whose template opens the thinking, where nothing closes it."""
    with pytest.raises(NoReply, match="did not stop thinking"):
        answered(reply(THOUGHT, "length"), ExpectedReply(64, thinks=True))
    assert answered(reply("4", "stop"), ExpectedReply(64, thinks=True)).text == "4"
    assert answered(reply("2</think>4 since", "length"), ExpectedReply(64, thinks=True)).text == "4 since"


def test_plain_answers_are_left_as_they_are() -> None:
    for text in (
        " 4\n",
        "x < 4 and y > 2",
        "<b>4</b>",
        "An analysis: 4",
        "Here is my thought process: I see a 4.",
    ):
        assert answered(reply(text)).text == text


def test_an_empty_text_that_the_model_ended_is_an_answer() -> None:
    assert answered(reply("")) == Reply("", "", "stop", (), TokensUsed(7, 1))
    assert answered(reply("<think>\n\n</think>\n\n")).text == ""


def test_a_raw_reply_read_again_is_the_same_answer() -> None:
    for body in (reply("4", reasoning_content="2"), reply("<think>2</think>4"), reply("4")):
        assert of_text(answered(body).raw) == "4"


def test_probabilities_are_those_of_the_answer_and_not_of_the_thinking() -> None:
    steps = [token("<think>"), token("2", -0.2), token("4", -3.0), token("</think>"), token("4", -0.5)]
    got = answered(reply("<think>24</think>4", choice={"logprobs": {"content": steps}}))
    assert [step.token for step in got.steps] == ["4"]
    assert got.steps[0].shares["4"] == pytest.approx(0.607, abs=0.001)
    other = reply("4", reasoning_content="24", choice={"logprobs": {"content": steps}})
    assert [step.token for step in answered(other).steps] == ["4"]
    assert len(answered(with_logprobs(token("4"), token("!"))).steps) == 2


def test_one_odd_probability_takes_the_confidence_of_the_whole_reply() -> None:
    assert answered(with_logprobs(token(), token("!", None))).steps == ()


def test_usage_counts_only_what_can_be_counted() -> None:
    assert completions.used(reply()) == TokensUsed(7, 1)
    for usage in (None, [], {"prompt_tokens": "7"}, {"prompt_tokens": True}, {"prompt_tokens": 10**30}):
        assert completions.used({"usage": usage}) == TokensUsed()


@pytest.mark.parametrize(
    ("content", "error_class"),
    [
        (b"\n<!DOCTYPE html><html>Sign in</html>", ErrorClass.UNAVAILABLE),
        (b"<HTML><body>", ErrorClass.UNAVAILABLE),
        (b'{"choices": [', ErrorClass.SERVER),
        (b"[" * 100_000, ErrorClass.SERVER),
        (b"\xff\xfe", ErrorClass.SERVER),
        (b"", ErrorClass.SERVER),
        (b"data: {}", ErrorClass.SERVER),
        (b"1" * 5_000, ErrorClass.SERVER),
    ],
)
def test_a_body_that_is_no_json_says_so(content: bytes, error_class: ErrorClass) -> None:
    with pytest.raises(NoReply) as caught:
        completions.parse(content)
    assert caught.value.error_class is error_class


def test_json_after_a_byte_order_mark_and_heartbeats_is_read() -> None:
    assert completions.parse(b"\xef\xbb\xbf" + json.dumps(reply()).encode()) == reply()
    assert completions.parse(b"\n\n \n" + json.dumps(reply()).encode()) == reply()


CONTEXT = [
    (400, "The input token count (1300) exceeds the maximum number of tokens allowed (1000).", 1000 / 1300),
    (422, "Input validation: `inputs` tokens + `max_new_tokens` must be <= 1000. Given: 1300", 1000 / 1300),
    (422, "inputs tokens + max_new_tokens must be <= 1000. Given: 900 inputs tokens", 0.5),
    (400, "The decoder prompt (length 1300) is longer than the maximum model length of 1000.", 1000 / 1300),
    (500, "input length exceeds the context length", 0.5),
    (429, "Request too large for m on tokens per min (TPM): Limit 1,000, Requested 1,300.", 1000 / 1300),
    (
        400,
        "request (1300 tokens) exceeds the available context size (1000 tokens), try increasing it",
        1000 / 1300,
    ),
    (413, "too big", 0.5),
]


@pytest.mark.parametrize(("status", "message", "share"), CONTEXT)
def test_a_prompt_that_is_too_long_is_known_in_the_words_of_each_server(
    status: int, message: str, share: float
) -> None:
    problem = refusal(status, message, message)
    assert (problem.error_class, problem.is_passing, problem.refuses) == (ErrorClass.CONTEXT, False, "")
    assert too_long_by(problem.reason) == pytest.approx(share)


@pytest.mark.parametrize("status", [400, 403, 404, 422, 501])
def test_a_setting_that_is_refused_is_known_whatever_the_status(status: int) -> None:
    words = "No endpoints found that take the parameters: logprobs, top_logprobs"
    problem = refusal(status, words, words)
    assert (problem.refuses, problem.is_passing) == ("logprobs", False)
    plain = refusal(status, "not yours", "not yours")
    assert plain.refuses == ""
    assert refusal(500, words, words).refuses == ""


@pytest.mark.parametrize(
    ("status", "error_class"),
    [(409, ErrorClass.SERVER), (498, ErrorClass.RATE), (499, ErrorClass.TIMEOUT), (429, ErrorClass.RATE)],
)
def test_statuses_that_pass_are_asked_again(status: int, error_class: ErrorClass) -> None:
    problem = refusal(status, "wait", "wait")
    assert isinstance(problem, CallProblem)
    assert (problem.error_class, problem.is_passing) == (error_class, True)


def test_what_databases_refuse_is_in_no_failure_either() -> None:
    for body in (
        reply(None, refusal="No\0, \ud800."),
        reply("2\0\ud800", "SAFETY"),
        {"error": {"message": "gone\0\ud800", "code": 400}},
        {"choices": ["\ud800"]},
    ):
        with pytest.raises(NoReply) as caught:
            answered(body)
        for text in (str(caught.value), caught.value.raw, caught.value.problem.reason):
            assert "\0" not in text
            text.encode()


@pytest.mark.parametrize("depth", [50, 400, 900])
def test_nested_replies_are_answers_or_none(depth: int) -> None:
    nested = '{"a":' * depth + "4" + "}" * depth
    for body in (
        nested,
        f'{{"error": {nested}}}',
        f'{{"choices": [{{"message": {{"content": {nested}}}}}]}}',
    ):
        try:
            assert answered(completions.parse(body.encode())).text
        except NoReply:
            continue
