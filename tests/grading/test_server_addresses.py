"""What people type as the address of a server, what stands between, and what they read where it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from grading.errors import GraderUnavailable
from grading.graders import GraderSpec, openai_client
from grading.graders.connection import Address, Connection
from grading.graders.registry import build
from grading.types import ErrorClass, Grade, GradeFailure
from tests.grading.servers.batches import rates, serving_batches
from tests.grading.servers.http import Body, Reply, Server, serving
from tests.grading.servers.replies import pairs, refuses, says

RATE = "QuestionSelfRatedPromptWithReminder"
PAGE = Reply(200, b"<!doctype html><html><title>Sign in</title></html>", {"Content-Type": "text/html"})


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)


def result_from(url: str, **options: Any) -> Grade | GradeFailure:
    grader = build(GraderSpec("openai_compatible", "m", RATE, options), Connection(url, "sk-1234"))
    try:
        [result] = grader.grade(pairs())
    finally:
        grader.close()  # type: ignore[attr-defined]
    return result


def served(server: Server, path: str) -> str:
    return server.url.removesuffix("/v1") + path


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("/v1/completions", "/v1/chat/completions"),
        ("/openai/v1?api-version=2025-04&y=a%2F", "/openai/v1/chat/completions?api-version=2025-04&y=a%2F"),
        ("/openai/deployments/m?api-version=1", "/openai/deployments/m/chat/completions?api-version=1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("quotes", ["", '"', "'"])
def test_an_address_is_read_as_people_type_it(typed: str, path: str, quotes: str) -> None:
    with serving(lambda *_: says("4")) as server:
        result = result_from(f" {quotes}{served(server, typed)}{quotes} ")
        assert isinstance(result, Grade)
        assert [body["path"] for body in server.asked] == [path]


def test_the_query_is_carried_to_a_batch_endpoint_too() -> None:
    with serving_batches() as server:
        grader: Any = build(
            GraderSpec("batch_file", "m", RATE), Connection(f"{server.url}?api-version=2", "sk-1234")
        )
        batch = grader.send(pairs(2))
        server.end(batch, lambda _: rates(3))
        assert [result.rating for result in grader.collect(batch, pairs(2))] == [3, 3]
        grader.close()


@pytest.mark.parametrize(
    "answer", [PAGE, refuses(404, "Not Found"), Reply(404, b"<html>nothing here</html>")]
)
def test_an_address_without_a_version_says_what_to_try(answer: Reply) -> None:
    with serving(lambda *_: answer) as server:
        result = result_from(served(server, ""))
        assert isinstance(result, GradeFailure)
        assert result.error_class is ErrorClass.UNAVAILABLE
        assert result.reason.endswith(f"the base URL is {served(server, '')}, try {server.url}")
        assert len(server.asked) == 1


def test_a_missing_model_is_not_taken_for_a_wrong_address() -> None:
    with serving(lambda *_: refuses(404, "The model m does not exist")) as server:
        result = result_from(server.url)
    assert isinstance(result, GradeFailure)
    assert result.reason == "status 404: The model m does not exist"


def test_a_web_page_is_named_as_one() -> None:
    with serving(lambda *_: PAGE) as server:
        result = result_from(server.url)
    assert isinstance(result, GradeFailure)
    assert result.reason == "the server answered with a web page"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("models.example.org:8000/v1", r"try http://models\.example\.org:8000/v1"),
        ("localhost:8000", "try http://localhost:8000"),
        ("htp://models.example.org/v1", r"try http://models\.example\.org/v1"),
        ("http:///v1", "has no host"),
        ("http://models.example.org:80000/v1", "a port that is no number"),
        ("http://models.example.org:http/v1", "a port that is no number"),
        ("http://[::1/v1", "does not begin with http"),
    ],
)
@pytest.mark.parametrize("backend", ["openai_compatible", "batch_file"])
def test_an_address_that_cannot_be_called_is_refused_at_the_start(url: str, words: str, backend: str) -> None:
    with pytest.raises(GraderUnavailable, match=words):
        build(GraderSpec(backend, "m", RATE), Connection(url))


def test_a_proxy_that_needs_a_package_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    for backend in ("openai_compatible", "batch_file"):
        with pytest.raises(GraderUnavailable, match="proxy that the environment names cannot be used"):
            build(GraderSpec(backend, "m", RATE), Connection("http://models.example.org/v1"))


@pytest.mark.parametrize("status", [403, 404])
def test_log_probabilities_that_are_refused_by_any_status_are_left_out(status: int) -> None:
    def script(body: Body, _: int) -> Reply:
        if "logprobs" in body:
            return refuses(status, "nothing here takes the parameters logprobs, top_logprobs")
        return says("4")

    with serving(script) as server:
        result = result_from(server.url)
        assert isinstance(result, Grade)
        assert server.statuses == [status, 200]


@pytest.mark.parametrize(
    "first",
    [
        *(refuses(status, "not now") for status in (409, 429, 498, 499)),
        Reply(200, {"error": {"message": "too many calls a minute", "code": 429}}),
        Reply(200, {"choices": [{"finish_reason": "error", "message": {"content": "Rating: 2"}}]}),
    ],
)
def test_what_passes_is_asked_again(first: Reply) -> None:
    with serving(lambda _, number: says("4") if number else first) as server:
        result = result_from(server.url)
        assert isinstance(result, Grade)
        assert (result.rating, len(server.asked)) == (4, 2)


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(400, b'[{"error": {"code": 400, "message": "The input token count (1300) exceeds the maximum '
              b'number of tokens allowed (1000).", "status": "INVALID_ARGUMENT"}}]'),
        Reply(422, {"error": "inputs tokens + max_new_tokens must be <= 1000. Given: 1300"}),
        refuses(500, "input length exceeds the context length"),
        refuses(429, "Request too large for m on tokens per min (TPM): Limit 1000, Requested 1300"),
    ],
)  # fmt: skip
def test_a_passage_is_cut_where_the_prompt_is_too_long(refusal: Reply) -> None:
    with serving(lambda _, number: says("4") if number else refusal) as server:
        grader = build(GraderSpec("openai_compatible", "m", RATE), Connection(server.url))
        [result] = grader.grade(pairs(text="A sentence of some words. " * 20))
        grader.close()
        assert isinstance(result, Grade)
        assert result.trace is not None
        assert 0 < (result.trace.context_chars or 0) < 520
        assert len(server.asked) == 2


def test_options_of_thinking_are_sent_and_tell_graders_apart() -> None:
    options = {"thinking": "off", "reasoning_effort": "low", "request_fields": '{"top_k":20}'}
    with serving(lambda *_: says("4")) as server:
        result_from(server.url, **options)
        result_from(server.url)
        with_options, plain = server.asked
    assert with_options["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert (with_options["reasoning_effort"], with_options["top_k"], with_options["max_tokens"]) == (
        "low",
        20,
        64,
    )
    assert not {"chat_template_kwargs", "reasoning_effort", "top_k"} & set(plain)
    prints = {
        GraderSpec("openai_compatible", "m", RATE, {name: options[name]}).fingerprint for name in options
    }
    assert len(prints | {GraderSpec("openai_compatible", "m", RATE).fingerprint}) == 4


def test_fields_of_a_request_go_before_other_options() -> None:
    fields = '{"temperature":0.6,"chat_template_kwargs":{"thinking_budget":9}}'
    with serving(lambda *_: says("4")) as server:
        result_from(server.url, thinking="on", request_fields=fields)
        [body] = server.asked
    assert body["temperature"] == 0.6
    assert body["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True, "thinking_budget": 9}


def test_a_model_told_to_think_and_cut_off_gives_no_grade() -> None:
    with serving(lambda *_: says("We see: Rating: 0 would mean", finish_reason="length")) as server:
        result = result_from(server.url, thinking="on")
        assert isinstance(result, GradeFailure)
        assert isinstance(result_from(server.url), Grade)
    assert "raise max_new_tokens" in result.reason


def test_batches_send_the_same_fields(tmp_path: Path) -> None:
    spec = GraderSpec("batch_file", "m", RATE, {"thinking": "off", "request_fields": '{"top_k":20}'})
    grader: Any = build(spec, Connection("", batch_folder=str(tmp_path)))
    grader.send(pairs())
    [file] = (tmp_path / "in").iterdir()
    assert '"top_k":20' in file.read_text()
    assert '"enable_thinking":false' in file.read_text()


def test_an_address_has_a_name_without_its_credentials() -> None:
    address = Address.of("https://user:p%40ss@models.example.org:8443/v1?key=abcd")
    assert (address.host, address.public) == ("models.example.org:8443", "https://models.example.org:8443/v1")
    assert set(address.credentials) == {"user:p@ss", "p@ss", "p%40ss", "abcd"}
    assert "p@ss" not in repr(address)
