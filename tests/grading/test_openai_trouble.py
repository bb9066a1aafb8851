"""The real openai client against a server that misbehaves on purpose."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

pytest.importorskip("openai")

from grading.errors import GraderUnavailable
from grading.graders import JSON, GraderSpec, connection, openai_client
from grading.graders.connection import Connection
from grading.graders.openai_compatible import ServerGrader
from grading.graders.registry import build
from grading.types import (
    CellToGrade,
    ErrorClass,
    Grade,
    GradeFailure,
    Outcome,
)
from tests.grading.servers.http import Body, Reply, Server, serving
from tests.grading.servers.replies import pairs, ratings, refuses, says

RATE = "QuestionSelfRatedPromptWithReminder"
EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"
KEY = "sk-very-secret-0123456789"
Script = Callable[[Body, int], Reply]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.01)


@pytest.fixture
def asking() -> Iterator[Callable[..., tuple[ServerGrader, Server]]]:
    """Start a server that follows a script, and a grader that asks it; both end with the test."""
    ends: list[Callable[[], object]] = []

    def start(script: Script, prompt_class: str = RATE, **options: JSON) -> tuple[ServerGrader, Server]:
        context = serving(script)
        server = context.__enter__()
        ends.append(lambda: context.__exit__(None, None, None))
        built = build(
            GraderSpec("openai_compatible", "m", prompt_class, {"timeout_s": 10.0, **options}),
            Connection(server.url, KEY),
        )
        assert isinstance(built, ServerGrader)
        ends.append(built.close)
        return built, server

    yield start
    for end in reversed(ends):
        end()


def failure(outcomes: Iterator[Grade | GradeFailure]) -> GradeFailure:
    [outcome] = outcomes
    assert isinstance(outcome, GradeFailure), outcome
    return outcome


def test_429_is_asked_again_when_the_server_says(asking) -> None:
    built, server = asking(
        lambda _, number: refuses(429, headers={"Retry-After": "0.3"}) if number == 0 else says("4")
    )
    started = time.monotonic()
    assert ratings(built.grade(pairs())) == [4]
    assert time.monotonic() - started >= 0.3
    assert server.statuses == [429, 200]


def test_when_one_call_is_asked_to_wait_all_wait(asking, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    has_heard = threading.Event()
    monkeypatch.setattr("grading.graders.openai_client.logger.info", lambda *_: has_heard.set())

    def script(_: Body, number: int) -> Reply:
        times.append(time.monotonic())
        if number == 0:
            return refuses(429, headers={"Retry-After": "0.4"})
        assert has_heard.wait(10)  # or a third call leaves before the client has read the refusal
        return says("4")

    built, server = asking(script, concurrency=2)
    assert ratings(built.grade(pairs(5))) == [4] * 5
    assert server.statuses.count(429) == 1
    # The second call may have left before the first came back, the others may not.
    assert min(times[2:]) - times[0] >= 0.4


def test_a_wait_that_is_too_long_is_not_waited(asking) -> None:
    built, server = asking(lambda *_: refuses(429, headers={"Retry-After": "3600"}))
    failed = failure(built.grade(pairs()))
    assert failed.error_class is ErrorClass.RATE
    assert len(server.asked) == 1


def test_500s_then_success(asking) -> None:
    built, server = asking(lambda _, number: refuses((500, 503)[number]) if number < 2 else says("3"))
    assert ratings(built.grade(pairs())) == [3]
    assert server.statuses == [500, 503, 200]


@pytest.mark.parametrize(
    ("reply", "error_class", "attempts"),
    [
        (refuses(429, "slow down"), ErrorClass.RATE, 3),
        (refuses(500, "oops"), ErrorClass.SERVER, 3),
        (refuses(502, "bad gateway"), ErrorClass.SERVER, 3),
        (refuses(503, "loading"), ErrorClass.SERVER, 3),
        (Reply(500, b"<html>oops</html>"), ErrorClass.SERVER, 3),
        (refuses(504, "upstream"), ErrorClass.TIMEOUT, 3),
        (refuses(401, "Incorrect API key provided"), ErrorClass.AUTH, 1),
        (refuses(403, "not yours"), ErrorClass.AUTH, 1),
        (refuses(402, "pay first"), ErrorClass.QUOTA, 1),
        (refuses(429, "You exceeded your current quota", code="insufficient_quota"), ErrorClass.QUOTA, 1),
        (refuses(404, "no model m"), ErrorClass.UNAVAILABLE, 1),
        (refuses(400, "bad request"), ErrorClass.OTHER, 1),
        (refuses(500, "CUDA out of memory"), ErrorClass.MEMORY, 1),
        (Reply(200, b'{"id": "1", "choices": [{"index"'), ErrorClass.SERVER, 1),
        (Reply(200, {"id": "1", "choices": []}), ErrorClass.SERVER, 1),
        (Reply(200, {"detail": "hello"}), ErrorClass.SERVER, 1),
        (Reply(200, b"hello", {"Content-Type": "text/plain"}), ErrorClass.SERVER, 1),
    ],
)
def test_failures_have_a_class_and_bounded_attempts(
    asking, reply: Reply, error_class: ErrorClass, attempts: int
) -> None:
    built, server = asking(lambda *_: reply)
    failed = failure(built.grade(pairs()))
    assert failed.error_class is error_class
    assert len(server.asked) == attempts
    assert ("after 3 attempts" in failed.reason) == (attempts == 3)
    assert failed.trace is not None
    assert "Where does the river end?" in failed.trace.prompt


def test_a_server_that_hangs_is_given_up(asking) -> None:
    given_up = threading.Event()
    built, server = asking(lambda *_: given_up.wait(60) and says("4"), timeout_s=4.0, attempts=2)
    failed = failure(built.grade(pairs()))
    given_up.set()
    assert failed.error_class is ErrorClass.TIMEOUT
    assert failed.reason == "no reply in time (after 2 attempts)"
    assert len(server.asked) == 2


def test_a_reply_that_breaks_off_is_asked_for_again(asking) -> None:
    whole = says("4")
    built, server = asking(lambda _, number: Reply(200, whole.body, cut=20) if number == 0 else whole)
    assert ratings(built.grade(pairs())) == [4]
    assert len(server.asked) == 2


def test_no_server_is_unavailable(asking) -> None:
    with serving(lambda *_: says("4")) as gone:
        pass
    built = build(GraderSpec("openai_compatible", "m", RATE, {"attempts": 2}), Connection(gone.url))
    assert isinstance(built, ServerGrader)
    failed = failure(built.grade(pairs()))
    built.close()
    assert failed.error_class is ErrorClass.UNAVAILABLE
    assert failed.reason.startswith("the server cannot be reached")


def test_half_a_json_from_the_model_is_data_and_not_paid_twice(asking) -> None:
    built, server = asking(lambda *_: says('{"rating": '), json_mode=True, on_unparsable="fail")
    failed = failure(built.grade(pairs()))
    assert failed.error_class is ErrorClass.PARSE
    assert failed.trace is not None
    assert failed.trace.reply == '{"rating": '
    assert server.statuses == [200]


def test_json_mode_asks_for_json_and_reads_it(asking) -> None:
    built, server = asking(lambda *_: says('{"rating": 4}'), json_mode=True)
    [grade] = built.grade(pairs())
    assert isinstance(grade, Grade)
    assert grade.rating == 4
    assert server.asked[0]["response_format"] == {"type": "json_object"}
    assert server.prompts()[0].endswith('Reply with JSON: {"rating": <number>}')
    assert grade.trace is not None
    assert grade.trace.prompt == server.prompts()[0]


def test_json_mode_needs_a_prompt_for_a_number(asking) -> None:
    with pytest.raises(GraderUnavailable, match="json_mode needs a prompt that asks for a number"):
        asking(lambda *_: says("4"), prompt_class=EXTRACT, json_mode=True)


def test_missing_usage_is_no_error(asking) -> None:
    reply = says("4")
    assert isinstance(reply.body, dict)
    built, _ = asking(lambda *_: Reply(200, {key: reply.body[key] for key in reply.body if key != "usage"}))
    assert ratings(built.grade(pairs())) == [4]
    assert built.tokens_used == openai_client.TokensUsed(0, 0)


def test_a_context_that_stays_too_long_fails_after_a_few_cuts(asking) -> None:
    message = "This model's maximum context length is 10 tokens. However, you requested 4,000 tokens"
    built, server = asking(lambda *_: refuses(400, message, code="context_length_exceeded"))
    failed = failure(built.grade(pairs(text="A sentence. " * 200)))
    assert failed.error_class is ErrorClass.CONTEXT
    assert 2 <= len(server.asked) <= 5
    lengths = [len(prompt) for prompt in server.prompts()]
    assert lengths == sorted(set(lengths), reverse=True)
    assert all("Where does the river end?" in prompt for prompt in server.prompts())


def test_what_a_server_refuses_is_left_out_from_then_on(asking) -> None:
    def script(body: Body, _: int) -> Reply:
        if "max_tokens" in body:
            return refuses(400, "Unsupported parameter: use 'max_completion_tokens'", param="max_tokens")
        if "temperature" in body:
            return refuses(400, "Unsupported value", param="temperature")
        if "logprobs" in body:
            return refuses(400, "logprobs are not offered by this model")
        return says("4")

    built, server = asking(script, concurrency=1)
    assert ratings(built.grade(pairs(3))) == [4, 4, 4]
    assert server.statuses == [400, 400, 400, 200, 200, 200]
    assert server.asked[-1]["max_completion_tokens"] == 64
    assert "max_tokens" not in server.asked[-1]


def test_an_empty_reply_is_never_a_silent_0(asking) -> None:
    for reply, error_class in (
        (says("", finish_reason="length"), ErrorClass.PARSE),
        (says(None, finish_reason="content_filter"), ErrorClass.OTHER),
    ):
        built, _ = asking(lambda *_, reply=reply: reply)
        assert failure(built.grade(pairs())).error_class is error_class


def test_a_word_beside_the_digit_is_no_rating_of_it(asking) -> None:
    built, _ = asking(lambda *_: says("3 years"))
    [grade] = built.grade(pairs())
    assert isinstance(grade, Grade)
    assert (grade.rating, grade.outcome, grade.confidence) == (1, Outcome.DEFAULTED, None)


def test_calls_wait_for_each_other_together_and_each_is_made_once(asking) -> None:
    built, server = asking(lambda *_: time.sleep(0.05) or says("4"), concurrency=4)
    assert ratings(built.grade(pairs(20))) == [4] * 20
    assert 2 <= server.most_at_once <= 4
    assert len(set(server.prompts())) == len(server.asked) == 20
    assert (built.tokens_used.prompt, built.tokens_used.completion) == (140, 20)


def test_stopping_drops_the_calls_under_way_and_takes_no_more_pairs(
    asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grading.graders.openai_compatible.WINDOW", 4)
    taken: list[CellToGrade] = []

    def stream() -> Iterator[CellToGrade]:
        for pair in pairs(100):
            taken.append(pair)
            yield pair

    closed = threading.Event()
    answered: list[int] = []

    def script(_: Body, number: int) -> Reply:
        if number:
            closed.wait(60)
        answered.append(number)
        return says("4")

    built, server = asking(script, concurrency=2)
    outcomes = built.grade(stream())
    next(outcomes)
    outcomes.close()
    assert answered == [0]
    closed.set()
    assert len(taken) == 4
    assert len(server.asked) <= 3


def test_the_key_is_nowhere_to_be_seen(asking, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        built, server = asking(lambda *_: refuses(401, f"Incorrect API key provided: {KEY}."))
        failed = failure(built.grade(pairs()))
    assert server.keys == [f"Bearer {KEY}"]
    assert failed.reason == "status 401: Incorrect API key provided: [secret]."
    for shown in (caplog.text, repr(failed), repr(built._client.connection), repr(built.spec), built.device):
        assert KEY not in shown
    assert built.device == f"server {server.url.split('/')[2]}"


def test_a_password_in_the_address_is_not_shown() -> None:
    assert Connection("http://user:pass@models.example.org:8000/v1").host == "models.example.org:8000"


@pytest.mark.parametrize("connection", [None, Connection("")])
def test_no_connection_says_what_to_set(connection: Connection | None) -> None:
    with pytest.raises(GraderUnavailable, match="set RUBRIC_OPENAI_BASE_URL"):
        build(GraderSpec("openai_compatible", "m", RATE), connection)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"api_key": "sk-1"}, "openai_compatible has no option api_key; it takes attempts, concurrency"),
        ({"concurrency": 0}, "option concurrency must be a whole number of at least 1"),
        ({"json_mode": 1}, "option json_mode must be true or false"),
        ({"timeout_s": True}, "option timeout_s must be a number of at least 0.1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, JSON], problem: str) -> None:
    with pytest.raises(GraderUnavailable, match=problem):
        build(GraderSpec("openai_compatible", "m", RATE, options), Connection("http://127.0.0.1:9/v1"))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sat, 01 Aug 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 01 Aug 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_each_of_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert connection.wait_of(headers, datetime(2026, 8, 1, 12, tzinfo=UTC)) == seconds
